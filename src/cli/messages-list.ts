import type { Command } from "commander";
import { FAILURES } from "../core/failures.ts";
import { listMessages, type MessageView } from "../ledger/views.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { noteMore } from "./more-note.ts";
import type { Paint, Session } from "./session.ts";
import { type Cell, renderTable } from "./table.ts";
import { localTime, parseSince, relativeTime } from "./times.ts";

interface ListOptions {
  readonly connector?: string;
  readonly verdict?: string;
  readonly since?: string;
  readonly limit: number;
}

/** `messages list`. */
export async function listMessagesCommand(session: Session, command: Command): Promise<undefined> {
  const { connector, verdict, since, limit } = command.opts<ListOptions>();
  const filter = {
    connector,
    verdict,
    since: since === undefined ? undefined : parseSince(since, session.clock.now()),
    limit: limit + 1,
  };
  const found = await withLedger(session, readConfig(session), ({ pool }) => listMessages(pool, filter));
  const messages = found.slice(0, limit);
  const hasMore = found.length > messages.length;
  if (session.isJson) {
    session.json({ messages: messages.map(messageJson), hasMore });
    return undefined;
  }
  if (messages.length === 0) session.line("No messages.");
  else for (const line of messageTable(messages, session)) session.line(line);
  if (hasMore) noteMore(session, messages.length);
  return undefined;
}

/** A message as JSON, without its text. */
export function messageJson(message: MessageView) {
  return {
    messageId: message.messageId,
    connector: message.connector,
    fileName: message.fileName ?? null,
    place: message.place,
    messageControlId: message.messageControlId ?? null,
    messageType: message.messageType ?? null,
    verdict: message.verdict,
    receivedAt: message.receivedAt.toISOString(),
    duplicateOf: message.duplicateOf ?? null,
    replayOf: message.replayOf ?? null,
    orderIds: message.orderIds,
    problems: message.problems.map((problem) => ({ ...problem, mend: FAILURES[problem.code]?.mend ?? null })),
  };
}

function messageTable(messages: readonly MessageView[], session: Session): string[] {
  const now = session.clock.now();
  return renderTable(
    [
      { title: "id" },
      { title: "connector" },
      { title: "file", isFlexible: true },
      { title: "place" },
      { title: "type" },
      { title: "control id", isFlexible: true },
      { title: "verdict" },
      { title: "received" },
      { title: "age", isRight: true },
      { title: "orders", isFlexible: true },
      { title: "problem", isFlexible: true },
    ],
    messages.map((message): Cell[] => [
      message.messageId,
      message.connector,
      message.fileName ?? (message.replayOf === undefined ? "" : `replay of ${message.replayOf}`),
      message.place,
      message.messageType ?? "",
      message.messageControlId ?? "",
      { text: message.verdict, paint: (text) => session.paint(VERDICT_PAINT[message.verdict], text) },
      localTime(message.receivedAt),
      relativeTime(message.receivedAt, now),
      message.orderIds.join(" "),
      firstProblem(message),
    ]),
    session.width,
  );
}

function firstProblem({ problems }: MessageView): string {
  const [first] = problems;
  if (!first) return "";
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return `${first.place}: ${first.message}${more}`;
}

/** Colours of verdicts. */
export const VERDICT_PAINT: Readonly<Record<MessageView["verdict"], Paint>> = {
  accepted: "green",
  duplicate: "yellow",
  refused: "red",
  ignored: "dim",
  waiting: "yellow",
};
