import type { Column, Viewer } from "./column.ts";
import { counted } from "./text.ts";
import { relativeTime, timeWithAge } from "./times.ts";

/** The storage service, as a daemon that calls it sees it. Times are ISO 8601. */
export interface ServiceView {
  /** Whether it answered the last call; null before the first. */
  readonly isReachable: boolean | null;
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
  readonly callsLastMinute: number;
  /** Since the daemon's start. */
  readonly calls: number;
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
    show: ({ isReachable }) => (isReachable === null ? "no call yet" : isReachable ? "✓ yes" : "✗ no"),
    paint: ({ isReachable }) => (isReachable === null ? "dim" : isReachable ? "green" : "red"),
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
    title: "rate",
    show: ({ callsLastMinute, maxRequestsPerSecond, maxRequestsPerMinute, callsAtOnce }) => {
      const inMinute = maxRequestsPerMinute === null ? "" : `${maxRequestsPerMinute} a minute, `;
      return `${counted(callsLastMinute, "call")} in the last minute; at most ${inMinute}${maxRequestsPerSecond} a second, ${callsAtOnce} at once`;
    },
  },
  { title: "called", show: ({ calls }) => `${counted(calls, "time")} since the start` },
];

/** A token is renewed by the next call, not before. */
function describeEnd(endsAt: Date, nowMs: number): string {
  const words = relativeTime(endsAt, nowMs);
  return endsAt.getTime() > nowMs ? `ends ${words}` : `ended ${words}; the next call takes a new one`;
}
