import { systemClock } from "../../src/core/clock.ts";

const LOOK_EVERY_MS = 500;

/** Waits for a condition, looking rarely, since each look takes from what is measured. Fails after `withinMs`. */
export async function waitUntil(
  condition: () => Promise<boolean>,
  withinMs: number,
  everyMs = LOOK_EVERY_MS,
): Promise<void> {
  const startedAt = performance.now();
  while (!(await condition())) {
    if (performance.now() - startedAt > withinMs) throw new Error(`nothing was done within ${withinMs} ms`);
    await systemClock.sleep(everyMs);
  }
}
