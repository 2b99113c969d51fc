import type { Clock } from "../../src/core/clock.ts";

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock that moves only when the test says so. */
export class FakeClock implements Clock {
  #ms = 0;
  #sleepers: Sleeper[] = [];

  now(): number {
    return Date.UTC(2026, 10, 21, 12) + this.#ms;
  }

  monotonic(): number {
    return this.#ms;
  }

  /** How many are asleep. */
  get asleep(): number {
    return this.#sleepers.length;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const leave = () => {
        this.#sleepers = this.#sleepers.filter((each) => each !== sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const sleeper = { at: this.#ms + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", leave);
    });
  }

  /** Moves time on, waking sleepers in their order and letting what they do happen in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#ms + ms;
    await settle();
    for (;;) {
      const [first, ...others] = this.#sleepers;
      const next = others.reduce((a, b) => (b.at < (a?.at ?? 0) ? b : a), first);
      if (!next || next.at > end) break;
      this.#ms = Math.max(this.#ms, next.at);
      this.#sleepers = this.#sleepers.filter((each) => each !== next);
      next.wake();
      await settle();
    }
    this.#ms = end;
    await settle();
  }
}

/** A clock that wakes nobody, so that nothing happens but what a test asks for. */
export class StandingClock extends FakeClock {
  override sleep(_ms: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(Number.MAX_SAFE_INTEGER, signal);
  }
}

/** Lets everything that is ready to run, run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
