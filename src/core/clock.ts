/** Time, passed in so that tests can hold it still. */
export interface Clock {
  /** Wall time, ms since the epoch. May jump; never used to measure a duration. */
  now(): number;
  /** Monotonic time, ms. For durations, leases and stability. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** setTimeout overflows at 2^31 ms and would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    let leftMs = ms;
    do {
      signal?.throwIfAborted();
      const stepMs = Math.max(0, Math.min(leftMs, LONGEST_TIMER_MS));
      await new Promise<void>((resolve, reject) => {
        const onAbort = () => {
          clearTimeout(timer);
          reject(signal?.reason);
        };
        const timer = setTimeout(() => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        }, stepMs);
        signal?.addEventListener("abort", onAbort, { once: true });
      });
      leftMs -= stepMs;
    } while (leftMs > 0);
  },
};
