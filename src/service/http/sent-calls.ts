import type { Clock } from "../../core/clock.ts";
import type { CallPurpose } from "../../core/service-quota.ts";

/** A call that left. */
export interface Turn {
  /** When it left, monotonic ms. */
  readonly at: number;
  /** What for; the token endpoint is asked for all of them. */
  readonly purpose: CallPurpose | "tokens";
  /** The how manieth it is. */
  readonly nth: number;
  /** Whether the answer was 429. */
  isRefused: boolean;
}

/** Calls by what they were for, and how many of all were refused with a 429. */
export interface CountedCalls {
  readonly calls: number;
  readonly refused: number;
  readonly byPurpose: ReadonlyMap<Turn["purpose"], number>;
}

const MINUTE_MS = 60_000;

/** The calls of the last minute, each of them. */
export class SentCalls {
  readonly #clock: Clock;
  #turns: Turn[] = [];
  /** Those before it are older than a minute. */
  #from = 0;
  #count = 0;
  #refused = 0;
  readonly #byPurpose = new Map<Turn["purpose"], number>();
  /** When the first call left that was taken after some had been refused. */
  #takenAgainAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One leaves now. */
  add(purpose: Turn["purpose"]): Turn {
    this.#count += 1;
    this.#byPurpose.set(purpose, (this.#byPurpose.get(purpose) ?? 0) + 1);
    const turn = { at: this.#clock.monotonic(), purpose, nth: this.#count, isRefused: false };
    this.#turns.push(turn);
    this.#forget();
    return turn;
  }

  /** The service, or the token endpoint, refused it with a 429. */
  refused(turn: Turn): void {
    if (!turn.isRefused) this.#refused += 1;
    turn.isRefused = true;
  }

  /** How many left after it. */
  countSince({ nth }: Turn): number {
    return this.#count - nth;
  }

  /** How many left within so long before a moment and got through, since calls were last refused. */
  countPassed(windowMs: number, before: number): number {
    const from = Math.max(this.#takenAgainAt, before - windowMs);
    return this.#recent().filter(({ at, isRefused }) => at >= from && at <= before && !isRefused).length;
  }

  takenAgain({ at }: Turn): void {
    this.#takenAgainAt = at;
  }

  /** Since the start. */
  inAll(): CountedCalls {
    return { calls: this.#count, refused: this.#refused, byPurpose: this.#byPurpose };
  }

  lastMinute(): CountedCalls {
    const turns = this.#recent();
    const byPurpose = new Map<Turn["purpose"], number>();
    for (const { purpose } of turns) byPurpose.set(purpose, (byPurpose.get(purpose) ?? 0) + 1);
    return { calls: turns.length, refused: turns.filter(({ isRefused }) => isRefused).length, byPurpose };
  }

  #recent(): Turn[] {
    this.#forget();
    return this.#turns.slice(this.#from);
  }

  #forget(): void {
    const since = this.#clock.monotonic() - MINUTE_MS;
    while ((this.#turns[this.#from]?.at ?? Number.POSITIVE_INFINITY) <= since) this.#from += 1;
    if (this.#from < 1_000 || this.#from < this.#turns.length / 2) return;
    this.#turns = this.#turns.slice(this.#from);
    this.#from = 0;
  }
}
