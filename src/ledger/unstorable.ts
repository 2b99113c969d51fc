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
 * A message with a value that the database can't hold, or that failed otherwise, as it is kept all the same: refused,
 * with its bytes, which may be anything. Each text of it that could be the one is left out; which it was, the database
 * doesn't say.
 */
export function withoutUnstorable(
  { message, waitedAs, arrived, replyTo }: MessageRecord,
  error: unknown,
): MessageRecord {
  const problem: Problem = isUnstorable(error)
    ? {
        code: "LEDGER_VALUE_UNSTORABLE",
        place: message.place,
        message:
          "one of its values can't be kept in the database: it is too long, or holds a character that is none",
      }
    : {
        code: "UNCLASSIFIED",
        place: message.place,
        message: "its orders could not be made; the daemon's log says why",
      };
  const { content } = message;
  return {
    message: content.kind === "csv" ? { ...message, content: { kind: "csv", rows: phi([]) } } : message,
    waitedAs,
    arrived,
    replyTo,
    verdict: "refused",
    problems: [problem],
    orders: [],
  };
}
