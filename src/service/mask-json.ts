import type { Phi } from "../core/phi.ts";
import { holdsValue, isHarmless, MASK, maskKeptText } from "./mask.ts";
import { isErrorCode } from "./refusal.ts";

const DEEPEST = 8;
const MOST_ENTRIES = 20;
const MOST_FIELDS = 50;
/** All in all; what comes after them is masked. */
const MOST_VALUES = 400;
const LONGEST_TEXT = 500;

/** Keys under which services put sentences about an error; their text is kept, masked as a text. */
const TEXT_KEYS = new Set(
  "message messages msg detail details error errors error_description errordescription description title reason cause hint instance path type".split(
    " ",
  ),
);
/** Keys under which an error's own code stands. */
const CODE_KEYS = new Set(["code", "errorcode", "error_code", "error", "codes", "keyword", "logref"]);
/** Keys whose values trace a call through systems. */
const TRACE_KEY = /^(trace|span|correlation|request|error|log|event|incident|x)[_-]?(id|ref|code)$/i;
/** Keys whose numbers are counts, statuses or the service's own ids. */
const NUMBER_KEY =
  /^(id|status|statuscode|status_code|http_?status|code|error_?code|page|per_?page|total|count|limit|offset|line|column|position|index|retry_?after|max|min|maximum|minimum|expected|length|version|facility_?id|procedure_?id|request_?id|storage_?id|subject_?id|sample_?container_?ids?|acquired|allowed)$/i;
/** Keys of objects that hold, by the name of a field, what is wrong with it. */
const BY_FIELD_KEY = /^(errors|(field|validation)_?errors|model_?state|violations)$/i;
/** Fields that show an object to be somebody's record and no error. */
const RECORD_KEYS = ["firstName", "lastName", "dateOfBirth", "facilityId", "createdAt"];

/**
 * A JSON value without anything that could say who a patient is, and with its structure: keys that are field names
 * stay, numbers stay under keys of counts and ids, error codes and words of the specification stay, sentences stay
 * without known values, dates and quoted words, and every other text is masked. Deep, long or wide values are cut.
 */
export function maskJson(value: unknown, sensitive: readonly Phi[]): unknown {
  return maskField("", value, { sensitive, isRecord: false, budget: { left: MOST_VALUES } }, 0);
}

interface Around {
  readonly sensitive: readonly Phi[];
  /** Values that may still be looked at. */
  readonly budget: { left: number };
  /** Whether the object that the field is of is a record. */
  readonly isRecord: boolean;
}

function maskField(key: string, value: unknown, around: Around, depth: number): unknown {
  around.budget.left -= 1;
  if (around.budget.left < 0) return MASK;
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return maskNumber(key, value, around);
  if (typeof value === "string") return maskString(key, value, around);
  if (depth >= DEEPEST) return MASK;
  if (Array.isArray(value)) {
    const entries = value.slice(0, MOST_ENTRIES).map((entry) => maskField(key, entry, around, depth + 1));
    return value.length > MOST_ENTRIES ? [...entries, `… ${value.length - MOST_ENTRIES} more`] : entries;
  }
  return maskObject(key, value as Readonly<Record<string, unknown>>, around, depth);
}

function maskObject(
  above: string,
  object: Readonly<Record<string, unknown>>,
  around: Around,
  depth: number,
): Record<string, unknown> {
  const keys = Object.keys(object);
  const isByField = BY_FIELD_KEY.test(above);
  const inside: Around = { ...around, isRecord: !isByField && RECORD_KEYS.some((key) => key in object) };
  const fields = keys.slice(0, MOST_FIELDS).map((key): [string, unknown] => {
    const isShown = isFieldName(key) && !holdsValue(key, around.sensitive);
    const value = object[key];
    const isSentence = isByField && (typeof value === "string" || Array.isArray(value));
    // Under a masked key, which may be a name or a label, nothing is known of what the value is.
    return [
      isShown ? key : MASK,
      maskField(isSentence ? "message" : isShown ? key : "", value, inside, depth + 1),
    ];
  });
  return Object.fromEntries([
    ...fields,
    ...(keys.length > MOST_FIELDS ? [["…", keys.length - MOST_FIELDS]] : []),
  ]);
}

/** Names of fields: words of the specification, or letters that begin small or have a hump, as names of people don't. */
function isFieldName(key: string): boolean {
  if (key.length > 40) return false;
  return isHarmless(key) || /^[a-z][A-Za-z]*([_-][A-Za-z]+)*$|^[A-Z][a-z]+([A-Z][a-z]+)+$/.test(key);
}

function maskNumber(key: string, value: number, { sensitive, isRecord }: Around): unknown {
  const isCode = CODE_KEYS.has(key.toLowerCase());
  if (!NUMBER_KEY.test(key) || (isCode && isRecord)) return MASK;
  return holdsValue(String(value), sensitive) ? MASK : value;
}

function maskString(key: string, value: string, { sensitive, isRecord }: Around): string {
  const isCode = CODE_KEYS.has(key.toLowerCase()) && !isRecord && isErrorCode(value);
  const isTrace = TRACE_KEY.test(key) && /^(?=.*\d)[0-9a-f-]{16,64}$/i.test(value);
  const isKept = value === "" || isHarmless(value) || isCode || isTrace;
  if (isKept && !holdsValue(value, sensitive)) return value;
  return isSentenceKey(key, isRecord) ? maskKeptText(value, sensitive, LONGEST_TEXT) : MASK;
}

/** A record's `description` and `type` are a person's own words or nobody's; an error's are about the error. */
function isSentenceKey(key: string, isRecord: boolean): boolean {
  return !isRecord && TEXT_KEYS.has(key.toLowerCase());
}
