import { Failure } from "../core/failures.ts";

/** SQLSTATEs and system codes of a database that is away or takes nothing for now. */
const UNAVAILABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens at its address",
  ENOENT: "its socket isn't there: the server doesn't run",
  ENOTFOUND: "its host name is not known",
  EAI_AGAIN: "the name server did not answer",
  EHOSTUNREACH: "there is no way to its host",
  ENETUNREACH: "there is no way to its network",
  EACCES: "this account may not use its socket",
  "53100": "its disk is full",
  "53200": "it is out of memory",
  "53300": "it has no connection left for Cryobridge",
  "55P03": "a lock was not given up in time",
  "57014": "a statement took too long",
  "57P03": "it is starting or stopping",
  "25006": "it takes no changes for now (read-only)",
};

/** Why the database is out of reach, for an operator: by the driver's code, else by the code itself or the kind of silence. */
export function unavailableWords(code: string): string {
  if (code === "") return "it gave no answer in time, or the connection broke";
  return UNAVAILABLE[code] ?? code;
}

/** By SQLSTATE class or code, first fit: a server that answers and lets nobody in. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/^28/, "refuses the user or the password"],
  [/^3D/, "has no database of that name"],
  [/^42501/, "does not let that user make or use the schema cryobridge"],
  [/^0A/, "lacks something that the ledger needs; is it older than version 13?"],
];

/** Codes of Node.js for a certificate that is not believed. */
const CERTIFICATE = /CERT|UNABLE_TO_|SELF_SIGNED/;

/**
 * Why a server that was reached can't be used, such as `refuses the user or the password (SQLSTATE 28P01)`; undefined for
 * any other error. The driver's own text is left out, since it may quote what it choked on.
 */
function refusedWords(error: Error): string | undefined {
  const code = "code" in error ? String(error.code) : "";
  const words = REFUSED.find(([pattern]) => pattern.test(code))?.[1];
  if (words !== undefined) return `${words} (SQLSTATE ${code})`;
  if (CERTIFICATE.test(code)) return `shows a certificate that is not trusted (${code})`;
  // The driver gives this one no code.
  if (/does not support SSL/i.test(error.message)) return "speaks no TLS, which sslmode asks for";
  return undefined;
}

/** LEDGER_REFUSED for the error of a server that answers and lets nobody in; undefined for any other error. */
export function asRefusal(error: unknown): Failure | undefined {
  const words = error instanceof Error && !(error instanceof Failure) ? refusedWords(error) : undefined;
  if (words === undefined) return undefined;
  return new Failure("LEDGER_REFUSED", { message: `the database answers, but ${words}`, cause: error });
}
