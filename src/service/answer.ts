import type { IncomingHttpHeaders } from "node:http";

/** An answer that came whole, with its body understood as far as it can be. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * `json`: an object or array. `html`: a page, so most likely a gateway and not the service. `empty`: no body.
   * `other`: anything else, such as plain text, cut JSON, or bytes that are no UTF-8.
   */
  readonly shape: "json" | "html" | "empty" | "other";
  /** The parsed body of a `json` answer. */
  readonly json?: unknown;
  /** The text of an `other` or `html` answer when it is readable. May quote patients' values. */
  readonly text?: string | undefined;
}

/** Reads status, headers and body bytes into an {@link Answer}. Never throws. */
export function parseAnswer(status: number, headers: IncomingHttpHeaders, body: Buffer): Answer {
  if (body.length === 0) return { status, headers, shape: "empty" };
  const encoding = headers["content-encoding"]?.trim().toLowerCase();
  // We ask for `identity`, so that a small answer can't unpack into a huge one; another encoding stays unread.
  if (encoding && encoding !== "identity") return { status, headers, shape: "other" };
  const text = decode(body);
  if (text === undefined) return { status, headers, shape: "other" };
  const json = parseJson(text);
  if (typeof json === "object" && json !== null) return { status, headers, shape: "json", json };
  const isHtml = /^\s*<(?!\?xml)/.test(text) || headers["content-type"]?.includes("text/html") === true;
  if (isHtml) return { status, headers, shape: "html", text };
  if (text.trim() === "") return { status, headers, shape: "empty" };
  return { status, headers, shape: "other", text: typeof json === "string" ? json : text };
}

/** Strict: a replacement character must never get into an identifier. */
function decode(body: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

function parseJson(text: string): unknown {
  try {
    // A `__proto__` key would become the prototype of whatever copies the object later.
    if (/__proto__|\\u00/i.test(text)) {
      return JSON.parse(text, (key, value: unknown) => (key === "__proto__" ? undefined : value));
    }
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const SHORTEST_MS = 1_000;
/** Longer than this nobody has to wait, whatever the service asks for. */
export const LONGEST_RETRY_MS = 3_600_000;

/**
 * How long the service asks to be left alone, ms, from `Retry-After` (RFC 9110, 10.2.3): seconds, or a date which
 * is measured against the answer's own `Date`, since the two clocks may differ. Held within 1 s and 1 h, so that
 * neither a negative nor an absurd value does harm. Undefined without the header or when it can't be read.
 */
export function parseRetryAfter(headers: IncomingHttpHeaders, nowMs: number): number | undefined {
  const text = headers["retry-after"]?.trim();
  if (!text) return undefined;
  const seconds = /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
  const until = Date.parse(text);
  if (seconds === undefined && Number.isNaN(until)) return undefined;
  const waitMs = seconds !== undefined ? seconds * 1_000 : until - (serviceTime(headers) ?? nowMs);
  return Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_MS, waitMs));
}

/** The service's clock as its `Date` header tells it, ms since the epoch. */
export function serviceTime(headers: IncomingHttpHeaders): number | undefined {
  const at = Date.parse(headers.date ?? "");
  return Number.isNaN(at) ? undefined : at;
}
