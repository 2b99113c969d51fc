/** How long to wait after failures in a row: twice as long after each, up to a limit. */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** After failures of orders, looks, cancellations and results. */
export const BACKOFF: Backoff = { firstMs: 2_000, maxMs: 300_000 };

/**
 * The longest wait after a failure.
 *
 * @param attempt the attempt that just failed, from 1
 * @returns ms
 */
export function longestBackoffMs(attempt: number, { firstMs, maxMs }: Backoff): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 30));
}

/**
 * Exponential backoff with full jitter, for many that failed at the same moment: a random delay between zero and the longest.
 * With 2 s and 5 min: up to 2 s, 4 s, 8 s … 256 s, 300 s.
 *
 * @param attempt the attempt that just failed, from 1
 * @param atLeastMs what the other side asked for (`Retry-After`); jitter is added on top of it
 * @param random a number in [0, 1)
 * @returns ms
 */
export function backoffMs(attempt: number, backoff: Backoff, random: number, atLeastMs = 0): number {
  return Math.round(atLeastMs + random * longestBackoffMs(attempt, backoff));
}
