import type { IncomingHttpHeaders } from "node:http";
import { findByteOrderMark } from "../../core/byte-order-mark.ts";
import { isObject, plainName, type RawObject } from "../values.ts";
import { hasRateHeaders, readRateHeaders, type StatedWindow } from "./rate-headers.ts";

/** An answer that came whole, with its body understood as far as it can be. */
export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /**
   * `json`: an object or array. `html`: a page, so most likely a gateway and not the service. `empty`: no body.
   * `other`: anything else, such as plain text, cut JSON, or bytes that can't be read.
   */
  readonly shape: "json" | "html" | "empty" | "other";
  /** The parsed body of a `json` answer. */
  readonly json?: unknown;
  /** The text of an `other` or `html` answer when it is readable. May quote patients' values. */
  readonly text?: string | undefined;
  /** Why the bytes are no text, in words for an operator; only with `other`. */
  readonly unread?: string | undefined;
}

/** Reads status, headers and body bytes into an {@link Answer}. Never throws. */
export function parseAnswer(status: number, headers: AnswerHeaders, body: Buffer): Answer {
  if (body.length === 0) return { status, headers, shape: "empty" };
  const text = decode(body, headers.charset);
  if (text === undefined) return { status, headers, shape: "other", unread: describeBytes(headers) };
  const json = parseJson(text);
  if (typeof json === "object" && json !== null) return { status, headers, shape: "json", json };
  const isHtml = /^\s*<(?!\?xml)/.test(text) || headers.mediaType === "text/html";
  if (isHtml) return { status, headers, shape: "html", text };
  if (text.trim() === "") return { status, headers, shape: "empty" };
  return { status, headers, shape: "other", text: typeof json === "string" ? json : text };
}

/**
 * JSON is UTF-8 (RFC 8259, 8.1), also where a header that nobody looks after says otherwise: text of another charset with any letter
 * beyond ASCII is hardly ever valid UTF-8. Only what is none is read in the charset that is said. Strict: a replacement
 * character must never get into an identifier.
 */
function decode(body: Buffer, charset = "utf-8"): string | undefined {
  // A byte order mark says what follows, whatever else is said.
  const marked = findByteOrderMark(body)?.encoding;
  const order =
    marked !== undefined ? [marked] : charset.startsWith("utf-16") ? [charset, "utf-8"] : ["utf-8", charset];
  for (const label of order) {
    try {
      return new TextDecoder(label, { fatal: true }).decode(body);
    } catch {
      // The other one may fit; a label that nobody knows fits nothing.
    }
  }
  return undefined;
}

function describeBytes({ charset, codings = [] }: AnswerHeaders): string {
  const packed = codings.length === 0 ? "" : `packed as ${codings.map(plainName).join(", ")}, and `;
  return charset === undefined || charset === "utf-8"
    ? `${packed}not in UTF-8`
    : `${packed}neither in UTF-8 nor in ${plainName(charset)}, which it names`;
}

function parseJson(text: string): unknown {
  try {
    return NEEDS_CARE.test(text) ? JSON.parse(text, withCare) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const NEEDS_CARE = /__proto__|\\u00|\d{16}/i;

/**
 * A `__proto__` key would become the prototype of whatever copies the object later. A whole number above 2^53 becomes the text of its
 * digits, since it would be rounded: a label that came as a number is the lab's own, to the digit.
 */
function withCare(key: string, value: unknown, { source = "" }: { readonly source?: string } = {}): unknown {
  if (key === "__proto__") return undefined;
  const isRounded = typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
  return isRounded ? source : value;
}

const SHORTEST_MS = 1_000;
/** Longer than this nobody has to wait, whatever the service asks for. */
export const LONGEST_RETRY_MS = 3_600_000;

/**
 * How long the service asks to be left alone, ms, from `Retry-After` (RFC 9110, 10.2.3): seconds, or a date which
 * is measured against the answer's own `Date`, since the two clocks may differ. Of several the longest counts. Held within
 * 1 s and 1 h, so that neither a negative nor an absurd value does harm. Undefined without the header or when it can't be read.
 */
export function parseRetryAfter(
  { retryAfter = [], dateMs }: AnswerHeaders,
  nowMs: number,
): number | undefined {
  const waits = retryAfter.map((each) =>
    "seconds" in each ? each.seconds * 1_000 : each.atMs - (dateMs ?? nowMs),
  );
  if (waits.length === 0) return undefined;
  return Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_MS, ...waits));
}

