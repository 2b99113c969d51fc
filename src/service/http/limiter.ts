import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";

interface LimiterSettings {
  readonly maxRequestsPerSecond: number;
  /** How many a service that counts in minutes takes, wherever its minute begins. */
  readonly maxRequestsPerMinute?: number | undefined;
  readonly concurrency: number;
  /** Longest wait for the end of a pause before a call is refused for now instead, ms. */
  readonly maxWaitMs: number;
}

/** What a call is for: to see how orders stand that the service has, or anything else. */
export type CallPurpose = "following" | "other";

/** Within this each worker has heard that another one has come, and keeps to a smaller share. */
const MAKE_ROOM_MS = 1_500;
/** After a pause the rate starts at this share and rises to the whole over {@link RAMP_MS}. */
const RAMP_FLOOR = 0.1;
const RAMP_MS = 20_000;
/** A minute of the service with room for requests that the network held up: what left in two never arrives in one. */
const WIDE_MINUTE_MS = 61_200;

/**
 * One gate for all calls to a service: a limit at once, limits a second and a minute, and a pause that everybody keeps. Of several workers
 * each takes its share of the limits, and at least one call at once. Requests are spaced evenly with a burst of at most a tenth
 * of a second's worth.
 * First come, first served; but calls that follow orders at the service and all others take turns. The orders of a batch each
 * have a call waiting, while pages are read one after the other: behind a backlog of thousands of orders, which a low rate makes
 * last for hours, nobody would see what staff and devices did meanwhile.
 */
export class Limiter {
  readonly #settings: LimiterSettings;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #waiting: Readonly<Record<CallPurpose, (() => void)[]>> = { following: [], other: [] };
  #latest: CallPurpose = "other";
  #running = 0;
  /** Whether a call that got its place waits for its turn: the next one is only chosen when that has left. */
  #isOneLeaving = false;
  #callers: number | undefined;
  #nextAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(settings: LimiterSettings, clock: Clock, random: () => number) {
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
  }

  /** How many calls this worker may have under way at once. */
  get atOnce(): number {
    return Math.max(1, Math.floor(this.#settings.concurrency / (this.#callers ?? 1)));
  }

  /**
   * Says how many share the limits, this one included. One that comes to others sends nothing until they have heard
   * of it.
   */
  share(callers: number): void {
    if (this.#callers === undefined && callers > 1) this.#nextAt = this.#clock.monotonic() + MAKE_ROOM_MS;
    this.#callers = callers;
    this.#admit();
  }

  /**
   * Runs `work` once there is room for one more call and it is its {@link turn}. Rejects with the signal's reason while waiting.
   * @throws Failure SERVICE_BUSY when a pause lasts longer than a caller should wait.
   */
  async run<T>(signal: AbortSignal, purpose: CallPurpose, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal, purpose);
    try {
      await this.turn(signal).finally(() => {
        this.#isOneLeaving = false;
        this.#admit();
      });
      return await work();
    } finally {
      this.#running -= 1;
      this.#admit();
    }
  }

  /**
   * Waits until one more request may leave, such as the repetition of one.
   * @throws Failure SERVICE_BUSY when a pause lasts longer than a caller should wait.
   */
  async turn(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const pauseMs = this.#pausedUntil - this.#clock.monotonic();
      if (pauseMs <= 0) break;
      if (pauseMs > this.#settings.maxWaitMs) {
        throw new Failure("SERVICE_BUSY", {
          message: "the service asked for a pause, which is not over yet; nothing was sent",
          retryAfterMs: this.#spread(pauseMs),
        });
      }
      await this.#clock.sleep(this.#spread(pauseMs), signal);
    }
    const now = this.#clock.monotonic();
    const intervalMs = this.#interval(now);
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + intervalMs;
    const burstMs = Math.max(0, Math.min(100, 100 - intervalMs));
    if (at - burstMs > now) await this.#clock.sleep(at - burstMs - now, signal);
  }

  /** Nobody sends anything for that long. A longer pause that is under way stays: then the answer is false. */
  pause(ms: number): boolean {
    const until = this.#clock.monotonic() + ms;
    if (until <= this.#pausedUntil) return false;
    this.#pausedUntil = until;
    return true;
  }

  #interval(now: number): number {
    const { maxRequestsPerSecond, maxRequestsPerMinute = Number.POSITIVE_INFINITY } = this.#settings;
    const callers = this.#callers ?? 1;
    const sinceMs = now - this.#pausedUntil;
    const share = Math.min(1, RAMP_FLOOR + (1 - RAMP_FLOOR) * (sinceMs / RAMP_MS));
    // Each worker has whole requests in a minute, and at least one, so that all of them together have none more than that.
    const inMinute = Math.max(1, Math.floor(maxRequestsPerMinute / callers));
    // A few calls a minute are no rush that has to begin slowly: a tenth of them would be none for minutes.
    return Math.max((1_000 * callers) / (maxRequestsPerSecond * share), WIDE_MINUTE_MS / inMinute);
  }

  /** Up to a tenth later, so that those who wait don't all come back in one instant. */
  #spread(ms: number): number {
    return Math.ceil(ms * (1 + this.#random() * 0.1));
  }

  #admit(): void {
    if (this.#isOneLeaving || this.#running >= this.atOnce) return;
    const next = this.#latest === "other" ? "following" : "other";
    const purpose = this.#waiting[next].length > 0 ? next : this.#latest;
    const admit = this.#waiting[purpose].shift();
    if (!admit) return;
    this.#latest = purpose;
    this.#isOneLeaving = true;
    this.#running += 1;
    admit();
  }

  async #enter(signal: AbortSignal, purpose: CallPurpose): Promise<void> {
    signal.throwIfAborted();
    const waiting = this.#waiting[purpose];
    await new Promise<void>((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(admit), 1);
        reject(signal.reason);
      };
      waiting.push(admit);
      signal.addEventListener("abort", leave, { once: true });
      this.#admit();
    });
  }
}
