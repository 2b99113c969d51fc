import { type Backoff, longestBackoffMs } from "../../core/backoff.ts";
import { parseRetryAfter } from "./answer.ts";
import type { Seen, Verdict } from "./classify.ts";

/** Tries of one read, the first included. */
const MOST_TRIES = 5;
/** Pauses at their longest: 100, 200, 400 and 800 ms. */
const PAUSES: Backoff = { firstMs: 100, maxMs: 800 };

/**
 * Decides whether a read that failed is tried again at once, since a read has no effect: only after what passes by itself
 * (no connection, a reset, a cut answer, a 5xx, "too many requests"). The service's `Retry-After` is respected; one that asks
 * for a longer pause than `longestPauseMs` is asked again by the caller's own schedule.
 *
 * @param tries tries so far, from 1
 * @param random a number in [0, 1)
 * @returns the pause before the next try in ms; undefined when the failure is final
 */
export function readPauseMs(
  seen: Seen,
  verdict: Verdict,
  step: {
    readonly tries: number;
    readonly nowMs: number;
    readonly random: number;
    readonly longestPauseMs: number;
  },
): number | undefined {
  if (step.tries >= MOST_TRIES || !isPassing(seen, verdict)) return undefined;
  const askedMs = "answer" in seen ? parseRetryAfter(seen.answer.headers, step.nowMs) : undefined;
  if (askedMs !== undefined && askedMs > step.longestPauseMs) return undefined;
  const longestMs = longestBackoffMs(step.tries, PAUSES);
  return Math.ceil((askedMs ?? 0) + longestMs * (0.5 + step.random / 2));
}

function isPassing(seen: Seen, verdict: Verdict): boolean {
  if (verdict === "SERVICE_BUSY" || verdict === "SERVICE_UNREACHABLE") return true;
  if (verdict !== "SERVICE_UNAVAILABLE") return false;
  if ("broken" in seen) return seen.broken.why !== "too_large";
  const { status, shape } = seen.answer;
  // A redirect, or a form that we don't read, comes again.
  if (status >= 300 && status < 400) return false;
  return status >= 500 || status === 408 || shape === "html" || (status < 300 && shape !== "empty");
}
