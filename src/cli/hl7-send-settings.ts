import type { MllpSendSettings } from "../connectors/mllp/sender.ts";
import { type PemFiles, readPems } from "./hl7-tls.ts";
import type { Session } from "./session.ts";

/** Options of `hl7 send`. */
export interface SendOptions extends PemFiles {
  readonly to: { readonly host: string; readonly port: number };
  readonly oneFrame?: boolean;
  readonly cr?: boolean;
  readonly tls?: boolean;
  /** Seconds. */
  readonly timeout: number;
  readonly times: number;
}

const MOST_CONNECT_MS = 10_000;
/** The answer to a batch has a message for each of its own. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Where `hl7 send` sends, with certificates read and looked at before anything is sent.
 * @throws Failure CLI_USAGE, CLI_FILE_UNREADABLE
 */
export async function readSendSettings(session: Session, options: SendOptions): Promise<MllpSendSettings> {
  const pems = await readPems(session, options);
  const answerMs = options.timeout * 1_000;
  return {
    ...options.to,
    connectMs: Math.min(MOST_CONNECT_MS, answerMs),
    answerMs,
    maxAnswerBytes: MOST_ANSWER_BYTES,
    tls: options.tls === true || Object.keys(pems).length > 0 ? pems : undefined,
  };
}
