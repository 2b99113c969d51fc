import { isObject, isPlainCode } from "../values.ts";
import type { Answer } from "./answer.ts";

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
  const fields = new Map(Object.entries(value).map(([key, field]) => [key.toLowerCase(), field]));
  collectCodes(fields, found);
  const message = fields.get("message");
  if (Array.isArray(message)) collect(message, found, depth + 1);
  for (const key of NESTED_KEYS) {
    const inner = fields.get(key);
    if (typeof inner === "object") collect(inner, found, depth + 1);
  }
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
