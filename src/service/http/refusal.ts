import type { KeptAnswer } from "../../core/failures.ts";
import { type Phi, phi } from "../../core/phi.ts";
import { SecretMask } from "../../core/secret-mask.ts";
import { RECORDS_OF } from "../../core/service-catalogue.ts";
import type { Surface } from "../../core/surface.ts";
import { isObject, isPlainCode } from "../values.ts";
import type { Answer } from "./answer.ts";
import { indentedStart } from "./indented.ts";

/** The codes of an error body. May quote patients' values. */
interface Report {
  /** Everything that stands where error codes stand, as it is written; for matching, not for showing. */
  readonly codes: readonly string[];
  /** Those of the codes that are surely codes and no record's. May still be made of somebody's name. */
  readonly errorCodes: readonly string[];
}

const CODE_KEYS = ["code", "errorcode", "error_code", "error"];
/** Not `data` and the like: those may hold the record of another patient. */
const NESTED_KEYS = ["error", "errors", "details", "extensions", "fault", "violations", "issues"];
const RECORD_KEYS = ["id", "firstname", "lastname", "dateofbirth", "facilityid", "createdat", "name"];
const DEEPEST = 3;
const MOST_ENTRIES = 5;
/** No report of an error has as many: a body of megabytes may have a million. */
const MOST_FIELDS = 1_000;

const NOTHING: Report = { codes: [], errorCodes: [] };

/**
 * Finds error codes in the body of an answer, whose shape the specification leaves open (Errors 3): flat, a
 * nested error object, an array, problem details (RFC 9457), GraphQL's `errors`; keys in any case. A body with status
 * 2xx counts as a report only when it holds no record and no list, since records have fields of these names too.
 */
export function readReport(answer: Answer): Report {
  if (answer.shape !== "json") return NOTHING;
  const isSuccess = answer.status >= 200 && answer.status < 300;
  if (isSuccess && !isBareReport(answer.json)) return NOTHING;
  const found: Found = { codes: new Set(), errorCodes: new Set() };
  collect(answer.json, found, 0);
  return { codes: [...found.codes], errorCodes: [...found.errorCodes] };
}

/** Codes that the site's own rules name; the site knows that they are codes. */
export type KnownCodes = ReadonlySet<string>;

/**
 * The error codes of an answer that anybody may see: those that are made of the words of errors, and those that the site
 * knows. All else that the service says is free text, which may name another patient.
 */
export function plainCodes(answer: Answer, known: KnownCodes): string[] {
  return readReport(answer).codes.filter((code) => known.has(code) || isPlainCode(code));
}

/**
 * What a refusal is, in one line for anybody: the service's error code, or what its body is. Never its own words, which
 * may be about another patient. Undefined when there is nothing to say.
 */
export function describeRefusal(answer: Answer, known: KnownCodes): string | undefined {
  if (answer.shape === "html") return "an HTML page";
  if (answer.shape === "empty" && answer.status < 300) return "an empty answer";
  if (answer.shape === "other") return answer.text === undefined ? "an unreadable body" : "a text";
  const codes = plainCodes(answer, known).slice(0, MOST_ENTRIES);
  return codes.length === 0 ? undefined : codes.join(" ");
}

interface Found {
  readonly codes: Set<string>;
  readonly errorCodes: Set<string>;
}

function isBareReport(json: unknown): boolean {
  if (!isObject(json) || "id" in json) return false;
  return !["data", "item", "result", "items", "results"].some((key) => (json[key] ?? null) !== null);
}

function collect(value: unknown, found: Found, depth: number): void {
  if (depth > DEEPEST) return;
  if (Array.isArray(value)) {
    for (const each of value.slice(0, MOST_ENTRIES)) collect(each, found, depth + 1);
    return;
  }
  if (!isObject(value)) return;
  const fields = firstFields(value);
  collectCodes(fields, found);
  const message = fields.get("message");
  if (Array.isArray(message)) collect(message, found, depth + 1);
  for (const key of NESTED_KEYS) {
    const inner = fields.get(key);
    if (typeof inner === "object") collect(inner, found, depth + 1);
  }
}

/** By their names in lower case. */
function firstFields(value: Readonly<Record<string, unknown>>): ReadonlyMap<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const key in value) {
    if (fields.size >= MOST_FIELDS) break;
    fields.set(key.toLowerCase(), value[key]);
  }
  return fields;
}

