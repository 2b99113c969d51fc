interface Seen {
  readonly fingerprint: string;
  /** Since when it has been so. */
  readonly sinceMs: number;
  readonly firstMs: number;
}

/**
 * Tells when something has stopped changing: its fingerprint was the same at two looks at least `settleMs` apart.
 * Size alone would prove nothing, since some servers set the final size before the first byte is written.
 */
export class Settling {
  readonly #settleMs: number;
  #seen = new Map<string, Seen>();
  #next = new Map<string, Seen>();

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** Begins a round of looks; what is not looked at until {@link endRound} is forgotten. */
  beginRound(): void {
    this.#next = new Map();
  }

  /** One look. `nowMs` is monotonic time. True when it has rested long enough. */
  look(key: string, fingerprint: string, nowMs: number): boolean {
    const before = this.#seen.get(key);
    const isSame = before?.fingerprint === fingerprint;
    const sinceMs = isSame ? before.sinceMs : nowMs;
    this.#next.set(key, { fingerprint, sinceMs, firstMs: before?.firstMs ?? nowMs });
    return isSame && nowMs - sinceMs >= this.#settleMs;
  }

  /** How many have not come to rest for so long since they were first seen, and the longest of these times, ms. */
  listChanging(nowMs: number, afterMs: number): { readonly count: number; readonly longestMs: number } {
    let count = 0;
    let longestMs = 0;
    for (const { sinceMs, firstMs } of this.#seen.values()) {
      if (nowMs - firstMs < afterMs || nowMs - sinceMs >= this.#settleMs) continue;
      count += 1;
      longestMs = Math.max(longestMs, nowMs - firstMs);
    }
    return { count, longestMs };
  }

  /** Ends the round. Returns how long until the first of those that are still resting could be settled, ms. */
  endRound(nowMs: number): number | undefined {
    this.#seen = this.#next;
    let soonest: number | undefined;
    for (const { sinceMs } of this.#seen.values()) {
      const leftMs = Math.max(0, sinceMs + this.#settleMs - nowMs);
      if (leftMs > 0 && (soonest === undefined || leftMs < soonest)) soonest = leftMs;
    }
    return soonest;
  }
}
