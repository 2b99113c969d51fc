import type { Clock } from "../core/clock.ts";

/** Numbers that are older might be lower than what other ways in have taken since; people list messages by number, ms. */
const GOOD_FOR_MS = 1_000;

/**
 * Numbers for messages, taken from the ledger before they are needed while many come, so that a message needn't wait
 * for its number. What is taken and not used is lost, which matters little.
 */
export class MessageNumbers {
  readonly #take: (count: number) => Promise<number[]>;
  readonly #clock: Clock;
  readonly #most: number;
  #numbers: readonly number[] = [];
  /** How many of them were given; cutting some off the front would move all others each time. */
  #given = 0;
  #takenAt = Number.NEGATIVE_INFINITY;
  /** Doubles while numbers are used up in time. */
  #ahead = 0;

  /**
   * @param take gives so many new numbers, ascending and above all earlier ones
   * @param most to take ahead
   */
  constructor(take: (count: number) => Promise<number[]>, clock: Clock, most: number) {
    this.#take = take;
    this.#clock = clock;
    this.#most = most;
  }

  /** So many numbers, ascending and above all that were given before. */
  async next(count: number): Promise<number[]> {
    if (this.#clock.monotonic() - this.#takenAt > GOOD_FOR_MS) this.forget();
    const left = this.#numbers.length - this.#given;
    if (left < count) {
      this.#ahead = Math.min(this.#most, this.#ahead * 2 + 1);
      const taken = await this.#take(Math.max(count - left, this.#ahead));
      this.#numbers = [...this.#numbers.slice(this.#given), ...taken];
      this.#given = 0;
      this.#takenAt = this.#clock.monotonic();
    }
    this.#given += count;
    return this.#numbers.slice(this.#given - count, this.#given);
  }

  /** Drops what was taken ahead; to be called when numbers were taken another way. */
  forget(): void {
    this.#numbers = [];
    this.#given = 0;
    this.#ahead = 0;
  }
}
