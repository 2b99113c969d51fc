import { MESSAGE_ECHO, type MessageEcho } from "../../core/message-echo.ts";
import { type Phi, phi } from "../../core/phi.ts";

/** The column `echo`. */
export function encodeEcho(echo: Phi<MessageEcho> | undefined): string | null {
  return echo === undefined ? null : JSON.stringify(echo.reveal());
}

/** The same read back; undefined for what has none, or none any more. */
export function decodeEcho(text: string | null | undefined): Phi<MessageEcho> | undefined {
  return text === null || text === undefined ? undefined : phi(MESSAGE_ECHO.parse(JSON.parse(text)));
}
