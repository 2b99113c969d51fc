import type { Clock } from "../core/clock.ts";
import { asFailure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";

interface LoopDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Repeats something after a pause until the returned function is called, which waits for what is under way. A failure is
 * logged as the trouble that it is, and what failed is tried again after the pause.
 *
 * @param work gives whether there may be more to do at once
 */
export function startLoop(
  { clock, logger }: LoopDeps,
  everyMs: number | (() => number),
  trouble: string,
  work: (signal: AbortSignal) => Promise<boolean>,
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const loop = async () => {
    while (!signal.aborted) {
      try {
        if (await work(signal)) continue;
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: asFailure(error) }, `${trouble}; it is tried again`);
      }
      await clock.sleep(typeof everyMs === "number" ? everyMs : everyMs(), signal).catch(() => undefined);
    }
  };
  const running = loop();
  return async () => {
    stopping.abort();
    await running;
  };
}