/** Keys under which services are seen to put a list; the first that holds one wins. */
const LIST_KEYS = ["data", "items", "results", "content", "records", "entries", "rows", "list", "values"];
/** Further keys, which say what is in the list. */
const NAMED_KEYS = ["subjects", "procedureRequests", "procedures", "sampleContainers", "storage", "storages"];

/** A list taken out of its wrapping, and the wrapping it was found in (`array`, `data`, `result.rows`). */
export interface Unwrapped {
  readonly entries: readonly RawObject[];
  readonly envelope: string;
}

/** Keys under which services say how many entries a list has in all, beside it or in an object of paging data. */
const TOTAL_KEYS = ["total", "totalCount", "total_count", "totalItems", "totalElements"];
const PAGING_KEYS = ["meta", "pagination", "paging", "page", "data"];

/** How many entries a list has in all, as far as the answer that wraps it says so. */
export function totalOf(json: unknown): number | undefined {
  if (!isObject(json)) return undefined;
  const places = [json, ...PAGING_KEYS.map((key) => json[key])].filter(isObject);
  const said = places.flatMap((place) => TOTAL_KEYS.map((key) => place[key]));
  const totals = new Set(said.flatMap((each) => (isCount(each) ? [Number(each)] : [])));
  // Two that differ are about two things.
  return totals.size === 1 ? [...totals][0] : undefined;
}

function isCount(value: unknown): boolean {
  return typeof value === "string"
    ? /^\d{1,15}$/.test(value)
    : Number.isSafeInteger(value) && Number(value) >= 0;
}

/**
 * Takes the entries out of a list answer, whose wrapping on the request surface is "not shown". With `auto`: a bare
 * array; else a well-known key, also one level deeper; else the only array among the object's values. An explicit
 * null under a well-known key is an empty list. Undefined when no list is found, or one that comes with an error: what
 * it leaves out is not known.
 */
export function unwrapList(json: unknown, envelope: string): Unwrapped | undefined {
  if (isObject(json) && tellsError(json)) return undefined;
  if (envelope === "array") return listed(json, "array");
  if (envelope !== "auto") {
    const inner = envelope
      .split(".")
      .reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), json);
    return listed(inner, envelope);
  }
  if (Array.isArray(json)) return listed(json, "array");
  if (!isObject(json)) return undefined;
  const keys = [...LIST_KEYS, ...NAMED_KEYS];
  for (const key of keys) {
    const value = json[key];
    if (Array.isArray(value) || (value === null && key in json)) return listed(value, key);
    if (!isObject(value)) continue;
    const inner = keys.find((each) => Array.isArray(value[each]));
    if (inner !== undefined) return listed(value[inner], `${key}.${inner}`);
  }
  const arrays = Object.entries(json).filter(([, value]) => Array.isArray(value));
  const [only] = arrays;
  return arrays.length === 1 && only ? listed(only[1], plainName(only[0])) : undefined;
}

/** Which lists an answer has where the one that was asked for is not found, in words; their names hold no one's data. */
export function describeLists(json: unknown): string {
  const paths = listPaths(json, 2);
  const named = paths.map((path) => (path === "" ? "the answer itself" : `\`${path}\``)).join(", ");
  return paths.length === 0 ? "the answer has no list" : `the answer's lists are ${named}`;
}

/** Keys that look like names, joined by dots as `listEnvelope` has them. */
function listPaths(json: unknown, depth: number): string[] {
  if (Array.isArray(json)) return [""];
  if (!isObject(json) || depth < 0) return [];
  return Object.entries(json)
    .filter(([key]) => plainName(key) === key)
    .flatMap(([key, value]) => listPaths(value, depth - 1).map((path) => (path ? `${key}.${path}` : key)))
    .slice(0, 5);
}

/** Whether an answer that should be a list says that something went wrong; empty errors say that nothing did. */
function tellsError({ error, errors, success }: RawObject): boolean {
  const isReported = (value: unknown) =>
    Array.isArray(value)
      ? value.length > 0
      : isObject(value)
        ? Object.keys(value).length > 0
        : Boolean(value);
  return isReported(error) || isReported(errors) || success === false;
}

