import { z } from "zod";
import { STATUSES, TYPES } from "../core/service-catalogue.ts";

/** An object as the service sent it, fields that the specification doesn't know included. */
export type RawObject = Readonly<Record<string, unknown>>;

/** Whether a parsed JSON value is an object. */
export function isObject(value: unknown): value is RawObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An integer id; digits in a string are taken too. Larger than 2^53 is refused, since JSON numbers lose them. */
export const idValue = z.union([
  z.int().nonnegative(),
  z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .pipe(z.int()),
]);

/** An optional part: missing, null or of another form all mean "not shown". */
export function optional<T extends z.ZodType>(shape: T) {
  return shape.nullish().catch(undefined);
}

/** Text that the ledger can keep; a number is taken as its digits. See {@link keepableText}. */
export const textValue = z.union([z.string().transform(keepableText), z.number().transform(String)]);

/** C0 control characters that mean nothing in a text; tab and line ends do. */
const SENSELESS = /[^\P{Cc}\t\n\r\x7f-\x9f]/gu;

/**
 * A text as JSON may hold it, made fit for a database, which takes neither NUL nor half a surrogate pair. Such
 * characters become U+FFFD and are not dropped: a damaged code, label or status must never turn into another one.
 */
function keepableText(text: string): string {
  return text.toWellFormed().replace(SENSELESS, "\ufffd");
}

/** The id under `id`, or undefined when there is none. */
export function idOf(object: RawObject): number | undefined {
  const id = idValue.safeParse(object.id);
  return id.success ? id.data : undefined;
}

/** An id under `key` (`facilityId`), or the id of the object nested under `nested` (`facility: { id }`). */
export function linkedId(object: RawObject, key: string, nested: string): number | undefined {
  const inner = object[nested];
  for (const value of [object[key], isObject(inner) ? inner.id : undefined]) {
    const id = idValue.safeParse(value);
    if (id.success) return id.data;
  }
  return undefined;
}

/** The code of the subject an entry names, as `subjectCode` or `subject.code`; undefined when it names none. */
export function subjectCodeOf(object: RawObject): string | undefined {
  const inner = object.subject;
  for (const value of [object.subjectCode, isObject(inner) ? inner.code : undefined]) {
    const code = textValue.safeParse(value);
    if (code.success) return code.data;
  }
  return undefined;
}

/**
 * `STORE`, `RETRIEVAL`, `REFILL` … from any spelling: the specification shows `STORE` and, for the same thing on
 * another surface, the lower-case `storage`. A site's own words come first; unknown ones come back in upper case.
 */
export function normalizeType(text: string, words: ServiceWords = NO_WORDS): string {
  const word = upperWord(text);
  const ours = words.type.get(word);
  if (ours !== undefined) return ours;
  if (word === "STORAGE") return "STORE";
  if (word === "RETRIEVE") return "RETRIEVAL";
  return KNOWN_TYPES.has(word) ? word : plainWord(text);
}

/**
 * `IN_PROGRESS` from `in progress` or `In-Progress`; `CANCELLED` with one L too. A site's own words come first;
 * unknown ones come back in upper case.
 */
export function normalizeStatus(text: string, words: ServiceWords = NO_WORDS): string {
  const word = upperWord(text);
  const known = words.status.get(word) ?? (word === "CANCELED" ? "CANCELLED" : word);
  return words.status.has(word) || KNOWN_STATUSES.has(known) ? known : plainWord(text);
}

/** Stands for a status or type that is no word but a text: nobody knows what it says of whom. */
const NO_WORD = "(not a word)";

/** A word that nobody knows, in upper case, where it looks like one: it is kept and shown to anybody. */
function plainWord(text: string): string {
  const trimmed = text.trim();
  const isWord = trimmed.length <= 40 && /^[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+){0,4}$/.test(trimmed);
  return isWord || isPlainCode(upperWord(trimmed)) ? upperWord(trimmed) : NO_WORD;
}

const KNOWN_STATUSES: ReadonlySet<string> = new Set(STATUSES);

const KNOWN_TYPES: ReadonlySet<string> = new Set(TYPES);

/**
 * Whether a normalised type says that something is of another kind than ours. A word that the specification doesn't
 * know says nothing: to take it for another kind would be to pass over what is ours.
 */
