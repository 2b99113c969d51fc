/** How often a condition is looked at, ms. */
const LOOK_EVERY_MS = 10;
/** A bound against hanging, not for speed: what takes a moment takes many where other programs keep the processors busy. */
const WITHIN_MS = 60_000;

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
    if (performance.now() - startedAt > withinMs) {
      throw new Error(`${what} did not hold within ${withinMs} ms`, { cause: lastError });
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
