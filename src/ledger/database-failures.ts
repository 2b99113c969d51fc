import { codeOf, Failure } from "../core/failures.ts";
import { asSentence, type TlsSettings, type TlsTrouble, tlsTroubleOf } from "../core/tls-trouble.ts";

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
function unavailableWords(code: string): string {
  if (code === "") return "it gave no answer in time, or the connection broke";
  return UNAVAILABLE[code] ?? code;
}

/** SQLSTATE classes in which nothing was committed and a later try may succeed. */
const TRANSIENT_STATES = /^(08|53|55P03|57|40|25P03|25006|58)/;
const TRANSIENT_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EACCES",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);
const TRANSIENT_WORDS =
  /terminated|Query read timeout|timeout exceeded when trying to connect|connection timeout|not queryable|Client was closed/i;

/** SQLSTATE of a server without room. */
const DISK_FULL = "53100";

/**
 * Turns a driver error into LEDGER_UNAVAILABLE when the server was out of reach, and leaves everything else as it is.
 * @param place where the server is, for a person
 */
export function asLedgerFailure(error: unknown, place?: string): unknown {
  if (error instanceof Failure || !(error instanceof Error)) return error;
  const code = codeOf(error) ?? "";
  const isTransient =
    TRANSIENT_STATES.test(code) || TRANSIENT_CODES.has(code) || TRANSIENT_WORDS.test(error.message);
  if (!isTransient) return error;
  return new Failure("LEDGER_UNAVAILABLE", {
    message: `the ledger's database${place ? ` at ${place}` : ""} can't be ${code === DISK_FULL ? "written" : "reached"}: ${unavailableWords(code)}`,
    cause: error,
  });
}

/** SQLSTATE of a table, function or schema that isn't there. */
export function isMissingObject(error: unknown): boolean {
  return /^(42P01|42883|3F000)$/.test(codeOf(error) ?? "");
}

/** SQLSTATEs of a row whose key is there already, and of two transactions that waited for each other. */
const UNIQUE_VIOLATION = "23505";
const DEADLOCK = "40P01";

/** Whether the transaction was sent back since it and another one waited for each other. */
export function isDeadlock(error: unknown): boolean {
  return codeOf(driverError(error)) === DEADLOCK;
}

/** Whether another transaction inserted the same key at the same time, or the two waited for each other. */
export function isInsertRace(error: unknown): boolean {
  return isDeadlock(error) || codeOf(driverError(error)) === UNIQUE_VIOLATION;
}

/**
 * Whether the database refused a value for what it is: SQLSTATE class 22, data exception (NUL, half of a character),
 * or 54, program limit exceeded (a key too long for its index). The same value is refused every time.
 */
export function isUnstorable(error: unknown): boolean {
  return /^(22|54)/.test(codeOf(error) ?? "");
}

const driverError = (error: unknown) => (error instanceof Failure ? error.cause : error);

/** By SQLSTATE class or code, first fit: a server that answers and lets nobody in. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/^28/, "refuses the user or the password"],
  [/^3D/, "has no database of that name"],
  [/^42501/, "does not let that user make or use the schema cryobridge"],
  [/^0A/, "lacks something that the ledger needs; is it older than version 13?"],
];

/**
 * Why a server that was reached can't be used, such as `refuses the user or the password (SQLSTATE 28P01)`; undefined for
 * any other error. The driver's own text is left out, since it may quote what it choked on.
 */
function refusedWords(error: Error): string | undefined {
  const code = codeOf(error) ?? "";
  const words = REFUSED.find(([pattern]) => pattern.test(code))?.[1];
  if (words !== undefined) return `${words} (SQLSTATE ${code})`;
  // The driver gives this one no code.
  if (/does not support SSL/i.test(error.message)) return "speaks no TLS, which sslmode asks for";
  return undefined;
}

/** Parameters of the address, as libpq has them. */
const DATABASE_TLS: TlsSettings = {
  ca: "`sslrootcert` in `database.url` (`…?sslmode=verify-full&sslrootcert=/etc/ssl/hospital.pem`)",
  name: "`database.url`",
  own: "`sslcert` and `sslkey` in `database.url`",
};
/** The server says it in words of its own, under the code of every refused login. */
const wantsOurs = (error: Error) => /valid client certificate/i.test(error.message);
const OURS_WANTED: TlsTrouble = {
  why: "it asks for a certificate of ours that it trusts",
  lead: `${DATABASE_TLS.own} have to name one and its key`,
};

/**
 * LEDGER_REFUSED for the error of a server that answers and lets nobody in; undefined for any other error.
 * @param place where the server is, for a person
 */
export function asRefusal(error: unknown, place?: string): Failure | undefined {
  if (!(error instanceof Error) || error instanceof Failure) return undefined;
  const tls = wantsOurs(error) ? OURS_WANTED : tlsTroubleOf(error, DATABASE_TLS);
  const words = tls?.why ?? refusedWords(error);
  if (words === undefined) return undefined;
  const message = `the database${place ? ` at ${place}` : ""} answers, but ${words}`;
  return new Failure("LEDGER_REFUSED", { message, hint: tls && asSentence(tls.lead), cause: error });
}
