import type { Phi } from "../../core/phi.ts";
import { asciiJson } from "../../core/secret-mask.ts";

/** Stands for what was taken out. */
export const MASK = "[masked]";

/** Words that a service may put in quotes without naming a patient: fields and values of the specification. */
const HARMLESS = new Set(
  (
    "id type status facilityId subjectCode sampleContainers sampleContainerId sampleContainerIds description code " +
    "firstName lastName dateOfBirth procedureId requestId storageId page perPage name label STORE RETRIEVAL " +
    "PENDING ACCEPTED REJECTED CANCELLED CREATED IN_PROGRESS COMPLETED FAILED string integer number array object " +
    "date null true false subject facility body YYYY-MM-DD error errors message detail details title createdAt"
  )
    .toLowerCase()
    .split(" "),
);

/** Whether a word is a field or value of the specification, in any case, and so says nothing about a patient. */
function isHarmless(word: string): boolean {
  return HARMLESS.has(word.toLowerCase());
}

/**
 * Makes a text of the service fit for keeping: control characters and broken ones out, the given values of the patient
 * replaced, those of four characters or more inside longer words too, and so are dates and quoted words that are no field
 * names, since a service may quote somebody else ("code belongs to 'Jane Roe'"). A quote that is never closed masks the
 * rest. At most `longest` characters. It may still name anybody, so it is for an operator who asks for it alone.
 *
 * @param isShown which quoted words stay, beside those of the specification
 */
export function maskKeptText(
  text: string,
  sensitive: readonly Phi[],
  longest: number,
  isShown: (quoted: string) => boolean = () => false,
): string {
  return mask(text, findersOf(sensitive, anywhere), longest, isShown);
}

/** Whether a text holds one of these values in some spelling. */
export function holdsValue(text: string, sensitive: readonly Phi[]): boolean {
  const readable = plain(text.slice(0, LONGEST_READ));
  return findersOf(sensitive, anywhere).some((finder) => readable.search(finder) !== -1);
}

/** Characters of a text that are looked at. */
const LONGEST_READ = 16_384;
/** Longer than a patient's value: what is left of one where a text is cut. */
const LONGEST_VALUE = 200;

function mask(
  text: string,
  finders: readonly RegExp[],
  longest: number,
  isShown: (quoted: string) => boolean,
): string {
  const read = plain(text.slice(0, LONGEST_READ));
  const masked = finders
    .reduce((sofar, finder) => sofar.replace(finder, MASK), read)
    .replace(ANY_QUOTES, (whole: string, ...groups: readonly unknown[]) => maskQuoted(whole, groups, isShown))
    .replace(DATES, MASK);
  if (text.length > LONGEST_READ) return shortened(masked.slice(0, -LONGEST_VALUE), longest - 1, true);
  return shortened(masked, longest);
}

function plain(text: string): string {
  return text
    .toWellFormed()
    .normalize("NFC")
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
}

/** What is between other quotes than `"`; an apostrophe inside a word opens and closes none. */
const OTHER_QUOTES = [
  "(?<![\\p{L}\\p{N}])['‘’]((?:[^'‘’]|(?<=[\\p{L}\\p{N}])['’](?=[\\p{L}\\p{N}])){1,200})['’](?![\\p{L}\\p{N}])",
  "[`“«]([^`”»]{1,200})[`”»]",
];
const ANY_QUOTES = new RegExp(['"((?:[^"\\\\]|\\\\.)*)(?:"|\\\\?$)', ...OTHER_QUOTES].join("|"), "gsu");

function maskQuoted(whole: string, groups: readonly unknown[], isShown: (quoted: string) => boolean): string {
  const inner = String(groups.slice(0, 3).find((group) => typeof group === "string") ?? "");
  return isHarmless(inner) || isShown(inner) ? whole : `"${MASK}"`;
}

const MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?";
/** Days as figures in any order, with or without separators, and with the month's English name. */
const DATES = new RegExp(
  [
    "\\b\\d{4}[-/.]\\d{1,2}[-/.]\\d{1,2}(?:[T ]\\d{1,2}:\\d{2}[\\d:.]*(?:Z|[+-]\\d{2}:?\\d{2})?)?",
    "\\b\\d{1,2}[./-]\\d{1,2}[./-]\\d{2,4}\\b",
    "\\b(?:18|19|20)\\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\\d|3[01])\\b",
    `\\b\\d{1,2}(?:st|nd|rd|th)?[ -]${MONTH}[ -]\\d{2,4}\\b`,
    `\\b${MONTH} \\d{1,2}(?:st|nd|rd|th)?,? \\d{4}\\b`,
  ].join("|"),
  "giu",
);

function shortened(text: string, longest: number, isCut = false): string {
  if (text.length <= longest) return isCut ? `${text}…` : text;
  // Never through the middle of a character of two units.
  return `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Finds each spelling of each value; longer ones first, since one may be part of another. */
function findersOf(sensitive: readonly Phi[], finder: (text: string) => RegExp): RegExp[] {
  const texts = new Set(sensitive.flatMap((value) => spellings(value.reveal())));
  return [...texts].sort((a, b) => b.length - a.length).map(finder);
}

function anywhere(text: string): RegExp {
  return text.length < 4 ? wholeWord(text) : new RegExp(literal(text), "giu");
}

/** The ways in which one value may come back: as it is, encoded for a URL, JSON or HTML, a date without its dashes. */
function spellings(value: string): string[] {
  const trimmed = plain(value);
  if (trimmed === "") return [];
  const encoded = encodeURIComponent(trimmed);
  return [
    ...new Set([
      trimmed,
      encoded,
      encoded.replaceAll("%20", "+"),
      JSON.stringify(trimmed).slice(1, -1),
      asciiJson(trimmed),
      trimmed.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
      ...(/^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? [trimmed.replaceAll("-", "")] : []),
    ]),
  ];
}

function literal(value: string): string {
  return value.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replace(/\s+/g, "\\s+");
}

/** Finds a value as a word of its own, in any case; a one-letter name doesn't mask each of its letters elsewhere. */
function wholeWord(value: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])${literal(value)}(?![\\p{L}\\p{N}])`, "giu");
}

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

/** Words joined by `_`, `.` or `-`, or all in capitals: `VALIDATION_ERROR`, `invalid_client`, `CONFLICT`. */
export function isErrorCode(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9]*([_.-][A-Za-z0-9]+)+$|^[A-Z]{3,}$/.test(text);
}
