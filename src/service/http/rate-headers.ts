import type { IncomingHttpHeaders } from "node:http";

/** One window in which the service counts calls, as far as its headers describe it. */
export interface StatedWindow {
  /** Calls that a window has room for. */
  readonly calls?: number | undefined;
  readonly windowMs?: number | undefined;
  /** Calls that are left of it. */
  readonly left?: number | undefined;
  /** When it ends: a time from the answer on, or a moment in ms since the epoch. */
  readonly ends?: { readonly inMs: number } | { readonly atMs: number } | undefined;
}

/**
 * Reads what an answer says of the service's limit of calls: `RateLimit` and `RateLimit-Policy` of the IETF's draft in its forms so far, and
 * the headers in use before it, with and without `X-`. Never throws; what can't be a limit counts as not there.
 *
 * @param values what came under a name, each time that it came
 * @param readDates the dates in a text, ms since the epoch
 */
export function readRateHeaders(
  values: (name: string) => readonly string[],
  readDates: (text: string) => readonly number[],
): StatedWindow[] {
  const members = (name: string) => values(name).flatMap(readMembers);
  const policies = [...members("ratelimit-policy"), ...members("ratelimit-limit")].flatMap(readPolicy);
  const current = members("ratelimit").flatMap(readCurrent);
  const former = PREFIXES.flatMap((prefix) => readFormer(prefix, values, readDates));
  return [...policies, ...current, ...former].filter(isPossible).slice(0, MOST_WINDOWS);
}

/** Whether any header of an answer may be about a limit; most services have none. */
export function hasRateHeaders(raw: IncomingHttpHeaders): boolean {
  return Object.keys(raw).some((name) => /^(x-)?rate-?limit/i.test(name));
}

const PREFIXES = ["ratelimit", "x-ratelimit", "x-rate-limit"];
/** Gateways such as Kong have a header for each window. */
const UNITS = { second: 1_000, minute: 60_000, hour: 3_600_000 };
const MOST_WINDOWS = 16;
/** From here on a number is no time from now on, but a moment since the epoch: in seconds, then in ms. */
const EPOCH_S = 1e9;
const EPOCH_MS = 1e12;

interface Member {
  /** `"default"`, `100` or `limit=100`. */
  readonly item: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The members of a list as structured fields have it (RFC 9651): by comma, with parameters by semicolon, neither inside quotes. */
function readMembers(value: string): Member[] {
  return split(value, ",").map((text) => {
    const [item = "", ...rest] = split(text, ";");
    const pairs = rest.map((each) => {
      const [name = "", ...parts] = each.split("=");
      return [name.trim().toLowerCase(), parts.join("=").trim()] as const;
    });
    return { item, parameters: new Map(pairs) };
  });
}

function split(text: string, at: "," | ";"): string[] {
  const parts = text.match(at === "," ? /(?:[^",]|"[^"]*"?)+/g : /(?:[^";]|"[^"]*"?)+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** `"permin";q=50;w=60`, or as drafts had it before `50;w=60`. Another unit than requests is no matter of calls. */
function readPolicy({ item, parameters }: Member): StatedWindow[] {
  const unit = parameters.get("qu")?.replaceAll('"', "") ?? "requests";
  const calls = readNumber(parameters.get("q") ?? item);
  const seconds = readNumber(parameters.get("w"));
  if (unit !== "requests" || calls === undefined || seconds === undefined) return [];
  return [{ calls, windowMs: seconds * 1_000 }];
}

/** `"permin";r=49;t=30`; the form `limit=50, remaining=49, reset=30` is {@link readFormer}'s. */
function readCurrent({ parameters }: Member): StatedWindow[] {
  const left = readNumber(parameters.get("r"));
  const seconds = readNumber(parameters.get("t"));
  if (left === undefined || seconds === undefined) return [];
  return [{ left, ends: { inMs: seconds * 1_000 } }];
}

/** The three headers of a limit, what is left of it and when it is new; or all of it in one. */
function readFormer(
  prefix: string,
  values: (name: string) => readonly string[],
  readDates: (text: string) => readonly number[],
): StatedWindow[] {
  const inOne = prefix === "ratelimit" ? values(prefix).flatMap((value) => split(value, ",")) : [];
  const texts = (what: string) => [
    ...values(`${prefix}-${what}`),
    ...inOne.flatMap((each) => (each.startsWith(`${what}=`) ? [each.slice(what.length + 1)] : [])),
  ];
  const numbers = (what: string) =>
    texts(what)
      .flatMap((text) => text.split(","))
      .flatMap((text) => readNumber(text) ?? []);
  const least = (what: string) => (numbers(what).length === 0 ? undefined : Math.min(...numbers(what)));
  const resets = [...numbers("reset").map(readReset), ...texts("reset").flatMap(readDates).map(atMs)];
  const byUnit = Object.entries(UNITS).map(([unit, windowMs]) => ({
    ...{ calls: least(`limit-${unit}`), left: least(`remaining-${unit}`), windowMs },
  }));
  return [
    { calls: least("limit"), left: least("remaining"), ends: resets[0] },
    ...byUnit.filter(({ calls }) => calls !== undefined),
  ];
}

const atMs = (at: number) => ({ atMs: at });

function readReset(number: number): NonNullable<StatedWindow["ends"]> {
  if (number >= EPOCH_MS) return { atMs: number };
  return number >= EPOCH_S ? { atMs: number * 1_000 } : { inMs: number * 1_000 };
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d{1,15}(\.\d{1,9})?\s*$/.test(text) ? Number(text) : undefined;
}

/** A limit of none, or more left than there is at all, is a mistake: neither may stop all calls. */
function isPossible({ calls, windowMs, left, ends }: StatedWindow): boolean {
  if (calls !== undefined && (calls < 1 || (left !== undefined && left > calls))) return false;
  if (windowMs !== undefined && windowMs <= 0) return false;
  return calls !== undefined || (left !== undefined && ends !== undefined);
}
