import type { Backoff } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import { Failure, type FailureCode, LASTING } from "../../core/failures.ts";
import { type Away, Outage } from "../../core/outage.ts";
import type { OtherWorkers, ServiceOutage } from "../../core/service-outage.ts";
import { LONGEST_RETRY_MS } from "./answer.ts";

/** `closed`: calls go through. `open`: none does. `half-open`: one does, to see whether the service is back. */
type BreakerState = "closed" | "open" | "half-open";

export interface BreakerChange {
  readonly state: BreakerState;
  /** The failure that opened it; absent when it closed. */
  readonly cause?: FailureCode | undefined;
  /** How long it stays open, ms; only with `open`. */
  readonly openMs?: number | undefined;
}

/** Why and since when calls are held back: by the failure that opened the breaker last. */
export type Opening = Away<{
  readonly code: FailureCode;
  /** The failure's message with its own hint, for an operator. */
  readonly text: string;
}>;

/** What callers outside see of the circuit breaker. */
export interface Breaker {
  readonly state: BreakerState;
  /** What is known of its opening, while it is not closed. */
  readonly opening: Opening | undefined;
  /** Whether the service answered the last call; undefined before the first. */
  readonly isAnswering: boolean | undefined;
  /** When the service answered last. */
  readonly lastAnswerAt: Date | undefined;
  /** Calls back on each change until the returned function is called. */
  onChange(listener: (change: BreakerChange) => void): () => void;
}

/** Failures in a row that open it. */
const THRESHOLD = 5;
/** Failures in a row after which reads are no longer tried again by themselves: the service seems to be down. */
const REPEATS_END_AT = 2;
const OPENINGS: Backoff = { firstMs: 5_000, maxMs: 300_000 };
/** What two looks at the same moment may differ by, since each comes over the network. */
const SAME_MOMENT_MS = 250;

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
const HEALTHY: ReadonlySet<string> = new Set([
  "SERVICE_REFUSED",
  "SERVICE_NOT_FOUND",
  "SERVICE_ANSWER_DIFFERS",
  // It answers, and what is wrong with one answer holds up nobody else's.
  ...LASTING,
  "CONTAINER_OF_OTHER_SUBJECT",
]);

/**
 * Keeps calls back while the service is down. Five failures in a row open it, refused credentials at once; it stays
 * open for 5 s, then 10 s, 20 s … 5 min (each up to a fifth shorter by chance), and after each such time lets a
 * single call through, which closes it or opens it again.
 *
 * What one of several workers finds opens those of the others for as long; then each lets a call of its own through. One that the
 * service has answered since the other's first failure goes on: the trouble is the other's own.
 */
