import { type Backoff, longestBackoffMs } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import { asFailure, Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { Outage } from "../../core/outage.ts";
import type { Secret, ServiceAuth } from "../settings.ts";
import { readSecret, SecretWatch } from "./secret.ts";
import { assumeLife, type IssuedToken, isHeaderSafe, renewalAfter, requestToken } from "./token-request.ts";
import type { Wire } from "./wire.ts";

/** Where the bearer credential of each call comes from. */
export interface TokenSource {
  /** A token that should be valid now. */
  get(signal: AbortSignal): Promise<string>;
  /** Another token than `used`, which the service refused. */
  renew(used: string, signal: AbortSignal): Promise<string>;
  /** The service took this token. */
  accepted(token: string): void;
  /** How long the current token lives; undefined before the first, and for one that has no end. */
  readonly life: TokenLife | undefined;
  /** Stops a renewal that is under way. */
  close(): void;
}

/** A token's life: as the answer says, or as it is assumed where the answer says nothing. */
export interface TokenLife {
  readonly lifeMs: number;
  /** What is left of it, ms; not above 0 once it is over. */
  readonly leftMs: number;
  readonly isAssumed: boolean;
}

/** What every source of tokens is given. */
interface TokenDeps {
  readonly clock: Clock;
  /** Where its settings stand in the configuration, such as `service.auth`, for messages. */
  readonly key: string;
  /** Called when a secret that was refused has been replaced: it is worth trying again now. */
  readonly onSecretChanged?: (() => void) | undefined;
}

const ENDPOINT_BACKOFF: Backoff = { firstMs: 5_000, maxMs: 300_000 };
/** Between token requests when fresh tokens are refused. */
const FLOOR: Backoff = { firstMs: 1_000, maxMs: 256_000 };
/** A call waits that long for the floor; beyond it, it is refused for now. */
const LONGEST_FLOOR_WAIT_MS = 5_000;

interface Current {
  readonly value: string;
  readonly askedAt: number;
  readonly lifeMs: number;
  readonly isLifeAssumed: boolean;
  /** From which age on it is renewed, ms. */
  readonly renewAfterMs: number;
  wasAccepted: boolean;
  /** Many calls learn at once that a token is refused; it counts once. */
  wasRefused: boolean;
}

/**
 * Client credentials tokens for any number of callers: one request at a time, which all of them wait for; renewed
 * ahead of the end while callers still use the old one, by each worker at another moment; ages measured by the monotonic clock from before the
 * request, so neither a jumping clock nor a slow answer lets a token look younger than it is.
 */
export class OAuthTokens implements TokenSource {
  readonly #ask: (signal: AbortSignal) => Promise<IssuedToken>;
  readonly #turn: (signal: AbortSignal) => Promise<void>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  readonly #watch: SecretWatch;
  /** What the last request was made with. */
  #secret: string | undefined;
  #current: Current | undefined;
  #flight: Promise<Current> | undefined;
  /** What is assumed before anything was learnt; never more than that. */
  readonly #firstAssumedLifeMs: number;
  #assumedLifeMs: number;
  readonly #endpoint: Outage<Failure>;
  #refusedInARow = 0;
  #isScopeNoted = false;

  constructor(
    auth: Extract<ServiceAuth, { tokenUrl: string }>,
    wire: Wire,
    deps: TokenDeps & {
      readonly random: () => number;
      readonly logger: Logger;
      /** Waits until a request may leave: those for tokens count like calls. */
      readonly turn: (signal: AbortSignal) => Promise<void>;
    },
  ) {
    this.#firstAssumedLifeMs = auth.assumedLifetimeMs;
    this.#assumedLifeMs = this.#firstAssumedLifeMs;
    this.#ask = async (signal) => {
      this.#secret = undefined;
      this.#secret = await readSecret(auth.clientSecret, `${deps.key}.clientSecret`);
      return requestToken(
        { auth, key: deps.key, secret: this.#secret, wire, now: () => deps.clock.now() },
        signal,
      );
    };
    this.#watch = new SecretWatch(auth.clientSecret, deps.clock, () => {
      deps.logger.info("the client secret has changed; a token is asked for again");
      this.#endpoint.over();
      deps.onSecretChanged?.();
    });
    this.#endpoint = new Outage(deps.clock, ENDPOINT_BACKOFF, deps.random);
    this.#turn = deps.turn;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#logger = deps.logger;
  }

  get life(): TokenLife | undefined {
    const current = this.#current;
    if (current === undefined) return undefined;
    const { lifeMs, askedAt, isLifeAssumed: isAssumed } = current;
    return { lifeMs, leftMs: lifeMs - (this.#clock.monotonic() - askedAt), isAssumed };
  }

  async get(signal: AbortSignal): Promise<string> {
    const current = this.#current;
    if (current) {
      const ageMs = this.#clock.monotonic() - current.askedAt;
      if (ageMs < current.renewAfterMs) return current.value;
      if (ageMs < current.lifeMs) {
        // Still good: ask in the background. A failure shows when the token has ended.
        this.#fetch().catch(() => {});
        return current.value;
      }
    }
    return (await waitFor(this.#fetch(), signal)).value;
  }

  async renew(used: string, signal: AbortSignal): Promise<string> {
    const current = this.#current;
    if (current && current.value !== used) return current.value;
    if (current && !this.#flight) {
      await this.#countRefusal(current, signal);
      // Somebody else may have renewed it while this call waited for the floor.
      if (this.#current && this.#current.value !== used) return this.#current.value;
    }
    return (await waitFor(this.#fetch(), signal)).value;
  }

  accepted(token: string): void {
    if (this.#current?.value !== token) return;
    this.#current.wasAccepted = true;
    this.#refusedInARow = 0;
  }

  close(): void {
    this.#watch.close();
    this.#stop.abort(new Failure("SERVICE_STOPPED", "the client was closed"));
  }

  /** Learns from a 401, and slows down when tokens are refused as fast as they are issued. */
  async #countRefusal(current: Current, signal: AbortSignal): Promise<void> {
    const ageMs = this.#clock.monotonic() - current.askedAt;
    if (!current.wasRefused) {
      current.wasRefused = true;
      if (!current.wasAccepted) this.#refusedInARow += 1;
      else if (current.isLifeAssumed) {
        this.#assumedLifeMs = assumeLife(
          this.#assumedLifeMs,
          { refusedAtAgeMs: ageMs },
          this.#firstAssumedLifeMs,
        );
      }
    }
    const floorMs = longestBackoffMs(this.#refusedInARow + 1, FLOOR);
    const waitMs = current.wasAccepted ? 0 : floorMs - ageMs;
    if (waitMs > LONGEST_FLOOR_WAIT_MS) {
      throw new Failure("SERVICE_CREDENTIALS_REFUSED", {
        message: "the service refuses each fresh token",
        isAnswered: true,
        retryAfterMs: Math.ceil(waitMs),
      });
    }
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
  }

  /** Not a failure: the service may not need what was left out. */
  #noteScopes(missing: readonly string[]): void {
    if (missing.length > 0 && !this.#isScopeNoted) {
      this.#logger.warn({ missing }, "the token endpoint grants less scope than was asked for");
    }
    this.#isScopeNoted = missing.length > 0;
  }

  #fetch(): Promise<Current> {
    if (this.#flight) return this.#flight;
    const { away, leftMs } = this.#endpoint;
    if (away && leftMs > 0) {
      const { code, message, ownHint: hint, cause } = away.cause;
      return Promise.reject(new Failure(code, { message, hint, retryAfterMs: Math.ceil(leftMs), cause }));
    }
    this.#flight = this.#request().finally(() => {
      this.#flight = undefined;
    });
    return this.#flight;
  }

  async #request(): Promise<Current> {
    await this.#turn(this.#stop.signal);
    const askedAt = this.#clock.monotonic();
    try {
      const issued = await this.#ask(this.#stop.signal);
      this.#noteScopes(issued.missingScopes);
      const before = this.#current;
      if (before?.isLifeAssumed && !before.wasRefused && askedAt - before.askedAt < before.lifeMs) {
        this.#assumedLifeMs = assumeLife(this.#assumedLifeMs, "renewed", this.#firstAssumedLifeMs);
      }
      if (this.#endpoint.over()) this.#logger.info("token endpoint answers again");
      const lifeMs = issued.lifeMs ?? this.#assumedLifeMs;
      const current: Current = {
        value: issued.value,
        askedAt,
        lifeMs,
        renewAfterMs: renewalAfter(lifeMs, this.#random()),
        isLifeAssumed: issued.lifeMs === undefined,
        // The same token again is no fresh one.
        wasAccepted: before?.value === issued.value && before.wasAccepted && !before.wasRefused,
        wasRefused: false,
      };
      this.#current = current;
      return current;
    } catch (error) {
      const failure = asFailure(error);
      if (this.#stop.signal.aborted) throw failure;
      const nextInMs = this.#endpoint.failed(failure, failure.retryAfterMs);
      if (failure.code === "SERVICE_CREDENTIALS_REFUSED") this.#watch.start(this.#secret);
      this.#logger.warn({ err: failure, nextInMs }, "no token from the token endpoint");
      throw failure;
    }
  }
}

/** A static API token; read again from time to time and after a 401, so that a rotated file is picked up. */
export class StaticTokens implements TokenSource {
  readonly #secret: Secret;
  readonly #clock: Clock;
  readonly #key: string;
  readonly #watch: SecretWatch;
  #current: { readonly value: string; readonly readAt: number } | undefined;

  constructor(secret: Secret, deps: TokenDeps) {
    this.#secret = secret;
    this.#clock = deps.clock;
    this.#key = `${deps.key}.apiToken`;
    this.#watch = new SecretWatch(secret, deps.clock, () => deps.onSecretChanged?.());
  }

  async get(): Promise<string> {
    const isFresh = this.#current && this.#clock.monotonic() - this.#current.readAt < 60_000;
    return isFresh && this.#current ? this.#current.value : this.#read();
  }

  async renew(used: string): Promise<string> {
    const value = await this.#read();
    if (value !== used) return value;
    this.#watch.start(used);
    throw new Failure("SERVICE_CREDENTIALS_REFUSED", {
      message: "the service refuses the API token",
      hint: `Correct \`${this.#key}\` and restart the daemon, or its secret file, which is read again by itself.`,
      isAnswered: true,
    });
  }

  readonly life = undefined;

  accepted(): void {}

  close(): void {
    this.#watch.close();
  }

  async #read(): Promise<string> {
    const value = await readSecret(this.#secret, this.#key);
    if (!isHeaderSafe(value)) {
      throw new Failure("SERVICE_CREDENTIALS_REFUSED", `${this.#key} holds characters that no header can`);
    }
    this.#current = { value, readAt: this.#clock.monotonic() };
    return value;
  }
}

/** Waits for a promise that others share; stops waiting, without stopping it, when `signal` aborts. */
async function waitFor<T>(shared: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return new Promise<T>((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    shared.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
