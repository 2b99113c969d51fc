import type { Command } from "commander";
import type pg from "pg";
import { Failure } from "../core/failures.ts";
import { decodeHl7 } from "../formats/hl7/charset.ts";
import { parseId } from "../ledger/ids.ts";
import { recordAudit } from "../ledger/operator.ts";
import { findMessage, type StoredMessage } from "../ledger/views.ts";
import { cleanLines } from "./clean.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { HIDDEN } from "./hidden.ts";
import { messageJson, VERDICT_PAINT } from "./messages-list.ts";
import { problemLines } from "./problem-lines.ts";
import type { Session } from "./session.ts";
import { renderFields } from "./table.ts";
import { timeWithAge } from "./times.ts";

/** `messages show`. */
export async function showMessageCommand(session: Session, command: Command): Promise<undefined> {
  const [word] = command.processedArgs as [string];
  const message = await withLedger(session, readConfig(session), async ({ pool }) => {
    const found = await getMessage(pool, word);
    if (session.mayShowPhi)
      await recordAudit(pool, { actor: session.actor }, "show-phi", [{ target: found.messageId }]);
    return found;
  });
  const text = textOf(message);
  if (session.isJson) {
    session.json({
      ...messageJson(message),
      format: message.format,
      isTextKept: message.raw !== undefined,
      text: text === undefined ? null : session.mayShowPhi ? text : HIDDEN,
    });
    return undefined;
  }
  const verdict = session.paint(["bold", VERDICT_PAINT[message.verdict]], message.verdict);
  session.line(`Message ${message.messageId}: ${verdict}`);
  session.line();
  const fields = renderFields([
    ["connector", message.connector],
    ["file", message.fileName],
    ["place", message.place],
    ["type", message.messageType],
    ["control id", message.messageControlId],
    ["received", timeWithAge(message.receivedAt, session.clock.now())],
    ["duplicate of", message.duplicateOf],
    ["replay of", message.replayOf],
    ["orders", message.orderIds.length === 0 ? undefined : message.orderIds.join(" ")],
  ]);
  for (const line of fields) session.line(line);
  if (message.problems.length > 0) {
    section(session, "Problems", problemLines(message.problems));
  }
  if (text === undefined) section(session, "Text", ["pruned by retention"]);
  else if (session.mayShowPhi) section(session, "Text", cleanLines(text));
  else section(session, "Text", [`${HIDDEN} (${message.raw?.length} bytes; --show-phi shows it)`]);
  return undefined;
}

/** The message that a word names. @throws Failure CLI_NOT_FOUND */
export async function getMessage(pool: pg.Pool, word: string): Promise<StoredMessage> {
  const id = parseId("m", word);
  const message = id === undefined ? undefined : await findMessage(pool, id);
  if (message) return message;
  throw new Failure("CLI_NOT_FOUND", `no message ${word}`);
}

/** The message's text as far as it can be read; bytes that its character set lacks are shown as they would be in Latin-1. */
function textOf({ raw, format, encoding }: StoredMessage): string | undefined {
  if (raw === undefined) return undefined;
  if (format === "csv") return raw.toString("utf8");
  try {
    return decodeHl7(raw, { override: encoding }).text;
  } catch {
    return raw.toString("latin1");
  }
}

function section(session: Session, title: string, lines: readonly string[]): void {
  session.line();
  session.line(session.paint("bold", title));
  for (const line of lines) session.line(`  ${line}`);
}
