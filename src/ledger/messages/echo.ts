import { Failure } from "../../core/failures.ts";
import { MESSAGE_ECHO, type MessageEcho } from "../../core/message-echo.ts";
import { type Phi, phi } from "../../core/phi.ts";

/** The column `echo`. */
export function encodeEcho(echo: Phi<MessageEcho> | undefined): string | null {
  return echo === undefined ? null : JSON.stringify(echo.reveal());
}

/**
 * The same read back; undefined for what has none, or none any more.
 *
 * @throws Failure UNCLASSIFIED for another form than this program's, without any of its text: that is a patient's
 */
export function decodeEcho(text: string | null | undefined): Phi<MessageEcho> | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    return phi(MESSAGE_ECHO.parse(JSON.parse(text)));
  } catch {
    throw new Failure("UNCLASSIFIED", "what is kept of the message that is answered can't be read back");
  }
}
