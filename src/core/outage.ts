import { type Backoff, longestBackoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";

/** What is known of something that is away. */
export interface Away<Cause> {
  /** When it was first found away; tries that failed since then don't change it. */
  readonly since: Date;
  /** What the latest failure was. */
  readonly cause: Cause;
  /** When it is tried again; where that has passed, the next one who needs it tries. */
  readonly nextTryAt: Date;
}

/** By how much of itself a pause may be shorter, by chance: daemons that lost the same thing don't come back at one moment. */
const JITTER = 0.2;

/**
 * Something outside that can't be reached, be it the service, its token endpoint, a lab, the ledger or a folder: since when, why,
 * and when it is tried again. The pause doubles with each failure, and what the other side asks for is respected.
 */
export class Outage<Cause> {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  readonly #backoff: Backoff;
  readonly #random: () => number;
  #away: Away<Cause> | undefined;
  #failures = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  /** @param random numbers in [0, 1) */
  constructor(clock: Pick<Clock, "now" | "monotonic">, backoff: Backoff, random: () => number) {
    this.#clock = clock;
    this.#backoff = backoff;
    this.#random = random;
  }

  /** What is known of it; undefined while nothing is wrong. */
  get away(): Away<Cause> | undefined {
    return this.#away;
  }

  /** How long it is still left alone, ms; 0 when it may be tried. */
  get leftMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.monotonic());
  }

  /**
   * A try failed: it begins or goes on.
   *
   * @param askedMs for how long the other side asked to be left alone
   * @returns for how long it is left alone now, ms
   */
  failed(cause: Cause, askedMs = 0): number {
    this.#failures += 1;
    const backoffMs = longestBackoffMs(this.#failures, this.#backoff) * (1 - this.#random() * JITTER);
    return this.#leaveAlone(cause, this.#away?.since, Math.ceil(Math.max(askedMs, backoffMs)));
  }

  /** Somebody else found it away, since then and for that long; what this one found before stays its cause. */
  heardOf(cause: Cause, since: Date, leftMs: number): void {
    this.#leaveAlone(this.#away?.cause ?? cause, this.#away?.since ?? since, leftMs);
  }

  /** It is there. @returns whether it was away */
  over(): boolean {
    const wasAway = this.#away !== undefined;
    this.#away = undefined;
    this.#failures = 0;
    this.#untilMs = Number.NEGATIVE_INFINITY;
    return wasAway;
  }

  #leaveAlone(cause: Cause, since: Date | undefined, ms: number): number {
    const now = this.#clock.now();
    this.#away = { since: since ?? new Date(now), cause, nextTryAt: new Date(now + ms) };
    this.#untilMs = this.#clock.monotonic() + ms;
    return ms;
  }
}
