import type { Clock } from "../core/clock.ts";

const WINDOW_MS = 60_000;
const MAX_IN_WINDOW = 10;
/** Beyond this many addresses the oldest is forgotten, so that the list can't be grown from outside. */
const MAX_ADDRESSES = 1_000;

/** Wrong tokens by address: ten in a minute, then that address waits. */
export class LoginAttempts {
  readonly #clock: Clock;
  readonly #timesByAddress = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the address has to wait before the next try. */
  isBlocked(address: string): boolean {
    return this.#recent(address).length >= MAX_IN_WINDOW;
  }

  recordFailure(address: string): void {
    const times = [...this.#recent(address), this.#clock.monotonic()];
    this.#timesByAddress.delete(address);
    this.#timesByAddress.set(address, times);
    if (this.#timesByAddress.size <= MAX_ADDRESSES) return;
    const [first] = this.#timesByAddress.keys();
    if (first !== undefined) this.#timesByAddress.delete(first);
  }

  #recent(address: string): number[] {
    const since = this.#clock.monotonic() - WINDOW_MS;
    return (this.#timesByAddress.get(address) ?? []).filter((time) => time > since);
  }
}
