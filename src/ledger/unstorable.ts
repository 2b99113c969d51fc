import type { Problem } from "../core/failures.ts";
import { phi } from "../core/phi.ts";
import type { MessageRecord } from "./message-record.ts";

/**
 * Whether the database refused a value for what it is: SQLSTATE class 22, data exception (NUL, half of a character),
 * or 54, program limit exceeded (a key too long for its index). The same value is refused every time.
 */
export function isUnstorable(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^(22|54)/.test(String(error.code));
}

/**
 * A message with a value that the database can't hold, as it is kept: refused, with its bytes, which may be anything. Each
 * text of it that could be the one is left out; which it was, the database doesn't say.
 */
export function withoutUnstorable({ message, waitedAs, replyTo }: MessageRecord): MessageRecord {
  const problem: Problem = {
    code: "LEDGER_VALUE_UNSTORABLE",
    place: message.place,
    message:
      "one of its values can't be kept in the database: it is too long, or holds a character that is none",
  };
  const { content } = message;
  return {
    message: content.kind === "csv" ? { ...message, content: { kind: "csv", rows: phi([]) } } : message,
    waitedAs,
    replyTo,
    verdict: "refused",
    problems: [problem],
    orders: [],
  };
}
