import { longestBackoffMs } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { OtherWorkers, ServiceNews } from "../../core/service-outage.ts";
import { CALL_PURPOSES, type CallPurpose } from "../../core/service-quota.ts";
import { type Answer, LONGEST_RETRY_MS, parseRetryAfter } from "./answer.ts";
import { type QuotaInForce, Quotas } from "./quotas.ts";
import { SentCalls, type Turn } from "./sent-calls.ts";

interface LimiterSettings {
  readonly maxRequestsPerSecond: number;
  /** How many a service that counts in minutes takes, wherever its minute begins. */
  readonly maxRequestsPerMinute?: number | undefined;
  readonly concurrency: number;
  /** Longest wait for the end of a pause before a call is refused for now instead, ms. */
  readonly maxWaitMs: number;
}

interface WaitingCall {
  readonly purpose: CallPurpose;
  /** It goes before other calls for the same purpose: it ends what they begin. */
  readonly isAhead?: boolean;
}

interface Waiting {
  readonly admit: () => void;
  readonly isAhead: boolean;
}

/** Out of the sum of all, how often calls for a purpose leave while calls for all of them wait. */
const WEIGHTS: Readonly<Record<CallPurpose, number>> = {
  ...{ reconciling: 8, submitting: 4, following: 3, locating: 2, other: 1 },
};
/** Within this each worker has heard that another one has come, and keeps to a smaller share. */
const MAKE_ROOM_MS = 1_500;
/** After a pause the rate starts at this share and rises to the whole over {@link RAMP_MS}. */
const RAMP_FLOOR = 0.1;
const RAMP_MS = 20_000;
/** Timers are no finer than this: calls that leave more often than that may leave so much early. */
const EARLY_MS = 20;
/** So long a call may wait for its turn where several workers share some calls a minute. */
const LONGEST_TURN_MS = 120_000;
/** So often a waiting call looks whether it may leave earlier. */
const LOOK_AGAIN_MS = 5_000;
/**
 * The pause after a refusal that names none; each refusal in a row after such a pause doubles it. The longest is short beside a minute,
 * whose beginning would be missed otherwise, and grows once the service has refused for longer than that.
 */
const FIRST_PAUSE_MS = 1_200;
const LONG_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;
/** A service that refuses after fewer calls than this refuses them for another reason than their number. */
const FEWEST_PASSED = 10;

/**
 * One gate for all calls to a service: a limit at once, the quotas of calls, and a pause that everybody keeps. Of several workers
 * each takes its share of the limits, and at least one call at once. Calls leave evenly spaced, never in bursts.
 *
 * First come, first served among calls for one purpose, but for those that go ahead; the purposes take weighted turns. The orders
 * of a batch each have a call waiting, while pages are read one after the other: behind a backlog of thousands of orders, which a
 * low rate makes last for hours, nobody would see what staff and devices did meanwhile.
 */
