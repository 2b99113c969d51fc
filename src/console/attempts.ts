import type { Clock } from "../core/clock.ts";
import { peerKey } from "./peer.ts";

const WINDOW_MS = 60_000;
const MAX_IN_WINDOW = 10;
/** Beyond this many addresses the oldest is forgotten, so that the list can't be grown from outside. */
const MAX_ADDRESSES = 1_000;

/** Wrong tokens by address (of IPv6, by its /64): ten in a minute, then that address waits. */
export class LoginAttempts {
  readonly #clock: Clock;
  readonly #timesByAddress = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the address has to wait before the next try. */
  isBlocked(address: string): boolean {
    return this.#recent(peerKey(address)).length >= MAX_IN_WINDOW;
  }

  recordFailure(address: string): void {
    const key = peerKey(address);
    const times = [...this.#recent(key), this.#clock.monotonic()];
    this.#timesByAddress.delete(key);
    this.#timesByAddress.set(key, times);
    if (this.#timesByAddress.size <= MAX_ADDRESSES) return;
    const [first] = this.#timesByAddress.keys();
    if (first !== undefined) this.#timesByAddress.delete(first);
  }

  #recent(key: string): number[] {
    const since = this.#clock.monotonic() - WINDOW_MS;
    return (this.#timesByAddress.get(key) ?? []).filter((time) => time > since);
  }
}