function collectCodes(fields: ReadonlyMap<string, unknown>, found: Found): void {
  const isRecord = RECORD_KEYS.some((key) => fields.has(key));
  for (const key of CODE_KEYS) {
    const code = fields.get(key);
    const text = typeof code === "number" && Number.isSafeInteger(code) ? String(code) : code;
    if (typeof text !== "string" || !isCodeLike(text)) continue;
    found.codes.add(text);
    if (!isRecord && isErrorCode(text)) found.errorCodes.add(text);
  }
  // RFC 9457: `type` is an address that names the kind of problem; its last part is what other shapes call a code.
  const type = fields.get("type");
  if (typeof type !== "string" || !/^(https?|urn|tag):\S+$/i.test(type)) return;
  found.codes.add(type);
  const last = /([A-Za-z][\w.-]*)\/?$/.exec(type)?.[1];
  if (last !== undefined) found.codes.add(last);
}

/** Words joined by `_`, `.` or `-`, or all in capitals: `VALIDATION_ERROR`, `invalid_client`, `CONFLICT`. */
function isErrorCode(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9]*([_.-][A-Za-z0-9]+)+$|^[A-Z]{3,}$/.test(text);
}

/** One word, as codes are: no blanks, and no longer than anybody would make one. */
function isCodeLike(text: string): boolean {
  return /^[\w][\w.:/-]{0,79}$/.test(text);
}

/** Characters of a body that are kept. */
const LONGEST_BODY = 4_096;

/**
 * Makes of an answer what is kept for an operator. What the service says may be about anybody, so its body is a patient's value as a
 * whole: it is shown to whoever asks for it, which is recorded, and to nobody else. Of an HTML page, which comes from a gateway, the title and
 * the headings are kept.
 *
 * @param token what the call was made with; nothing that is kept quotes it
 */
export function keepAnswer(
  call: Pick<KeptAnswer, "method" | "route">,
  answer: Answer,
  known: KnownCodes,
  token: Phi,
): KeptAnswer {
  const [code] = plainCodes(answer, known);
  const contentType = CONTENT_TYPE.exec(answer.headers.mediaType ?? "")?.[0];
  const body = bodyOf(answer, token);
  return {
    method: call.method,
    route: call.route,
    status: answer.status,
    shape: answer.shape,
    contentType,
    errorCode: code,
    body: body === undefined || body === "" ? undefined : phi(shortened(body)),
  };
}

/** Media types that answers have; a made-up one says nothing. */
const CONTENT_TYPE =
  /^(application|text)\/(json|problem\+json|hal\+json|vnd\.api\+json|html|xhtml\+xml|xml|plain|octet-stream)(?![\w.+-])/i;

/** Why a procedure failed, as the service says it, kept like an answer. */
export function keepProcedureError(error: Phi, surface: Surface): KeptAnswer {
  const route = RECORDS_OF.procedure[surface];
  return {
    ...{ method: "GET", route, status: 200, shape: "json" },
    body: phi(shortened(indentedStart({ status: "FAILED", error: error.reveal() }, LONGEST_BODY))),
  };
}

/** What commands a terminal, but for line ends. */
const COMMANDS = /(?!\n)[\p{Cc}\p{Cf}]/gu;

/** Characters of a text that are looked at. */
const LONGEST_READ = 65_536;

/** A token that the end cuts is left out with what is before it. */
function withoutToken(text: string, token: Phi): string {
  const secrets = new SecretMask();
  secrets.add(token.reveal());
  const masked = secrets.mask(text.slice(0, LONGEST_READ).toWellFormed());
  return text.length > LONGEST_READ ? masked.slice(0, -token.reveal().length * 6) : masked;
}

function bodyOf(answer: Answer, token: Phi): string | undefined {
  if (answer.shape === "json")
    return withoutToken(indentedStart(answer.json, LONGEST_READ), token).replace(COMMANDS, "?");
  if (answer.shape === "empty" || answer.text === undefined) return undefined;
  const text = withoutToken(answer.text, token);
  return inOneLine(answer.shape === "html" ? headlines(text) : text);
}

/** Text that a terminal and a database take. */
function inOneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
}

function shortened(text: string): string {
  return text.length > LONGEST_BODY ? `${text.slice(0, LONGEST_BODY).toWellFormed()}…` : text;
}

/** What a page calls itself: `502 Bad Gateway`, `Request blocked`. */
function headlines(html: string): string {
  const found = html.slice(0, 65_536).matchAll(/<(title|h1|h2)\b[^>]*>([^<]{1,300})/gi);
  return [...new Set([...found].map((match) => match[2]?.trim() ?? ""))].slice(0, 5).join(" / ");
}
