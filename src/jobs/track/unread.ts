import type { Clock } from "../../core/clock.ts";
import { type Condition, condition } from "../../core/condition.ts";
import type { Failure } from "../../core/failures.ts";

/** What passes by itself has passed by then, ms; after that a person has to look. */
const LONG_MS = 3_600_000;

/**
 * The facilities of which some orders could not be asked about, since when and why. Those are asked for again sooner than any
 * other, so a facility of which nothing was noted for `forgetMs` is read again, here or by another worker.
 */
export class UnreadFacilities {
  readonly #clock: Clock;
  readonly #forgetMs: number;
  readonly #byId = new Map<
    number,
    { readonly sinceMs: number; readonly atMs: number; readonly failure: Failure }
  >();

  constructor(clock: Clock, forgetMs: number) {
    this.#clock = clock;
    this.#forgetMs = forgetMs;
  }

  /** Notes that some orders of a facility could not be asked about right now. */
  note(facilityId: number, failure: Failure): void {
    this.#forget();
    const atMs = this.#clock.monotonic();
    const sinceMs = this.#byId.get(facilityId)?.sinceMs ?? atMs;
    this.#byId.set(facilityId, { sinceMs, atMs, failure });
  }

  /**
   * Each of them as a sentence.
   *
   * @param codeOf the lab's name for a facility
   */
  conditions(codeOf: (facilityId: number) => string): Condition[] {
    this.#forget();
    const nowMs = this.#clock.monotonic();
    return [...this.#byId].map(([facilityId, { sinceMs, failure }]) => {
      const minutes = Math.round((nowMs - sinceMs) / 60_000);
      const code = codeOf(facilityId);
      const text = `orders of ${code} can't be asked about, for ${minutes} min now: ${failure.message} (${failure.code})`;
      const level = nowMs - sinceMs > LONG_MS ? "act" : "wait";
      return condition("ordersStalled", `facility ${code}`, text, { level, code: failure.code });
    });
  }

  #forget(): void {
    const sinceMs = this.#clock.monotonic() - this.#forgetMs;
    for (const [facilityId, { atMs }] of this.#byId) if (atMs < sinceMs) this.#byId.delete(facilityId);
  }
}
