import type { Clock } from "../../core/clock.ts";
import type { FoundQuotas, Quota, QuotaSource } from "../../core/service-quota.ts";
import type { StatedWindow } from "./rate-headers.ts";

/** The quota that holds calls back the most, and where it comes from. */
export interface QuotaInForce extends Quota {
  readonly source: QuotaSource;
}

interface QuotaSettings {
  readonly maxRequestsPerSecond: number;
  /** How many a service that counts in minutes takes, wherever its minute begins. */
  readonly maxRequestsPerMinute?: number | undefined;
}

/** What stands in headers is kept so long since the service last said it, ms. */
const KEPT_MS = 3_600_000;
/**
 * What was learned holds for so many windows since the last refusal, and doubles then each time that some more have passed. Where the
 * limit is set or stated, others with the same credentials used it up for a while, and it holds for those only.
 */
const HELD_WINDOWS = 60;
const DOUBLED_EVERY_WINDOWS = 10;
/** Longer windows, such as a day's, are not spread evenly: an order would take minutes, and what is left says when to stop. */
const LONGEST_SPREAD_MS = 3_600_000;
/** Windows that services count in; of a longer one the pauses that it asks for are kept. */
const LEARNED_WINDOWS_MS = [1_000, 10_000, 60_000];
/** Windows of services that only say when theirs ends, s: the next longer one. */
const USUAL_WINDOWS_S = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600];
/** Fewer than this are never learned. */
const FEWEST_A_MINUTE = 6;
/** What a service refused although it is within what was learned, it takes at most this share of. */
const CUT = 0.9;
/** Nobody states more lengths of windows than that. */
const MOST_LENGTHS = 20;
/** Times in headers are whole seconds, rounded either way. */
const ROUNDED_MS = 1_000;

/**
 * What is known of how many calls the service takes: what is set, what its headers say, and what it refused. Each is a quota of calls
 * in a window, and each is kept.
 *
 * What is learned of refusals is the number of calls that got through within a window before the first of them. The window is the
 * shortest usual one that is longer than the service went on refusing for.
 */
export class Quotas {
  readonly #set: readonly QuotaInForce[];
  readonly #perSecond: QuotaInForce;
  readonly #clock: Clock;
  /** What was found out, and when, monotonic ms. */
  readonly #found = new Map<
    FoundQuotas["source"],
    { readonly quotas: readonly Quota[]; readonly at: number }
  >();
  /** The least that was stated lately for windows of a length in ms, and when, monotonic ms. */
  readonly #least = new Map<number, { readonly calls: number; readonly at: number }>();
  /** What is left of a window, by its headers. */
  #left: { readonly calls: number; readonly until: number } | undefined;
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

