/** How often an order is asked about; all in ms. */
export interface Polling {
  /** After its submission and after each news. The specification suggests about 60 s (Events 2). */
  readonly firstMs: number;
  readonly maxMs: number;
  /** What each poll without news lengthens the interval by. */
  readonly factor: number;
}

/**
 * The next interval of an order. With 60 s, 1.5 and 15 min and no news: 60 s, 90 s, 135 s, 203 s, 304 s, 456 s, 683 s,
 * 900 s. No jitter: orders that are due together share the pages they are read from.
 */
export function nextPollMs(previousMs: number | undefined, hasNews: boolean, polling: Polling): number {
  if (hasNews || previousMs === undefined) return polling.firstMs;
  return Math.min(polling.maxMs, Math.max(polling.firstMs, previousMs * polling.factor));
}

/** How long a facility is left alone between two polls, so that orders gather and are read together. */
export function pollPauseMs(polling: Polling): number {
  return polling.firstMs / 4;
}
