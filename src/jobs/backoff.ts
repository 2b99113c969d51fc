export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** After failures, of orders, looks, cancellations and results alike. */
export const BACKOFF: Backoff = { firstMs: 2_000, maxMs: 300_000 };

/**
 * Exponential backoff with full jitter: a random delay between zero and `firstMs * 2^(attempt-1)`, capped at `maxMs`.
 * With 2 s and 5 min: up to 2 s, 4 s, 8 s … 256 s, 300 s.
 *
 * @param attempt the attempt that just failed, from 1
 * @param atLeastMs what the other side asked for (`Retry-After`); jitter is added on top of it
 * @param random a number in [0, 1)
 */
export function backoffMs(attempt: number, backoff: Backoff, random: number, atLeastMs = 0): number {
  const ceilingMs = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(atLeastMs + random * ceilingMs);
}
