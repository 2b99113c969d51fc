/**
 * The pause between two looks grows with the wait, ms: what takes long is noticed a tenth later, and looks, which may be
 * queries, don't keep what they wait for from the processors.
 */
const LEAST_PAUSE_MS = 10;
const MOST_PAUSE_MS = 100;
const PAUSE_SHARE = 0.1;
/** A bound against hanging, not for speed: what takes a moment takes many where other programs keep the processors busy. */
const WITHIN_MS = 240_000;

/**
 * Waits until a condition holds and returns its value: `await eventually(() => findOrder(id))`. The condition holds
 * when it gives anything but undefined, false or null; one that throws doesn't hold yet.
 * What runs on may be different by the time of another look: a test that says more of it says so of the value.
 * Fails after `withinMs` with the last error, or with what was waited for.
 */
export async function eventually<T>(
  condition: () => T | undefined | false | null | Promise<T | undefined | false | null>,
  {
    withinMs = WITHIN_MS,
    what = "the condition",
  }: { readonly withinMs?: number; readonly what?: string } = {},
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    let lastError: unknown;
    try {
      const value = await condition();
      if (value !== undefined && value !== false && value !== null) return value;
    } catch (error) {
      lastError = error;
    }
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > withinMs) {
      throw new Error(`${what} did not hold within ${withinMs} ms`, { cause: lastError });
    }
    const pauseMs = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, waitedMs * PAUSE_SHARE));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
