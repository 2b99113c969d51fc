import type { CallPurpose, QuotaSource } from "../core/service-quota.ts";
import type { Column, Viewer } from "./column.ts";
import { counted, countsInWords } from "./text.ts";
import { relativeTime, roundToUnit, timeWithAge } from "./times.ts";

/** What calls are for; the token endpoint is asked for all of them. */
export type CountedPurpose = CallPurpose | "tokens";

/** Orders that wait to be sent. */
export interface BacklogView {
  readonly orders: number;
  /** How many calls an order takes from here to its end, as measured. */
  readonly callsPerOrder: number;
  /** How many calls they and those at the service still need. */
  readonly calls: number;
  /** How long that takes. */
  readonly seconds: number;
}

/** The storage service, as a daemon that calls it sees it. Times are ISO 8601. */
export interface ServiceView {
  /** Whether it answered the last call; null before the first. */
  readonly isReachable: boolean | null;
  /** When it answered last; null before the first answer. */
  readonly answeredAt: string | null;
  readonly breaker: "closed" | "open" | "half-open";
  /** Why it is not called; null while it is. */
  readonly opening: { readonly since: string; readonly text: string; readonly nextTryAt: string } | null;
  /** It is called with an API token, which has no end. */
  readonly hasApiToken: boolean;
  /** When the current token ends; null before the first, and for an API token. */
  readonly tokenEndsAt: string | null;
  /** The most calls that the configuration allows. */
  readonly maxRequestsPerSecond: number;
  /** Null where none is set. */
  readonly maxRequestsPerMinute: number | null;
  readonly callsAtOnce: number;
  /** Requests for tokens are among them. */
  readonly callsLastMinute: number;
  /** Those of them that were refused with a 429. */
  readonly refusedLastMinute: number;
  /** The calls of the last minute by what they were for. */
  readonly callsByPurpose: Readonly<Record<CountedPurpose, number>>;
  /** The quota in force, for all daemons together: so many calls in so many seconds, and where it comes from. */
  readonly limit: { readonly calls: number; readonly seconds: number; readonly source: QuotaSource };
  /** Null where no order waits to be sent, or while the ledger is out of reach. */
  readonly backlog: BacklogView | null;
  /** Since the daemon's start, likewise. */
  readonly calls: number;
  readonly refused: number;
  readonly callsByPurposeInAll: Readonly<Record<CountedPurpose, number>>;
}

/** With orders under way it is called more often; after that an answer says nothing of now, ms. */
const FRESH_MS = 15 * 60_000;

/** Whether the last answer still says that the service answers. */
export function isFresh(answeredAt: string | null, nowMs: number): boolean {
  return answeredAt !== null && nowMs - Date.parse(answeredAt) <= FRESH_MS;
}

/** Whether the service can be reached, as far as its last answer says. */
function reachableInWords({ isReachable, answeredAt }: ServiceView, { clock }: Viewer): string {
  if (isReachable === null) return "no call yet";
  if (!isReachable) return "✗ no";
  // A daemon of an earlier release does not say when.
  if (!answeredAt || isFresh(answeredAt, clock.now())) return "✓ yes";
  return `answered ${relativeTime(new Date(answeredAt), clock.now())}, not called since`;
}

const PAINT_BY_BREAKER = { closed: "green", "half-open": "yellow", open: "red" } as const;

/** What the circuit breaker lets through. */
function callsOf({ breaker, opening }: ServiceView, { clock }: Viewer): string {
  if (breaker === "closed") return "✓ go out";
  if (breaker === "half-open") return "↻ one tries";
  return opening
    ? `✗ paused; one tries ${relativeTime(new Date(opening.nextTryAt), clock.now())}`
    : "✗ paused";
}

/** The storage service. */
export const SERVICE_COLUMNS: readonly Column<ServiceView>[] = [
  {
    title: "reachable",
    show: reachableInWords,
    paint: (view) => (view.isReachable === false ? "red" : undefined),
  },
  {
    title: "calls",
    show: callsOf,
    paint: ({ breaker }) => PAINT_BY_BREAKER[breaker],
  },
  {
    title: "since",
    show: ({ opening }, { clock }) => opening && timeWithAge(new Date(opening.since), clock.now()),
  },
  { title: "why", show: ({ opening }) => opening?.text },
  {
    title: "token",
    show: ({ hasApiToken, tokenEndsAt }, { clock }) =>
      hasApiToken
        ? "an API token, which has no end"
        : tokenEndsAt === null
          ? "none yet"
          : describeEnd(new Date(tokenEndsAt), clock.now()),
  },
  {
    title: "last minute",
    show: callsInWords,
    paint: ({ refusedLastMinute }) => (refusedLastMinute > 0 ? "yellow" : undefined),
  },
  { title: "limit", show: (view) => `${limitInWords(view)}; ${view.callsAtOnce} at once` },
  { title: "backlog", show: backlogInWords },
  {
    title: "called",
    show: ({ calls, refused }) =>
      `${counted(calls, "time")} since the start${refused > 0 ? `, ${refused} refused` : ""}`,
  },
];

/** `58 calls, 2 refused: 31 submitting, 27 locating`. */
export function callsInWords({
  callsLastMinute,
  refusedLastMinute,
  callsByPurpose,
}: Pick<ServiceView, "callsLastMinute" | "refusedLastMinute" | "callsByPurpose">): string {
  const refused = refusedLastMinute > 0 ? `, ${refusedLastMinute} refused` : "";
  const { tokens, other, ...named } = callsByPurpose;
  const purposes = countsInWords({ ...named, "for tokens": tokens, other }, "");
  return `${counted(callsLastMinute, "call")}${refused}${purposes && `: ${purposes}`}`;
}

const SOURCES: Readonly<Record<QuotaSource, string>> = {
  set: "as set",
  header: "by the service's headers",
  learned: "learned from refused calls",
};

/** `at most 60 calls a minute, by the service's headers`. */
export function limitInWords({ limit: { calls, seconds, source } }: Pick<ServiceView, "limit">): string {
  return `at most ${counted(calls, "call")} ${perWindow(seconds * 1_000)}, ${SOURCES[source]}`;
}

/** `a minute`, `in 10s`. */
export function perWindow(windowMs: number): string {
  return (
    { 1000: "a second", 60000: "a minute", 3600000: "an hour" }[windowMs] ?? `in ${roundToUnit(windowMs)}`
  );
}

/**
 * `430 orders wait to be sent; with those at the service they need about 2150 calls, which takes 36m`; while no call leaves nobody knows how
 * long. Undefined where no order waits.
 */
export function backlogInWords({
  backlog,
  opening,
}: Pick<ServiceView, "backlog" | "opening">): string | undefined {
  if (backlog === null) return undefined;
  const { orders, calls, seconds } = backlog;
  const takes = opening
    ? "once the service takes calls again"
    : `which takes ${roundToUnit(seconds * 1_000)}`;
  const [wait, they] = orders === 1 ? ["waits", "it needs"] : ["wait", "they need"];
  return `${counted(orders, "order")} ${wait} to be sent; with those at the service ${they} about ${counted(calls, "call")}, ${takes}`;
}

/** A token is renewed by the next call, not before. */
function describeEnd(endsAt: Date, nowMs: number): string {
  const words = relativeTime(endsAt, nowMs);
  return endsAt.getTime() > nowMs ? `ends ${words}` : `ended ${words}; the next call takes a new one`;
}
