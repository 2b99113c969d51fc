import type { Clock } from "../core/clock.ts";

/** Numbers that are older might be lower than what other ways in have taken since; people list messages by number, ms. */
const GOOD_FOR_MS = 1_000;
/** A lot that was used up sooner than that was too small, ms. */
const USED_SOON_MS = 250;
/** From such a lot on the next one is asked for while there are still some left. */
const LEAST_OF_STORM = 32;

/** Numbers that were asked for together. */
interface Lot {
  readonly numbers: readonly number[];
  /** Monotonic ms. */
  readonly askedAt: number;
}

const NO_LOT: Lot = { numbers: [], askedAt: Number.NEGATIVE_INFINITY };

/**
 * Numbers for messages, taken from the ledger before they are needed while many come, so that a message needn't wait
 * for its number. What is taken and not used is lost, which matters little.
 */
export class MessageNumbers {
  readonly #take: (count: number) => Promise<number[]>;
  readonly #clock: Clock;
  readonly #most: number;
  #lot = NO_LOT;
  /** How many of the lot were given; cutting some off the front would move all others each time. */
  #given = 0;
  /** Asked for ahead of need; undefined in the end when that failed. */
  #coming: Promise<Lot | undefined> | undefined;
  /** What to ask for at once: twice as much while lots are soon used up. */
  #size = 0;

  /**
   * @param take gives so many new numbers, ascending and above all earlier ones
   * @param most to take ahead
   */
  constructor(take: (count: number) => Promise<number[]>, clock: Clock, most: number) {
    this.#take = take;
    this.#clock = clock;
    this.#most = most;
  }

  /** So many numbers, ascending and above all that were given before. To be called again once it has resolved. */
  async next(count: number): Promise<number[]> {
    if (this.#isOld(this.#lot)) this.#dropLot();
    if (this.#left < count) await this.#addComing();
    if (this.#left < count) this.#add(await this.#ask(count - this.#left));
    this.#given += count;
    const isStorm = this.#lot.numbers.length >= LEAST_OF_STORM;
    if (isStorm && this.#left <= this.#lot.numbers.length / 2) {
      // Whoever needs them asks again, and is told what is wrong.
      this.#coming ??= this.#ask(0).catch(() => undefined);
    }
    return this.#lot.numbers.slice(this.#given - count, this.#given);
  }

  /** Drops what was taken ahead; to be called when numbers were taken another way. */
  forget(): void {
    this.#dropLot();
    this.#coming = undefined;
    this.#size = 0;
  }

  get #left(): number {
    return this.#lot.numbers.length - this.#given;
  }

  #dropLot(): void {
    this.#lot = NO_LOT;
    this.#given = 0;
  }

  #isOld({ askedAt }: Lot): boolean {
    return this.#clock.monotonic() - askedAt > GOOD_FOR_MS;
  }

  async #addComing(): Promise<void> {
    const lot = await this.#coming;
    this.#coming = undefined;
    if (lot && !this.#isOld(lot)) this.#add(lot);
  }

  /** Puts a lot behind what is left of the one before. */
  #add({ numbers, askedAt }: Lot): void {
    const left = this.#lot.numbers.slice(this.#given);
    this.#lot = { numbers: left.length === 0 ? numbers : [...left, ...numbers], askedAt };
    this.#given = 0;
  }

  async #ask(atLeast: number): Promise<Lot> {
    const askedAt = this.#clock.monotonic();
    const sinceLast = askedAt - this.#lot.askedAt;
    if (sinceLast > GOOD_FOR_MS) this.#size = 0;
    if (sinceLast <= USED_SOON_MS || this.#size === 0) this.#size = Math.min(this.#most, this.#size * 2 + 1);
    return { numbers: await this.#take(Math.max(atLeast, this.#size)), askedAt };
  }
}