  /** When the next call may leave by what the headers say is left, which is spread over the rest of its window; monotonic ms. */
  leftFrom(lastAt: number, callers: number): number {
    if (this.#left === undefined) return lastAt;
    const { calls, until } = this.#left;
    const newAt = until + ROUNDED_MS;
    if (newAt <= this.#clock.monotonic()) this.#left = undefined;
    return calls < 1 ? newAt : Math.min(newAt, lastAt + Math.max(0, ((until - lastAt) * callers) / calls));
  }

  /** A call left: one less of what the headers say is left. */
  took(callers: number): void {
    // The other workers call as often.
    if (this.#left) this.#left = { ...this.#left, calls: this.#left.calls - callers };
  }

  /**
   * Takes what the headers of an answer say.
   *
   * @param nowMs what the service's clock shows
   * @param since calls that left since the one that was answered, which its headers don't count yet
   * @returns what is to be reported to the other workers
   */
  stated(windows: readonly StatedWindow[], nowMs: number, since: number): readonly Quota[] | undefined {
    const ending = windows.map((each) => ({ ...each, endsInMs: endsInMs(each, nowMs) }));
    this.#takeLeft(ending, since);
    const whole = ending.flatMap(({ calls, windowMs }) =>
      calls === undefined || windowMs === undefined ? [] : [{ calls, windowMs }],
    );
    const guessed = ending.flatMap(({ calls, endsInMs: inMs }) =>
      calls === undefined || inMs === undefined || inMs <= 0
        ? []
        : [{ calls, windowMs: usualWindowMs(inMs) }],
    );
    const before = this.#found.get("header");
    const quotas = (whole.length > 0 ? whole : guessed.map((quota) => longest(quota, before?.quotas)))
      .map(({ calls, windowMs }) => ({ calls: Math.floor(calls), windowMs }))
      .filter(({ windowMs }) => windowMs <= LONGEST_SPREAD_MS)
      .map((quota) => this.#leastStated(quota));
    if (quotas.length === 0) return undefined;
    const at = this.#clock.monotonic();
    this.#found.set("header", { quotas, at });
    const isNews = before === undefined || JSON.stringify(before.quotas) !== JSON.stringify(quotas);
    return isNews ? quotas : undefined;
  }

  /**
   * Takes that the service refuses calls, each time that it does.
   *
   * @param refusedForMs how long it has refused by now, or says that it will
   * @param passed how many calls got through within so many ms before the first that was refused, by all workers
   * @returns what is to be reported to the other workers
   */
  refused(refusedForMs: number, passed: (windowMs: number) => number): readonly Quota[] {
    const now = this.#clock.monotonic();
    const found = this.#found.get("learned");
    this.#before ??= {
      quota: found?.quotas[0],
      isHeld: found?.quotas.every((each) => this.#windowsOver(each, found.at) >= 0) === true,
    };
    const { quota: before, isHeld } = this.#before;
    const longerMs = LEARNED_WINDOWS_MS.find((each) => each > refusedForMs * 0.99) ?? 60_000;
    const windowMs = Math.max(longerMs, before?.windowMs ?? 0);
    // What held until more was tried goes on to hold.
    const most =
      before === undefined ? Number.POSITIVE_INFINITY : perMs(before) * windowMs * (isHeld ? 1 : CUT);
    const fewest = Math.max(1, (FEWEST_A_MINUTE * windowMs) / 60_000);
    const calls = Math.max(fewest, Math.floor(Math.min(most, passed(windowMs))));
    const quotas = [{ calls, windowMs }];
    this.#found.set("learned", { quotas, at: now });
    return quotas;
  }

  /** The service takes calls again. */
  takenAgain(): void {
    this.#before = undefined;
  }

  /** Takes what other workers found out, where it is newer. */
  follow(found: readonly FoundQuotas[]): void {
    for (const { source, quotas, ageMs } of found) {
      const at = this.#clock.monotonic() - ageMs;
      if (at > (this.#found.get(source)?.at ?? Number.NEGATIVE_INFINITY) + SAME_MS) {
        this.#found.set(source, { quotas, at });
      }
    }
  }

  /** Of what is stated for windows of one length, such as for reads and for creations each, the least counts for some windows. */
  #leastStated({ calls, windowMs }: Quota): Quota {
    const now = this.#clock.monotonic();
    const known = this.#least.get(windowMs);
    if (known && calls > known.calls && now - known.at < DOUBLED_EVERY_WINDOWS * windowMs)
      return { calls: known.calls, windowMs };
    if (this.#least.size >= MOST_LENGTHS) this.#least.clear();
    this.#least.set(windowMs, { calls, at: now });
    return { calls, windowMs };
  }

  /** How many windows ago what was learned at a time has ceased to hold; below 0 while it holds. */
  #windowsOver({ windowMs }: Quota, learnedAt: number): number {
    const now = this.#clock.monotonic();
    const statedAt = this.#found.get("header")?.at ?? Number.NEGATIVE_INFINITY;
    const isKnown = this.#set.length > 0 || now - statedAt < KEPT_MS;
    return (now - learnedAt) / windowMs - (isKnown ? DOUBLED_EVERY_WINDOWS : HELD_WINDOWS);
  }

  #inForce(): QuotaInForce[] {
    const now = this.#clock.monotonic();
    const found = [...this.#found].flatMap(([source, { quotas, at }]): QuotaInForce[] => {
      if (source === "header") return now - at < KEPT_MS ? quotas.map((each) => ({ ...each, source })) : [];
      return quotas.map(({ calls, windowMs }) => {
        const factor = growth(this.#windowsOver({ calls, windowMs }, at));
        return { calls: calls * factor, windowMs, source };
      });
    });
    return [...this.#set, ...found];
  }

  /** Of several windows the one counts that holds back the most. What ends in a moment is over before it is known. */
  #takeLeft(windows: readonly EndingWindow[], since: number): void {
    const now = this.#clock.monotonic();
    const open = windows.flatMap(({ left, endsInMs: inMs = 0 }) => {
      if (left === undefined || inMs <= 2 * ROUNDED_MS || (inMs > LONGEST_SPREAD_MS && left > 0)) return [];
      return [{ calls: Math.max(0, left - since), until: now + Math.min(inMs, LONGEST_SPREAD_MS) }];
    });
    const [least, ...others] = open;
    if (least === undefined) return;
    const perCall = (each: typeof least) => (each.until - now) / each.calls;
    const { calls, until } = others.reduce((a, b) => (perCall(b) > perCall(a) ? b : a), least);
    const known = this.#left?.until ?? Number.NEGATIVE_INFINITY;
    const isSame = Math.abs(known - until) < 2 * ROUNDED_MS;
    this.#left = { calls, until: isSame ? Math.min(until, known) : until };
  }
}

type EndingWindow = StatedWindow & { readonly endsInMs: number | undefined };

/** Two workers' ages of the same finding differ by so much. */
const SAME_MS = 250;

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

function endsInMs({ ends }: StatedWindow, nowMs: number): number | undefined {
  if (ends === undefined) return undefined;
  return "inMs" in ends ? ends.inMs : ends.atMs - nowMs;
}

function usualWindowMs(endsIn: number): number {
  const seconds = USUAL_WINDOWS_S.find((each) => each * 1_000 + ROUNDED_MS > endsIn);
  return seconds === undefined ? Number.POSITIVE_INFINITY : seconds * 1_000;
}

/** A window is at least as long as the longest time to its end that was seen. */
function longest(quota: Quota, before: readonly Quota[] | undefined): Quota {
  const same = before?.find(({ calls }) => calls === quota.calls);
  return same && same.windowMs > quota.windowMs ? same : quota;
}
