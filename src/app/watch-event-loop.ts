import type { Clock } from "../core/clock.ts";
import { EVERY_MS } from "../core/every.ts";
import type { Logger } from "../core/logger.ts";

/** A loop that stands for longer is reported, ms: everything else has waited for as long. */
const LONG_MS = 1_000;
/** How long it is reported afterwards, ms: who asks can't be answered while it stands. */
const REPORTED_FOR_MS = 60_000;

/** Watches whether the event loop goes round. */
interface EventLoopWatch {
  /** That it stood lately, for people; empty when it didn't. */
  troubles(): string[];
  stop(): void;
}

/**
 * Begins to watch the event loop: where something keeps it for more than a second, no message is answered, no health asked
 * and no lease renewed meanwhile. One line of the log says so, and for a minute the readiness.
 */
export function watchEventLoop(clock: Clock, logger: Logger): EventLoopWatch {
  let lookedAt = clock.monotonic();
  let stood: { readonly ms: number; readonly until: number } | undefined;
  const timer = setInterval(() => {
    const now = clock.monotonic();
    const ms = now - lookedAt - EVERY_MS.eventLoop;
    lookedAt = now;
    if (ms <= LONG_MS) return;
    stood = { ms, until: now };
    logger.warn({ ms: Math.round(ms) }, "the event loop stood still: nothing else was done meanwhile");
  }, EVERY_MS.eventLoop);
  timer.unref();
  return {
    troubles: () =>
      stood === undefined || clock.monotonic() - stood.until > REPORTED_FOR_MS
        ? []
        : [
            `the event loop stood still for ${(stood.ms / 1_000).toFixed(1)} s within the last minute: nothing was answered meanwhile; the log says when`,
          ],
    stop: () => clearInterval(timer),
  };
}
