import type { Phi } from "../core/phi.ts";
import type { Answer } from "./answer.ts";
import { maskText } from "./mask.ts";
import { isObject } from "./values.ts";

/** What an error body says, in the service's own words. May quote patients' values. */
export interface Report {
  /** Everything that stands where error codes stand, as it is written; for matching, not for showing. */
  readonly codes: readonly string[];
  /** Those of the codes that are surely codes and no record's. */
  readonly shownCodes: readonly string[];
  readonly texts: readonly string[];
}

const CODE_KEYS = ["code", "errorcode", "error_code", "error"];
const TEXT_KEYS = ["message", "detail", "error_description", "title", "error", "reason", "description"];
/** Not `data` and the like: those may hold the record of another patient. */
const NESTED_KEYS = ["error", "errors", "details", "extensions", "fault", "violations", "issues"];
const RECORD_KEYS = ["id", "firstname", "lastname", "dateofbirth", "facilityid", "createdat", "name"];
const DEEPEST = 3;
const MOST_ENTRIES = 5;

const NOTHING: Report = { codes: [], shownCodes: [], texts: [] };

/**
 * Finds error codes and texts in the body of an answer, whose shape the specification leaves open (Errors 3): flat, a
 * nested error object, an array, problem details (RFC 9457), GraphQL's `errors`; keys in any case. A body with status
 * 2xx counts as a report only when it holds no record and no list, since records have fields of these names too.
 */
export function readReport(answer: Answer): Report {
  if (answer.shape !== "json") return NOTHING;
  const isSuccess = answer.status >= 200 && answer.status < 300;
  if (isSuccess && !isBareReport(answer.json)) return NOTHING;
  const found: Found = { codes: new Set(), shownCodes: new Set(), texts: new Set() };
  collect(answer.json, found, 0);
  return { codes: [...found.codes], shownCodes: [...found.shownCodes], texts: [...found.texts] };
}

/**
 * What the service says about a refusal, in one line for a person: its error code and text from whichever body it
 * sent, with patients' values masked. Undefined when it says nothing.
 */
export function describeRefusal(answer: Answer, sensitive: readonly Phi[]): string | undefined {
  if (answer.shape === "html") return "an HTML page";
  if (answer.shape === "other") {
    return answer.text === undefined ? "an unreadable body" : maskText(answer.text, sensitive);
  }
  const report = readReport(answer);
  const line = [report.shownCodes.join(" "), report.texts.slice(0, MOST_ENTRIES).join("; ")]
    .filter((part) => part !== "")
    .join(": ");
  return line === "" ? undefined : maskText(line, sensitive);
}

interface Found {
  readonly codes: Set<string>;
  readonly shownCodes: Set<string>;
  readonly texts: Set<string>;
}

function isBareReport(json: unknown): boolean {
  if (!isObject(json) || "id" in json) return false;
  return !["data", "item", "result", "items", "results"].some((key) => (json[key] ?? null) !== null);
}

function collect(value: unknown, found: Found, depth: number): void {
  if (depth > DEEPEST) return;
  if (Array.isArray(value)) {
    for (const each of value.slice(0, MOST_ENTRIES)) {
      if (typeof each === "string") found.texts.add(each);
      else collect(each, found, depth + 1);
    }
    return;
  }
  if (!isObject(value)) return;
  const fields = new Map(Object.entries(value).map(([key, field]) => [key.toLowerCase(), field]));
  collectCodes(fields, found);
  for (const key of TEXT_KEYS) {
    const text = fields.get(key);
    if (typeof text === "string" && !found.shownCodes.has(text)) found.texts.add(text);
    else if (key === "message" && Array.isArray(text)) collect(text, found, depth + 1);
  }
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
    if (!isRecord && isErrorCode(text)) found.shownCodes.add(text);
  }
  // RFC 9457: `type` is an address that names the kind of problem; its last part is what other shapes call a code.
  const type = fields.get("type");
  if (typeof type !== "string" || !/^(https?|urn|tag):\S+$/i.test(type)) return;
  found.codes.add(type);
  const last = /([A-Za-z][\w.-]*)\/?$/.exec(type)?.[1];
  if (last !== undefined) found.codes.add(last);
}

/** One word, as codes are: no blanks, and no longer than anybody would make one. */
function isCodeLike(text: string): boolean {
  return /^[\w][\w.:/-]{0,79}$/.test(text);
}

/** Words joined by `_`, `.` or `-`, or all in capitals: `VALIDATION_ERROR`, `invalid_client`, `CONFLICT`. */
export function isErrorCode(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9]*([_.-][A-Za-z0-9]+)+$|^[A-Z]{3,}$/.test(text);
}
