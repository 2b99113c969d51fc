import type { IncomingHttpHeaders } from "node:http";

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
