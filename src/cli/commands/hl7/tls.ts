import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { Failure } from "../../../core/failures.ts";
import { readInput } from "../../io.ts";
import type { Session } from "../../session.ts";

/** Files of the options `--ca`, `--cert` and `--key`. */
export interface PemFiles {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** What stands in them. */
export interface Pems {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/**
 * Certificates and keys, checked before anything is sent or listened for.
 * @throws Failure CLI_USAGE for a certificate without its key or with another's, CLI_FILE_UNREADABLE
 */
export async function readPems(session: Session, { ca, cert, key }: PemFiles): Promise<Pems> {
  if ((cert === undefined) !== (key === undefined))
    throw new Failure("CLI_USAGE", "--cert and --key go together");
  const read = (path: string) => readInput(session.io, path);
  const pems = {
    ...(ca === undefined ? {} : { ca: checkCertificate("--ca", ca, await read(ca)) }),
    ...(cert === undefined ? {} : { cert: checkCertificate("--cert", cert, await read(cert)) }),
    ...(key === undefined ? {} : { key: checkKey(key, await read(key)) }),
  };
  checkPair(pems);
  return pems;
}

/** A certificate by what people know it by: its subject, its end and its fingerprint. */
export function describeCertificate(pem: Buffer): string {
  const { subject, validTo, fingerprint256 } = new X509Certificate(pem);
  return `${subject?.replaceAll("\n", ", ") || "no subject"}, valid to ${validTo}, SHA-256 ${fingerprint256}`;
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

function checkPair(pems: Pems): void {
  try {
    createSecureContext(pems);
  } catch (error) {
    throw new Failure("CLI_USAGE", { message: "--key is not the key of --cert", cause: error });
  }
}
