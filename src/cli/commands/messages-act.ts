import {
  createReplay,
  discardMessages as discardWaiting,
  releaseMessages as releaseWaitingMessages,
} from "../../app/acts/messages.ts";
import { shownProblem } from "../../core/failures.ts";
import { findMessage, type StoredMessage } from "../../ledger/messages/views.ts";
import { listWaitingCodes, type WaitingCode } from "../../ledger/messages/waiting.ts";
import type { Mapped } from "../../operator/acts.ts";
import { recordJson } from "../../operator/column.ts";
import { WAITING_COLUMNS, whatFor, whyStillWaiting } from "../../operator/message-columns.ts";
import { clean, problemLines } from "../../operator/text.ts";
import { type ActOptions, actOnEach, getAllNamed, printDone, requireReason } from "../acting.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { type OpenSite, readConfig, requireConnector, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { withProgress } from "../output/progress.ts";
import type { Session } from "../session.ts";

/** `messages replay`: status 1 when one of the messages is refused again. */
export async function replayMessages(
  session: Session,
  words: readonly string[],
  { reason, yes }: ActOptions,
): Promise<ExitStatus | undefined> {
  const replayed: Mapped[] = [];
  const done = await withLedger(session, async ({ pool, config }) => {
    const prepare = await createReplay({ config });
    const messages = await getAllNamed("m", words, (id) => findMessage(pool, id));
    // All are made ready before the first is committed, so that a mistake in the list does nothing by halves.
    const ready = messages.map((message) => ({ ...message, replay: prepare(message) }));
    return actOnEach(session, ready, {
      ...{ ask: ["Replay", "message"], yes, idOf },
      change: async ({ replay }) => {
        const mapped = await replay(pool, { actor: session.actor, reason });
        replayed.push(mapped);
        return [mapped.verdict !== "refused", mapped.verdict];
      },
    });
  });
  if (done === undefined) return EXIT.failed;
  session.result({ results: replayed.map(mappedJson) }, mappedLines(replayed, "refused again"));
  return done.every(({ isDone }) => isDone) ? undefined : EXIT.failed;
}

const idOf = ({ messageId }: StoredMessage) => messageId;

function mappedJson({ problems, ...mapped }: Mapped) {
  return { ...mapped, problems: problems.map(shownProblem) };
}

function mappedLines(all: readonly Mapped[], refused: string): string[] {
  return all.flatMap(({ messageId, verdict, orderIds, problems }) => {
    const orders = orderIds.join(" ");
    const words = {
      accepted: `accepted: ${orders}`,
      duplicate: `nothing new: its orders exist already (${orders})`,
      refused,
      ignored: "of a type that the profile ignores",
      waiting: "waits",
    }[verdict];
    return [`${messageId} ${words}`, ...problemLines(problems.map(shownProblem)).map((line) => `  ${line}`)];
  });
}

/** `messages waiting`: the codes that messages wait for. */
export async function listWaiting(session: Session): Promise<undefined> {
  const codes = await withLedger(session, ({ pool }) => listWaitingCodes(pool));
  printList(
    session,
    { key: "waiting", columns: WAITING_COLUMNS, nothing: "No message waits for a code." },
    codes,
  );
  for (const each of codes) if (each.hint !== undefined) session.note(hintLine(each));
}

/** What to do about one code of one connector. */
function hintLine(waiting: WaitingCode): string {
  return `\n${waiting.connector}, ${whatFor(waiting)}:\n  ${clean(waiting.hint ?? "")}`;
}

/**
 * `messages release`: status 1 when one of the messages is refused now or none could be released, 5 when none waits for
 * the code.
 */
export async function releaseMessages(
  session: Session,
  filter: { readonly code?: string; readonly connector?: string },
): Promise<ExitStatus | undefined> {
  const config = readConfig(session);
  const { code, connector } = filter;
  if (connector !== undefined) requireConnector(config, "--connector", connector);
  const act = { actor: session.actor };
  const released: Mapped[] = [];
  const { before, left } = await withLedger(
    session,
    (site) =>
      withProgress(session, { what: "messages release", nouns: "messages" }, (report) =>
        releaseWaitingMessages(site, filter, act, (message) => report(released.push(message))),
      ),
    config,
  );
  session.result(
    {
      released: released.map(mappedJson),
      waiting: left.map((each) => recordJson(WAITING_COLUMNS, each, session)),
    },
    [
      ...(released.length === 0 ? [whyNone(before, filter)] : mappedLines(released, "refused")),
      ...left.flatMap((each) => stillWaiting(each, config)),
    ],
  );
  if (released.some(({ verdict }) => verdict === "refused")) return EXIT.failed;
  if (released.length > 0) return undefined;
  if (before.length > 0) return EXIT.failed;
  return code === undefined ? undefined : EXIT.notFound;
}

function whyNone(
  before: readonly WaitingCode[],
  { code, connector }: { readonly code?: string; readonly connector?: string },
): string {
  const through = connector === undefined ? "" : ` through ${connector}`;
  if (before.length > 0)
    return "No message was released: what they wait for is not known to the configuration as it is now.";
  return code === undefined
    ? `No message waits${through} for a code.`
    : `No message waits${through} for the code "${clean(code)}".`;
}

/** What keeps messages waiting, by the configuration as it is now. */
function stillWaiting(each: WaitingCode, { connectors }: OpenSite["config"]): string[] {
  const why = whyStillWaiting(
    each,
    connectors.map(({ name }) => name),
  );
  return [
    `Still waiting through ${each.connector}: ${each.messages} for ${whatFor(each)}`,
    ...(why === undefined ? [] : [`  ${clean(why)}`]),
  ];
}

/** `messages discard`: status 1 when one of the messages doesn't wait. */
export async function discardMessages(
  session: Session,
  words: readonly string[],
  { reason, yes }: ActOptions,
): Promise<ExitStatus | undefined> {
  const act = { actor: session.actor, reason: requireReason("messages discard", reason) };
  const done = await withLedger(session, async (site) => {
    const messages = await getAllNamed("m", words, (id) => findMessage(site.pool, id));
    return discardWaiting(site, act, (discard) =>
      actOnEach(session, messages, { ...{ ask: ["Discard", "message"], yes, idOf }, change: discard }),
    );
  });
  return printDone(session, done);
}