export function isOtherType(shown: string | undefined, ours: string): boolean {
  return shown !== undefined && shown !== ours && KNOWN_TYPES.has(shown);
}

const ODD = "(odd name)";

/**
 * A name of a field, or a word in capitals, as it may be written anywhere: names of people begin with one capital letter,
 * and anything else that doesn't look like a name of a field could be somebody's, too.
 */
export function plainName(text: string): string {
  const isPlain =
    /^(?:[a-z_][A-Za-z0-9_.-]{0,39}|[A-Z][A-Z0-9_]{1,39}|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]{0,30})$/.test(text);
  return isPlain ? text : ODD;
}

/**
 * A site's own words for statuses and types, each with the specification's word for it: `{ DONE: "COMPLETED" }`.
 * Keys are compared as {@link upperWord} writes them.
 */
export interface ServiceWords {
  readonly status: ReadonlyMap<string, string>;
  readonly type: ReadonlyMap<string, string>;
}

/** No words of the site's own. */
export const NO_WORDS: ServiceWords = { status: new Map(), type: new Map() };

/** What a configuration may say about words. */
export interface GivenWords {
  readonly status?: Readonly<Record<string, string>> | undefined;
  readonly type?: Readonly<Record<string, string>> | undefined;
}

/** The words of a configuration, in the spelling in which they are looked up. */
export function toServiceWords(given: GivenWords | undefined): ServiceWords {
  return { status: spelled(given?.status), type: spelled(given?.type) };
}

function spelled(words: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> {
  return new Map(Object.entries(words ?? {}).map(([theirs, ours]) => [upperWord(theirs), upperWord(ours)]));
}

/** The service's words for a status of the specification: the site's own, else the word itself. */
export function theirStatusWords(status: string, words: ServiceWords): readonly string[] {
  const theirs = [...words.status].flatMap(([word, ours]) => (ours === status ? [word] : []));
  return theirs.length === 0 ? [status] : theirs;
}

/** A word in upper case with underscores between its parts: `IN_PROGRESS` from `in progress` or `In-Progress`. */
function upperWord(text: string): string {
  return text
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, "_");
}

/** Words that error codes and statuses are made of; none of them is anybody's name. */
const WORDS = new Set(
  (
    "a above accepted access account active again already amount and api argument arguments assigned auth " +
    "authentication authorization available bad be belongs below body bounds box busy by cancel canceled cancelled cane " +
    "canister cannot capacity changed check client closed code completed conflict constraint contact container " +
    "containers content count create created credentials data database date db deleted denied dependency deprecated " +
    "device devices different disabled does duplicate empty endpoint entity err error errors exceeded exception exist " +
    "exists expired facility fail failed failure fault field fields filter for forbidden format found full gateway gone " +
    "grant group has header http id identifier in inactive input insufficient integrity internal invalid is item json " +
    "key label labels large length limit limited list location lock locked long lookup maintenance malformed many max " +
    "maximum media medium method min minimum mismatch missing name network no not null object occupied of offline on " +
    "only open operation or order organization out overflow page parameter parameters parse password patient payload " +
    "pending per perform permission precondition presence present problem procedure procedures processing quota range " +
    "rate rejected request requests required reserved resource response retired retrieval retry rfid role rule sample " +
    "samples scope schema server service session short slot small space stale state status storage store stored subject " +
    "subjects support supported syntax system tag tank target temporarily temporary throttled time timeout to token " +
    "too transition type unable unauthenticated unauthorized unavailable unique unknown unprocessable unreachable " +
    "aborted approved awaiting done executing finished hold paused progress queued review running scheduled started such " +
    "waiting unsupported update upstream url user validation value values version violated violation wrong"
  ).split(" "),
);

/**
 * Whether a code that the service gives can be shown to anybody: all its words are those of errors, as in
 * `VALIDATION_ERROR` or `tank-full`, with a status among them. Any other may be somebody's name or number.
 */
export function isPlainCode(code: string): boolean {
  const parts = code
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .split(/[_.:/-]/)
    .filter((part) => part !== "");
  const words = parts.filter((part) => !/^[1-5]\d\d$/.test(part));
  return code.length <= 80 && words.length > 0 && words.every((word) => WORDS.has(word.toLowerCase()));
}
