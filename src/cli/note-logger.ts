import { pino } from "pino";
import type { Logger } from "../core/logger.ts";
import { clean } from "./clean.ts";
import type { Session } from "./session.ts";

/** What a log line's further keys add to its words. */
const DETAILS: Readonly<Record<string, (value: string) => string>> = {
  bytes: (value) => `${value} bytes`,
  maxBytes: (value) => `more than ${value} bytes`,
  looksLike: (value) => `they look like ${value}`,
  reason: (value) => value,
};

/** A logger whose warnings a person at a terminal reads as notes. */
export function createNoteLogger(session: Pick<Session, "note">): Logger {
  return pino(
    { level: "warn", base: null },
    {
      write: (line) => {
        const { msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
        const details = Object.entries(DETAILS).flatMap(([key, say]) =>
          rest[key] === undefined ? [] : [say(String(rest[key]))],
        );
        session.note(clean(`${String(msg)}${details.length > 0 ? ` (${details.join("; ")})` : ""}`));
      },
    },
  );
}
