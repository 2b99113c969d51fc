import type { Clock } from "../../core/clock.ts";
import type { LearnedQuota, Quota, QuotaSource } from "../../core/service-quota.ts";

/** The quota that holds calls back the most, and where it comes from. */
export interface QuotaInForce extends Quota {
  readonly source: QuotaSource;
}

interface QuotaSettings {
  readonly maxRequestsPerSecond: number;
  /** How many a service that counts in minutes takes, wherever its minute begins. */
  readonly maxRequestsPerMinute?: number | undefined;
}

/**
 * What was learned holds for so many windows since the last refusal, and doubles then each time that some more have passed. Where the
 * limit is set, others with the same credentials used it up for a while, and it holds for those only.
 */
const HELD_WINDOWS = 60;
const DOUBLED_EVERY_WINDOWS = 10;
/** Windows that services count in; of a longer one the pauses that it asks for are kept. */
const LEARNED_WINDOWS_MS = [1_000, 10_000, 60_000];
/** Fewer than this are never learned. */
const FEWEST_A_MINUTE = 6;
/** What a service refused although it is within what was learned, it takes at most this share of. */
const CUT = 0.9;
/** Two workers' ages of the same finding differ by so much. */
const SAME_MS = 250;

/**
 * What is known of how many calls the service takes: what is set, and what it refused. Each is a quota of calls in a window, and each
 * is kept.
 *
 * What is learned of refusals is the number of calls that got through within a window before the first of them. The window is the
 * shortest usual one that is longer than the service went on refusing for.
 */
export class Quotas {
  readonly #set: readonly QuotaInForce[];
  readonly #perSecond: QuotaInForce;
  readonly #clock: Clock;
  /** What was learned, and when, monotonic ms. */
  #learned: (Quota & { readonly at: number }) | undefined;
  /** What had been learned before the service began to refuse. */
  #before: { readonly quota: Quota | undefined; readonly isHeld: boolean } | undefined;

  constructor({ maxRequestsPerSecond, maxRequestsPerMinute }: QuotaSettings, clock: Clock) {
    this.#perSecond = { calls: maxRequestsPerSecond * 60, windowMs: 60_000, source: "set" };
    this.#set =
      maxRequestsPerMinute === undefined
        ? []
        : [{ calls: maxRequestsPerMinute, windowMs: 60_000, source: "set" }];
    this.#clock = clock;
  }

  /** The quota that holds calls back the most, for all workers together. */
  get inForce(): QuotaInForce {
    const perSecond = { calls: this.#perSecond.calls / 60, windowMs: 1_000, source: "set" } as const;
    return [perSecond, ...this.#inForce()].reduce((least, each) =>
      perMs(each) < perMs(least) ? each : least,
    );
  }

  /**
   * The time from one call to the next, ms, for one of several workers.
   *
   * @param ramp share of the rate a second: a few calls a minute are no rush that has to begin slowly
   */
  intervalMs(callers: number, ramp: number): number {
    const rush = { ...this.#perSecond, calls: this.#perSecond.calls * ramp };
    return Math.max(...[rush, ...this.#inForce()].map((quota) => spacingMs(quota, callers)));
  }

  /**
   * Takes that the service refuses calls, each time that it does.
   *
   * @param refusedForMs how long it has refused by now, or says that it will
   * @param passed how many calls got through within so many ms before the first that was refused, by all workers
   * @returns what is to be reported to the other workers
   */
  refused(refusedForMs: number, passed: (windowMs: number) => number): Quota {
    this.#before ??= {
      quota: this.#learned,
      isHeld: this.#learned !== undefined && this.#windowsOver(this.#learned) >= 0,
    };
    const { quota: before, isHeld } = this.#before;
    const longerMs = LEARNED_WINDOWS_MS.find((each) => each > refusedForMs * 0.99) ?? 60_000;
    const windowMs = Math.max(longerMs, before?.windowMs ?? 0);
    // What held until more was tried goes on to hold.
    const most =
      before === undefined ? Number.POSITIVE_INFINITY : perMs(before) * windowMs * (isHeld ? 1 : CUT);
    const fewest = Math.max(1, (FEWEST_A_MINUTE * windowMs) / 60_000);
    const calls = Math.max(fewest, Math.floor(Math.min(most, passed(windowMs))));
    this.#learned = { calls, windowMs, at: this.#clock.monotonic() };
    return { calls, windowMs };
  }

  /** The service takes calls again. */
  takenAgain(): void {
    this.#before = undefined;
  }

  /** Takes what another worker learned, where it is newer. */
  follow({ calls, windowMs, ageMs }: LearnedQuota): void {
    const at = this.#clock.monotonic() - ageMs;
    if (at > (this.#learned?.at ?? Number.NEGATIVE_INFINITY) + SAME_MS)
      this.#learned = { calls, windowMs, at };
  }

  /** How many windows ago what was learned has ceased to hold; below 0 while it holds. */
  #windowsOver({ windowMs, at }: Pick<Quota, "windowMs"> & { readonly at: number }): number {
    const held = this.#set.length > 0 ? DOUBLED_EVERY_WINDOWS : HELD_WINDOWS;
    return (this.#clock.monotonic() - at) / windowMs - held;
  }

  #inForce(): QuotaInForce[] {
    if (this.#learned === undefined) return [...this.#set];
    const { calls, windowMs } = this.#learned;
    const grown = calls * growth(this.#windowsOver(this.#learned));
    return [...this.#set, { calls: grown, windowMs, source: "learned" }];
  }
}

const perMs = ({ calls, windowMs }: Quota): number => calls / windowMs;

/**
 * The time from one call to the next, so that no window holds more than its quota, wherever it begins. There is room for
 * requests that the network held up: what left in two windows never arrives in one. Each worker has whole calls in a window, so that all
 * of them together have no more than that.
 */
function spacingMs({ calls, windowMs }: Quota, callers: number): number {
  const share = calls / callers;
  return (windowMs + Math.min(1_200, windowMs * 0.05)) / (share >= 1 ? Math.floor(share) : share);
}

function growth(windowsOver: number): number {
  return windowsOver < 0 ? 1 : 2 ** Math.min(30, 1 + Math.floor(windowsOver / DOUBLED_EVERY_WINDOWS));
}