export class CircuitBreaker implements Breaker {
  readonly #clock: Clock;
  readonly #others: OtherWorkers | undefined;
  readonly #listeners = new Set<(change: BreakerChange) => void>();
  readonly #stop = new AbortController();
  #state: BreakerState = "closed";
  readonly #outage: Outage<Opening["cause"]>;
  #failures = 0;
  /** Keeps the timers of different openings apart. */
  #opening = 0;
  #isProbing = false;
  #isAnswering: boolean | undefined;
  #lastAnswerAt: Date | undefined;
  /** Whether it is open by another worker's finding alone, so that it is over when that is. */
  #isFollowing = false;
  /** When the first of the failures in a row came. */
  #failingSince = 0;
  /** When the latest call began that the service answered. */
  #answeredAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: () => number, others?: OtherWorkers) {
    this.#clock = clock;
    this.#outage = new Outage(clock, OPENINGS, random);
    this.#others = others;
  }

  get state(): BreakerState {
    return this.#state;
  }

  get opening(): Opening | undefined {
    return this.#outage.away;
  }

  get isAnswering(): boolean | undefined {
    return this.#isAnswering;
  }

  get lastAnswerAt(): Date | undefined {
    return this.#lastAnswerAt;
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
    this.#isProbing ||= isProbe;
    const startedAt = this.#clock.monotonic();
    try {
      const result = await call();
      this.#succeeded(isProbe, startedAt);
      return result;
    } catch (error) {
      this.#failed(error, isProbe, startedAt);
      throw error;
    } finally {
      if (isProbe) this.#isProbing = false;
    }
  }

  /**
   * What the workers know of the service together, with each heartbeat. One that may try finds out by itself.
   *
   * @param outage undefined while nothing holds calls back
   */
  follow(outage: ServiceOutage | undefined): void {
    if (this.#state === "half-open") return;
    if (outage === undefined) {
      if (this.#isFollowing) this.#halfOpen();
      return;
    }
    if (this.#state === "closed" && this.#answeredAt > this.#clock.monotonic() - outage.failingMs) {
      this.#others?.reportRecovery();
      return;
    }
    const leftMs = Math.min(LONGEST_RETRY_MS, outage.leftMs);
    if (leftMs <= SAME_MOMENT_MS) return;
    if (this.#state === "open" && leftMs <= this.#outage.leftMs + SAME_MOMENT_MS) return;
    this.#isFollowing ||= this.#state === "closed";
    this.#outage.heardOf({ code: outage.cause, text: outage.text }, outage.since, leftMs);
    this.#holdFor(leftMs, outage.cause);
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
    if (this.#state === "open") this.#halfOpen();
  }

  /** Ends the timer of an open breaker; used when the client closes. */
  close(): void {
    this.#stop.abort();
  }

  #heldBack(): Failure {
    const { away, leftMs } = this.#outage;
    return new Failure("SERVICE_PAUSED", {
      message: `calls to the service are held back after ${away?.cause.code ?? "failures"}; nothing was sent`,
      retryAfterMs: Math.ceil(Math.max(1_000, leftMs)),
    });
  }

  #succeeded(isProbe: boolean, startedAt: number): void {
    this.#answeredAt = Math.max(this.#answeredAt, startedAt);
    this.#isAnswering = true;
    this.#lastAnswerAt = new Date(this.#clock.now());
    // A late success of a call that began before the opening doesn't close it: only the probe does.
    if (this.#state !== "closed" && !isProbe) return;
    this.#failures = 0;
    if (this.#state === "closed") return;
    this.#outage.over();
    this.#change({ state: "closed" });
    this.#others?.reportRecovery();
  }

  #failed(error: unknown, isProbe: boolean, startedAt: number): void {
    if (!(error instanceof Failure)) return;
    // What was not sent since the service asked for a pause says nothing new of it.
    if (error.code === "SERVICE_BUSY" && !error.isAnswered) return;
    // "Come back in 30 s" is a service that works; the limiter keeps that pause.
    const isHealthy = error.code === "SERVICE_BUSY" && error.retryAfterMs !== undefined;
    if (isHealthy || HEALTHY.has(error.code)) {
      this.#succeeded(isProbe, startedAt);
      return;
    }
    if (!TROUBLE.has(error.code)) return;
    this.#isAnswering = false;
    if (this.#state !== "closed" && !isProbe) return;
    if (this.#failures === 0) this.#failingSince = this.#clock.monotonic();
    this.#failures += 1;
    if (isProbe || this.#failures >= THRESHOLD || error.code === "SERVICE_CREDENTIALS_REFUSED") {
      this.#open(error);
    }
  }

  #open({ code, message, ownHint, retryAfterMs }: Failure): void {
    const text = ownHint === undefined ? message : `${message}. ${ownHint}`;
    const since = this.#outage.away?.since ?? new Date(this.#clock.now());
    const openMs = this.#outage.failed({ code, text }, retryAfterMs);
    this.#isFollowing = false;
    const failingMs = this.#clock.monotonic() - this.#failingSince;
    this.#others?.reportOutage({ cause: code, text, since, failingMs, leftMs: openMs });
    this.#holdFor(openMs, code);
  }

  #holdFor(openMs: number, cause: FailureCode): void {
    if (this.#state !== "open") this.#change({ state: "open", cause, openMs });
    const opening = ++this.#opening;
    this.#clock.sleep(openMs, this.#stop.signal).then(
      () => {
        // It may have been probed before, and even have been opened again.
        if (this.#opening === opening && this.#state === "open") this.#halfOpen();
      },
      () => {},
    );
  }

  #halfOpen(): void {
    this.#isFollowing = false;
    this.#change({ state: "half-open", cause: this.#outage.away?.cause.code });
  }

  #change(change: BreakerChange): void {
    this.#state = change.state;
    for (const listener of this.#listeners) listener(change);
  }
}
