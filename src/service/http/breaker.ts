import type { Clock } from "../../core/clock.ts";
import { Failure, type FailureCode } from "../../core/failures.ts";

/** `closed`: calls go through. `open`: none does. `half-open`: one does, to see whether the service is back. */
export type BreakerState = "closed" | "open" | "half-open";

export interface BreakerChange {
  readonly state: BreakerState;
  /** The failure that opened it; absent when it closed. */
  readonly cause?: FailureCode | undefined;
  /** How long it stays open, ms; only with `open`. */
  readonly openMs?: number | undefined;
}

/** Why and since when calls are held back. */
export interface Opening {
  /** When it opened after having been closed; trials that failed since then don't change it. */
  readonly since: Date;
  readonly cause: FailureCode;
  /** The message of the failure that opened it last, for an operator. */
  readonly text: string;
  /** When a single call is let through again; where that has passed, the next call is that one. */
  readonly nextTryAt: Date;
}

/** What callers outside see of the circuit breaker. */
export interface Breaker {
  readonly state: BreakerState;
  /** What is known of its opening, while it is not closed. */
  readonly opening: Opening | undefined;
  /** Calls back on each change until the returned function is called. */
  onChange(listener: (change: BreakerChange) => void): () => void;
}

/** Failures in a row that open it. */
const THRESHOLD = 5;
/** Failures in a row after which reads are no longer tried again by themselves: the service seems to be down. */
const REPEATS_END_AT = 2;
const FIRST_OPEN_MS = 5_000;
const LONGEST_OPEN_MS = 300_000;

/** Failures that mean trouble over there. All others mean nothing: our own stop, a lost lease. */
const TROUBLE: ReadonlySet<FailureCode> = new Set([
  "SERVICE_UNREACHABLE",
  "SERVICE_UNAVAILABLE",
  "SERVICE_NO_ANSWER",
  "SERVICE_BUSY",
  "SERVICE_SHAPE_UNKNOWN",
  "SERVICE_TOKEN_UNAVAILABLE",
  "SERVICE_CREDENTIALS_REFUSED",
]);
/** Failures that a healthy service gives too. */
const HEALTHY: ReadonlySet<FailureCode> = new Set([
  "SERVICE_REFUSED",
  "SERVICE_NOT_FOUND",
  "SERVICE_ANSWER_DIFFERS",
  "CONTAINER_OF_OTHER_SUBJECT",
]);

/**
 * Keeps calls back while the service is down. Five failures in a row open it, refused credentials at once; it stays
 * open for 5 s, then 10 s, 20 s … 5 min (each up to a fifth longer by chance), and after each such time lets a
 * single call through, which closes it or opens it again.
 */
export class CircuitBreaker implements Breaker {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #listeners = new Set<(change: BreakerChange) => void>();
  readonly #stop = new AbortController();
  #state: BreakerState = "closed";
  #why: Opening | undefined;
  #failures = 0;
  /** Openings in a row; each lasts longer than the one before. */
  #openings = 0;
  /** Keeps the timers of different openings apart. */
  #opening = 0;
  #openUntil = 0;
  #isProbing = false;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  get state(): BreakerState {
    return this.#state;
  }

  get opening(): Opening | undefined {
    return this.#why;
  }

  onChange(listener: (change: BreakerChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Runs one call under the breaker's eyes.
   * @throws Failure SERVICE_PAUSED, with the time until the next probe, when calls are held back.
   */
  async guard<T>(call: () => Promise<T>): Promise<T> {
    const isProbe = this.#state === "half-open" && !this.#isProbing;
    if (this.#state !== "closed" && !isProbe) throw this.#heldBack();
    if (isProbe) this.#isProbing = true;
    try {
      const result = await call();
      this.#succeeded(isProbe);
      return result;
    } catch (error) {
      this.#failed(error, isProbe);
      throw error;
    } finally {
      if (isProbe) this.#isProbing = false;
    }
  }

  /** @throws Failure SERVICE_PAUSED while calls are held back; lets a caller off before it queues for a turn. */
  refuseIfOpen(): void {
    if (this.#state === "open") throw this.#heldBack();
  }

  /**
   * Whether a read that failed is worth another try at once: not while calls are held back, or fail one after the other. The
   * one that is let through is: at a service that fails now and then, a single lost answer would hold calls back twice as long.
   */
  get mayRepeat(): boolean {
    return this.#state === "half-open" || (this.#state === "closed" && this.#failures < REPEATS_END_AT);
  }

  /** Lets a call through now instead of later: what kept calls back is said to be fixed. */
  probeNow(): void {
    if (this.#state === "open") this.#change({ state: "half-open", cause: this.#why?.cause });
  }

  /** Ends the timer of an open breaker; used when the client closes. */
  close(): void {
    this.#stop.abort();
  }

  #heldBack(): Failure {
    const leftMs = Math.max(1_000, this.#openUntil - this.#clock.monotonic());
    return new Failure("SERVICE_PAUSED", {
      message: `calls to the service are held back after ${this.#why?.cause ?? "failures"}; nothing was sent`,
      retryAfterMs: Math.ceil(leftMs),
    });
  }

  #succeeded(isProbe: boolean): void {
    // A late success of a call that began before the opening doesn't close it: only the probe does.
    if (this.#state !== "closed" && !isProbe) return;
    this.#failures = 0;
    this.#openings = 0;
    this.#why = undefined;
    if (this.#state !== "closed") this.#change({ state: "closed" });
  }

  #failed(error: unknown, isProbe: boolean): void {
    if (!(error instanceof Failure)) return;
    // "Come back in 30 s" is a service that works; the limiter keeps that pause.
    const isHealthy = error.code === "SERVICE_BUSY" && error.retryAfterMs !== undefined;
    if (isHealthy || HEALTHY.has(error.code)) {
      this.#succeeded(isProbe);
      return;
    }
    if (!TROUBLE.has(error.code) || (this.#state !== "closed" && !isProbe)) return;
    this.#failures += 1;
    if (isProbe || this.#failures >= THRESHOLD || error.code === "SERVICE_CREDENTIALS_REFUSED") {
      this.#open(error);
    }
  }

  #open({ code: cause, message: text, retryAfterMs: askedMs = 0 }: Failure): void {
    const backoffMs = Math.min(LONGEST_OPEN_MS, FIRST_OPEN_MS * 2 ** Math.min(this.#openings, 20));
    const openMs = Math.ceil(Math.max(askedMs, backoffMs * (1 + this.#random() * 0.2)));
    this.#openings += 1;
    const now = this.#clock.now();
    const nextTryAt = new Date(now + openMs);
    this.#why = { since: this.#why?.since ?? new Date(now), cause, text, nextTryAt };
    this.#openUntil = this.#clock.monotonic() + openMs;
    this.#change({ state: "open", cause, openMs });
    const opening = ++this.#opening;
    this.#clock.sleep(openMs, this.#stop.signal).then(
      () => {
        // It may have been probed before, and even have been opened again.
        if (this.#opening === opening && this.#state === "open") this.#change({ state: "half-open", cause });
      },
      () => {},
    );
  }

  #change(change: BreakerChange): void {
    this.#state = change.state;
    for (const listener of this.#listeners) listener(change);
  }
}