export class Limiter {
  readonly #settings: LimiterSettings;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #others: OtherWorkers | undefined;
  readonly #quotas: Quotas;
  readonly #sent: SentCalls;
  readonly #lines = new Map(
    CALL_PURPOSES.map((purpose) => [purpose, { waiting: [] as Waiting[], passed: 0 }]),
  );
  /** How far the purpose has come that was served last, in calls by weight. */
  #passed = 0;
  #running = 0;
  #busySince = Number.NEGATIVE_INFINITY;
  /** Whether a call that got its place waits for its turn: the next one is only chosen when that has left. */
  #isOneLeaving = false;
  #callers: number | undefined;
  #notBefore = Number.NEGATIVE_INFINITY;
  #lastAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** Since when the service refuses calls, with how many pauses, and whether others waited then. */
  #refusing: { since: number; pauses: number; readonly wasBusy: boolean } | undefined;

  constructor(settings: LimiterSettings, clock: Clock, random: () => number, others?: OtherWorkers) {
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#others = others;
    this.#quotas = new Quotas(settings, clock);
    this.#sent = new SentCalls(clock);
  }

  /** How many calls this worker may have under way at once. */
  get atOnce(): number {
    return Math.max(1, Math.floor(this.#settings.concurrency / this.sharedBy));
  }

  /** The quota that holds calls back the most, for all workers together. */
  get quota(): QuotaInForce {
    return this.#quotas.inForce;
  }

  /** The calls of this worker, those for tokens included. */
  get sent(): Pick<SentCalls, "inAll" | "lastMinute" | "refused"> {
    return this.#sent;
  }

  /** So many calls of all workers leave in a minute at most. */
  get mostPerMinute(): number {
    return (60_000 / this.#quotas.intervalMs(this.sharedBy, 1)) * this.sharedBy;
  }

  /** How many workers and commands share the limits. */
  get sharedBy(): number {
    return this.#callers ?? 1;
  }

  /** For how long calls have been under way without a break, ms. */
  get busyForMs(): number {
    return this.#running === 0 ? 0 : this.#clock.monotonic() - this.#busySince;
  }

  /** Takes what the workers of the ledger know of the service's limits. */
  follow({ callers, pauseMs, quotas }: Pick<ServiceNews, "callers" | "pauseMs" | "quotas">): void {
    this.share(callers);
    if (pauseMs > 0) this.pause(Math.min(LONGEST_RETRY_MS, pauseMs));
    this.#quotas.follow(quotas);
  }

  /**
   * Says how many share the limits, this one included. One that comes to others sends nothing until they have heard
   * of it.
   */
  share(callers: number): void {
    if (this.#callers === undefined && callers > 1) this.#notBefore = this.#clock.monotonic() + MAKE_ROOM_MS;
    this.#callers = callers;
    this.#admit();
  }

  /**
   * Runs `work` once there is room for one more call and it is its purpose's turn. The work takes a turn for each request of
   * its; until it has the first, no other call is chosen. Rejects with the signal's reason while waiting.
   */
  async run<T>(
    signal: AbortSignal,
    { purpose, isAhead = false }: WaitingCall,
    work: (turn: (signal: AbortSignal) => Promise<Turn>) => Promise<T>,
  ): Promise<T> {
    await this.#enter(signal, purpose, isAhead);
    let isLeaving = true;
    const left = () => {
      if (isLeaving) this.#isOneLeaving = false;
      isLeaving = false;
      this.#admit();
    };
    try {
      return await work((ofRequest) => this.turn(ofRequest, purpose).finally(left));
    } finally {
      this.#running -= 1;
      left();
    }
  }

  /**
   * Waits until one more request may leave.
   * @throws Failure SERVICE_BUSY when a pause, or a quota of few calls in a long window, lets it wait longer than a caller should:
   *   what was read before it, and what was written down about it, would be old
   */
  async turn(signal: AbortSignal, purpose: Turn["purpose"]): Promise<Turn> {
    for (;;) {
      signal.throwIfAborted();
      const now = this.#clock.monotonic();
      const pauseMs = this.#pausedUntil - now;
      if (pauseMs > this.#settings.maxWaitMs)
        throw this.#busy("the service asked for a pause, which is not over yet", pauseMs);
      const intervalMs = this.#quotas.intervalMs(this.sharedBy, this.#ramp(now));
      const leftFrom = this.#quotas.leftFrom(this.#lastAt, this.sharedBy);
      const at = Math.max(now, this.#notBefore, this.#lastAt + intervalMs, leftFrom);
      const waitMs = at - Math.max(0, EARLY_MS - intervalMs) - now;
      if (waitMs > Math.max(this.#settings.maxWaitMs, LONGEST_TURN_MS))
        throw this.#busy("the service takes so few calls that the next one is not due for a while", waitMs);
      if (pauseMs <= 0 && waitMs <= 0) {
        this.#lastAt = at;
        this.#quotas.took(this.sharedBy);
        return this.#sent.add(purpose);
      }
      await this.#clock.sleep(pauseMs > 0 ? this.#spread(pauseMs) : Math.min(LOOK_AGAIN_MS, waitMs), signal);
    }
  }

  /** Takes what the answer to a call of the service says of its limits. */
  heard(turn: Turn, { status, headers }: Pick<Answer, "status" | "headers">): void {
    const nowMs = headers.dateMs ?? this.#clock.now();
    const since = this.#sent.countSince(turn) * this.sharedBy;
    const quotas = this.#quotas.stated(headers.windows ?? [], nowMs, since);
    if (quotas) this.#others?.reportQuotas("header", quotas);
    if (status === 429) this.#refused(turn, parseRetryAfter(headers, this.#clock.now()));
    else if (this.#refusing && turn.at >= this.#pausedUntil) {
      this.#refusing = undefined;
      this.#quotas.takenAgain();
      this.#sent.takenAgain(turn);
    }
  }

  /** Nobody sends anything for that long, which the other workers hear. A longer pause that is under way stays. */
  pauseAll(ms: number): void {
    if (this.pause(ms)) this.#others?.reportPause(ms);
  }

  /** Nothing is sent from here for that long. A longer pause that is under way stays: then the answer is false. */
  pause(ms: number): boolean {
    const until = this.#clock.monotonic() + ms;
    if (until <= this.#pausedUntil) return false;
    this.#pausedUntil = until;
    return true;
  }

  #refused(turn: Turn, askedMs: number | undefined): void {
    this.#sent.refused(turn);
    this.#refusing ??= { since: turn.at, pauses: 0, wasBusy: this.#isWaitedFor };
    const refusing = this.#refusing;
    // Of several that were under way the first may be answered last.
    refusing.since = Math.min(refusing.since, turn.at);
    const refusedForMs = turn.at - refusing.since;
    const passed = (windowMs: number) => this.#sent.countPassed(windowMs, refusing.since) * this.sharedBy;
    if (refusing.wasBusy && passed(60_000) >= FEWEST_PASSED) {
      const quotas = this.#quotas.refused(Math.max(refusedForMs, askedMs ?? 0), passed);
      this.#others?.reportQuotas("learned", quotas);
    }
    if (askedMs !== undefined) this.pauseAll(askedMs);
    else if (turn.at >= this.#pausedUntil) {
      const maxMs = Math.min(LONGEST_PAUSE_MS, Math.max(LONG_PAUSE_MS, refusedForMs / 6));
      refusing.pauses += 1;
      this.pauseAll(longestBackoffMs(refusing.pauses, { firstMs: FIRST_PAUSE_MS, maxMs }));
    }
  }

  get #isWaitedFor(): boolean {
    return [...this.#lines.values()].some(({ waiting }) => waiting.length > 0);
  }

  #ramp(now: number): number {
    const sinceMs = Math.max(0, now - this.#pausedUntil);
    return Math.min(1, RAMP_FLOOR + (1 - RAMP_FLOOR) * (sinceMs / RAMP_MS));
  }

  #busy(why: string, waitMs: number): Failure {
    return new Failure("SERVICE_BUSY", {
      message: `${why}; nothing was sent`,
      retryAfterMs: this.#spread(waitMs),
    });
  }

  /** Up to a tenth later, so that those who wait don't all come back in one instant. */
  #spread(ms: number): number {
    return Math.ceil(ms * (1 + this.#random() * 0.1));
  }

  /** Lets the call go on whose purpose has had the fewest by its weight. */
  #admit(): void {
    if (this.#isOneLeaving || this.#running >= this.atOnce) return;
    const waited = [...this.#lines].filter(([, { waiting }]) => waiting.length > 0);
    const [first] = waited.sort(([, a], [, b]) => a.passed - b.passed);
    if (first === undefined) return;
    const [purpose, line] = first;
    this.#passed = line.passed;
    line.passed += 1 / WEIGHTS[purpose];
    this.#isOneLeaving = true;
    if (this.#running === 0) this.#busySince = this.#clock.monotonic();
    this.#running += 1;
    line.waiting.shift()?.admit();
  }

  async #enter(signal: AbortSignal, purpose: CallPurpose, isAhead: boolean): Promise<void> {
    signal.throwIfAborted();
    const line = this.#lines.get(purpose);
    if (line === undefined) throw new RangeError(`no calls are made for ${purpose}`);
    // Nobody saves turns up while nothing waits.
    if (line.waiting.length === 0) line.passed = Math.max(line.passed, this.#passed);
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const waiting = { admit, isAhead };
      const leave = () => {
        line.waiting.splice(line.waiting.indexOf(waiting), 1);
        reject(signal.reason);
      };
      const ahead = isAhead ? line.waiting.findIndex((each) => !each.isAhead) : -1;
      line.waiting.splice(ahead < 0 ? line.waiting.length : ahead, 0, waiting);
      signal.addEventListener("abort", leave, { once: true });
      this.#admit();
    });
  }
}
