import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { MllpSendSettings } from "../connectors/mllp/sender.ts";
import { Failure } from "../core/failures.ts";
import { readInput } from "./input-file.ts";
import type { Session } from "./session.ts";

/** Options of `hl7 send`. */
export interface SendOptions {
  readonly to: { readonly host: string; readonly port: number };
  readonly oneFrame?: boolean;
  readonly cr?: boolean;
  readonly tls?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
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
  const { to, ca, cert, key } = options;
  if ((cert === undefined) !== (key === undefined))
    throw new Failure("CLI_USAGE", "--cert and --key go together");
  const read = (path: string) => readInput(session.io, path);
  const pems = {
    ...(ca === undefined ? {} : { ca: checkCertificate("--ca", ca, await read(ca)) }),
    ...(cert === undefined ? {} : { cert: checkCertificate("--cert", cert, await read(cert)) }),
    ...(key === undefined ? {} : { key: checkKey(key, await read(key)) }),
  };
  checkPair(pems);
  const answerMs = options.timeout * 1_000;
  return {
    ...to,
    connectMs: Math.min(MOST_CONNECT_MS, answerMs),
    answerMs,
    maxAnswerBytes: MOST_ANSWER_BYTES,
    tls: options.tls === true || Object.keys(pems).length > 0 ? pems : undefined,
  };
}

function checkCertificate(option: string, path: string, pem: Buffer): Buffer {
  try {
    new X509Certificate(pem);
    return pem;
  } catch {
    throw new Failure("CLI_FILE_UNREADABLE", `${option} ${path} holds no certificate in PEM form`);
  }
}

function checkKey(path: string, pem: Buffer): Buffer {
  try {
    createPrivateKey(pem);
    return pem;
  } catch {
    const why = "holds no private key in PEM form, or one that is locked by a passphrase";
    throw new Failure("CLI_FILE_UNREADABLE", `--key ${path} ${why}`);
  }
}

function checkPair(pems: { readonly cert?: Buffer; readonly key?: Buffer }): void {
  try {
    createSecureContext(pems);
  } catch (error) {
    throw new Failure("CLI_USAGE", { message: "--key is not the key of --cert", cause: error });
  }
}
