import { z } from "zod";
import { isPlainCode } from "./code-words.ts";
import { NO_WORDS, type ServiceWords, upperWord } from "./words.ts";

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

/** An optional part: missing, null or of another form all mean "not told". */
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
export function keepableText(text: string): string {
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

/** Stands for a status or type that is no word but a text: nobody can tell what it says of whom. */
export const NO_WORD = "(not a word)";

/** A word that nobody knows, in upper case, where it looks like one: it is kept and shown to anybody. */
function plainWord(text: string): string {
  const trimmed = text.trim();
  const isWord = trimmed.length <= 40 && /^[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+){0,4}$/.test(trimmed);
  return isWord || isPlainCode(upperWord(trimmed)) ? upperWord(trimmed) : NO_WORD;
}

const KNOWN_STATUSES: ReadonlySet<string> = new Set([
  "PENDING",
  "ACCEPTED",
  "REJECTED",
  "CANCELLED",
  "CREATED",
  "IN_PROGRESS",
  "COMPLETED",
  "FAILED",
]);

const KNOWN_TYPES: ReadonlySet<string> = new Set([
  "STORE",
  "RETRIEVAL",
  "TRANSFER",
  "REFILL",
  "REGISTER_STORAGE",
]);

/**
 * Whether a normalised type says that something is of another kind than ours. A word that the specification doesn't
 * know says nothing: to take it for another kind would be to pass over what is ours.
 */
export function isOtherType(told: string | undefined, ours: string): boolean {
  return told !== undefined && told !== ours && KNOWN_TYPES.has(told);
}