/**
 * Takes a single object out of a wrapping: under `data`, `item` or `result`, or as the only value of its wrapper.
 * An object with an `id` is its own.
 */
export function unwrapObject(json: unknown): RawObject | undefined {
  if (!isObject(json)) return undefined;
  if ("id" in json) return json;
  const values = Object.values(json);
  const inner = values.length === 1 ? values[0] : (json.data ?? json.item ?? json.result);
  return isObject(inner) ? inner : json;
}

function listed(value: unknown, envelope: string): Unwrapped | undefined {
  if (value === null) return { entries: [], envelope };
  if (!Array.isArray(value) || !value.every(isObject)) return undefined;
  return { entries: value, envelope };
}

/**
 * What anything reads of an answer's headers, read once where they come in. A gateway may add a header a second time, and undici
 * then gives a list; here each is one value, or a list where all its values count.
 */
export interface AnswerHeaders {
  /** `Content-Type` without its parameters, in lower case: `application/json`. */
  readonly mediaType?: string | undefined;
  /** The charset that `Content-Type` names, in lower case. */
  readonly charset?: string | undefined;
  /** The codings of `Content-Encoding` in the order in which they were applied; `identity` is left out. */
  readonly codings?: readonly string[];
  /** What each `Retry-After` asks for (RFC 9110, 10.2.3): seconds, or a moment in ms since the epoch. */
  readonly retryAfter?: readonly ({ readonly seconds: number } | { readonly atMs: number })[];
  /** The first `Date` that can be read: the service's clock, ms since the epoch. */
  readonly dateMs?: number | undefined;
  /** What they say of the service's limit of calls. */
  readonly windows?: readonly StatedWindow[];
}

/** Reads the headers of an answer. Never throws; what can't be read counts as not there. */
export function readHeaders(raw: IncomingHttpHeaders): AnswerHeaders {
  const values = (name: string): string[] =>
    [raw[name] ?? []]
      .flat()
      .map((value) => String(value).trim())
      .filter((value) => value !== "");
  const types = values("content-type");
  return {
    mediaType: types.map((type) => type.split(/[;,]/, 1)[0]?.trim().toLowerCase()).find(Boolean),
    charset: types.map((type) => CHARSET.exec(type)?.[1]?.toLowerCase()).find(Boolean),
    codings: codingsOf(values("content-encoding")),
    retryAfter: values("retry-after").flatMap(readRetryAfter),
    dateMs: values("date").flatMap(readDates)[0],
    windows: hasRateHeaders(raw) ? readRateHeaders(values, readDates) : [],
  };
}

const CHARSET = /;\s*charset\s*=\s*"?'?([\w.:+-]+)/i;

/** A header that came twice with the same value says the same again: nobody packs an answer twice. */
function codingsOf(values: readonly string[]): string[] {
  const codings = values.flatMap((value) => value.toLowerCase().split(",")).map((each) => each.trim());
  return [...new Set(codings)].filter((each) => each !== "" && each !== "identity");
}

/** A gateway may also join two of them with a comma: `120, 120`. */
function readRetryAfter(value: string): NonNullable<AnswerHeaders["retryAfter"]> {
  const parts = value.split(",").map((part) => part.trim());
  if (parts.every((part) => /^[+-]?\d+(\.\d+)?$/.test(part))) {
    return parts.map((part) => ({ seconds: Number(part) }));
  }
  return readDates(value).map((atMs) => ({ atMs }));
}

const TIME = String.raw`\d{2}:\d{2}:\d{2}`;
/** The three forms of RFC 9110, 5.6.7, of which the last names no zone and means UTC; and ISO 8601 with a zone. */
const DATES = new RegExp(
  [
    String.raw`\b[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} ${TIME} GMT`,
    String.raw`\b[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} ${TIME} GMT`,
    String.raw`\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d ${TIME} \d{4}\b`,
    String.raw`\b\d{4}-\d{2}-\d{2}T${TIME}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})`,
  ].join("|"),
  "g",
);

/** Nothing else is read as a date: `Date.parse` makes one of almost anything, in the machine's own zone. */
function readDates(value: string): number[] {
  return (value.match(DATES) ?? [])
    .map((date) => Date.parse(/^\w{3} /.test(date) ? `${date} GMT` : date))
    .filter((at) => !Number.isNaN(at));
}
