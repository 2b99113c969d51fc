import type { Clock } from "../../src/core/clock.ts";

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
}

/** A clock that stands still until it is moved on. */
export interface FakeClock extends Clock {
  /** Moves on, waking sleepers in turn and letting what they start run before the next one wakes. */
  pass(ms: number): Promise<void>;
}

/** A clock that begins at the given moment. */
export function createFakeClock(startsAt = Date.parse("2026-03-01T08:00:00Z")): FakeClock {
  let passedMs = 0;
  const sleepers = new Set<Sleeper>();
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    now: () => startsAt + passedMs,
    monotonic: () => passedMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { due: passedMs + ms, wake: resolve };
        sleepers.add(sleeper);
        const onAbort = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        if (signal?.aborted) onAbort();
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
    pass: async (ms) => {
      const until = passedMs + ms;
      for (;;) {
        await nextTurn();
        const due = [...sleepers].filter((sleeper) => sleeper.due <= until);
        const [next] = due.sort((a, b) => a.due - b.due);
        if (!next) break;
        sleepers.delete(next);
        passedMs = Math.max(passedMs, next.due);
        next.wake();
      }
      passedMs = until;
      await nextTurn();
    },
  };
}
