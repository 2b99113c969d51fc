import type { Clock } from "../../core/clock.ts";
import { FAILURES, Failure, type FailureCode } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { type Phi, phi } from "../../core/phi.ts";
import { findPath, nameOfPath, surfaceAt } from "../../core/service-catalogue.ts";
import type { CallPurpose } from "../../core/service-quota.ts";
import { asSentence } from "../../core/tls-trouble.ts";
import type { CallSettings } from "../settings.ts";
import { type Answer, parseAnswer, parseRetryAfter } from "./answer.ts";
import type { CircuitBreaker } from "./breaker.ts";
import { type AnswerMeaning, type CallKind, classify, readPauseMs, type Seen } from "./classify.ts";
import type { Limiter } from "./limiter.ts";
import { describeRefusal, type KnownCodes, keepAnswer } from "./refusal.ts";
import type { Turn } from "./sent-calls.ts";
import type { TokenSource } from "./token.ts";
import { reasonOf, SERVICE_TLS, type Wire } from "./wire.ts";

/** Query parameters in the order in which they are sent; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

interface Call<T> {
  readonly method: CallKind["method"];
  /**
   * The path as the specification writes it, such as `/api/procedures/{id}`, which also names the call in counters; where
   * the service has it is `settings.paths`. A cancel call has the path that the site gave.
   */
  readonly route: string;
  /** Set for the call that creates a request or procedure of this type; some error codes mean more there. */
  readonly creates?: CallKind["creates"];
  /** Set for the call that cancels: 2xx without a body is then an answer that says yes. */
  readonly cancels?: CallKind["cancels"];
  /** Value of `{id}` in the route. */
  readonly id?: number | undefined;
  readonly query?: Query | undefined;
  readonly body?: unknown;
  /** Reads the answer of a call that went well; throws a Failure when it can't. */
  readonly read: (answer: Answer) => T;
  /** Runs right before the request leaves; when it throws, nothing is sent. For the caller's lease check. */
  readonly beforeSend?: (() => void | Promise<void>) | undefined;
}

interface TransportParts {
  readonly settings: CallSettings;
  readonly wire: Wire;
  readonly tokens: TokenSource;
  /** For calls of the external surface and what lies below its base, where those have a credential of their own. */
  readonly externalTokens?: TokenSource | undefined;
  readonly limiter: Limiter;
  readonly breaker: CircuitBreaker;
  readonly clock: Clock;
  readonly ledgerNow: () => number | undefined;
  /** Between 0 and 1, for jitter. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly onCall?: ((call: ObservedCall) => void) | undefined;
}

/** What functions that make calls need of a {@link Transport}, with the purpose settled. */
export interface Caller extends Pick<Transport, "clockSkewMs"> {
  call<T>(call: Call<T>, signal: AbortSignal): Promise<T>;
}

/** A transport for calls with a purpose; see `Limiter`. */
export function callsFor(transport: Transport, purpose: CallPurpose): Caller {
  return {
    call: (call, signal) => transport.call(call, signal, purpose),
    get clockSkewMs() {
      return transport.clockSkewMs;
    },
  };
}

/** How a call waits for what it needs to leave. */
interface Sending {
  readonly signal: AbortSignal;
  /** Waits until one more request may leave. */
  readonly turn: (signal: AbortSignal) => Promise<Turn>;
}

/** What was seen of an exchange, and what it means. */
interface Judged {
  readonly seen: Seen;
  readonly verdict: AnswerMeaning;
}

/** A call that was made, for metrics. */
export interface ObservedCall {
  /** `GET /api/procedures/{id}`: no ids, no query. */
  readonly route: string;
  /** The answer's status, or why there was none (`timeout`, `reset` …). */
  readonly outcome: string;
  readonly ms: number;
}

/** An answer during which the wall clock went by so much more or less than time was under way while the machine slept: its `Date` is old. */
const MOST_JUMP_MS = 1_000;

/**
 * Carries calls: breaker, concurrency and rate, token, exchange, verdict. A read that fails for now is tried again a few
 * times (`readPauseMs` in `classify.ts`), and one whose token is refused (a 401, or what a site's rule calls `credentials`) with a new token.
 * A call that changes the service is never sent twice: its token is renewed too, and the caller looks at the service first.
 */
export class Transport {
  readonly #parts: TransportParts;
  readonly #counts = new Map<string, number>();
  readonly #knownCodes: KnownCodes;
  #clockSkewMs: number | undefined;
  /** The token that each source gave after it had been refused to a call that changes the service. */
  readonly #renewedForWrite = new WeakMap<TokenSource, string>();
  /** When tokens of each source were renewed last since one had been refused, monotonic ms; and the last of them. */
  readonly #renewedAt = new WeakMap<TokenSource, readonly number[]>();
  readonly #lastToken = new WeakMap<TokenSource, string>();
  /** When the service last did what a call with credentials of this source asked for, monotonic ms. */
  readonly #letInAt = new WeakMap<TokenSource, number>();

  constructor(parts: TransportParts) {
    this.#parts = parts;
    this.#knownCodes = new Set(parts.settings.errors.flatMap(({ code }) => code ?? []));
    parts.breaker.onChange((change) => {
      // Back after an outage: not with everything at once.
      if (change.state === "closed") parts.limiter.pause(0);
    });
  }

  /** Requests sent so far by `METHOD route`. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** How far the service's clock is ahead of the ledger's by its last `Date` header, ms; undefined before the first. */
  get clockSkewMs(): number | undefined {
    return this.#clockSkewMs;
  }

  /**
   * Makes one call.
   * @throws Failure by the table in `classify.ts`; SERVICE_TOKEN_REFUSED when a call that changes the service came with a
   * token that is refused, and a new one was taken; SERVICE_PATH_NONE, SERVICE_PAUSED, SERVICE_STOPPED, SERVICE_BUSY and the token's failures
   * when nothing was sent, or (`isAnswered`) after such a refusal; whatever `beforeSend` or `read` throws.
   */
  async call<T>(call: Call<T>, signal: AbortSignal, purpose: CallPurpose): Promise<T> {
    const { breaker, limiter, settings } = this.#parts;
    pathOf(call, settings);
    breaker.refuseIfOpen();
    try {
      // An order that was looked up is sent before others are looked up: what was read is fresh then, and few are half done.
      const waiting = { purpose, isAhead: call.method !== "GET" };
      return await limiter.run(signal, waiting, (turn) =>
        breaker.guard(() => this.#send(call, { signal, turn })),
      );
    } catch (error) {
      if (error instanceof Failure || !signal.aborted) throw error;
      // The signal's own reason: it was stopped while it waited, so nothing had left.
      throw new Failure("SERVICE_STOPPED", {
        message: `${name(call)}: stopped before it was sent`,
        cause: error,
      });
    }
  }

  /** The circuit breaker sees the whole of it: what another try cured is no failure of the service. */
  async #send<T>(call: Call<T>, sending: Sending): Promise<T> {
    const { breaker, clock, logger, random, settings } = this.#parts;
    let startedAt: number | undefined;
    let pausedMs = 0;
    const turn = async (signal: AbortSignal) => {
      const taken = await sending.turn(signal);
      startedAt ??= taken.at;
      return taken;
    };
    for (let tries = 1; ; tries += 1) {
      const { seen, verdict, token } = await this.#sendOnce(call, { ...sending, turn });
      const { longestPauseMs } = settings;
      const step = { tries, nowMs: clock.now(), random: random(), longestPauseMs };
      const pauseMs = call.method === "GET" ? readPauseMs(seen, verdict, step) : undefined;
      // What took as long as a call may take is not tried again, nor anything while the service is down.
      const tookMs = clock.monotonic() - (startedAt ?? clock.monotonic());
      const isLate =
        tookMs - pausedMs >= settings.timeoutMs || tookMs >= Math.max(settings.timeoutMs, longestPauseMs);
      if (pauseMs === undefined || isLate || !breaker.mayRepeat)
        return this.#judge(call, { seen, verdict }, token);
      logger.debug({ call: name(call), verdict, tries, pauseMs }, "a read is tried again");
      pausedMs += pauseMs;
      await clock.sleep(pauseMs, sending.signal);
    }
  }

  /** One exchange, or two where the first shows a read that its token has ended. */
  async #sendOnce(call: Call<unknown>, sending: Sending): Promise<Judged & { readonly token: Phi }> {
    const { signal } = sending;
    const tokens = this.#tokensOf(call);
    let token = await tokens.get(signal);
    let judged = await this.#exchange(call, token, sending);
    if (judged.verdict === "SERVICE_CREDENTIALS_REFUSED" && !this.#isRenewedOften(tokens)) {
      if (call.method !== "GET") return this.#refuseWrite(call, judged, { tokens, token }, signal);
      token = await this.#renew(tokens, token, signal);
      judged = await this.#exchange(call, token, sending);
    }
    const { seen, verdict } = judged;
    if ("answer" in seen && seen.answer.status !== 401 && verdict !== "SERVICE_CREDENTIALS_REFUSED") {
      tokens.accepted(token);
    }
    if (verdict === "ok") this.#letInAt.set(tokens, this.#parts.clock.monotonic());
    return { ...judged, token: phi(token) };
  }

  #tokensOf(call: Pick<Call<unknown>, "route" | "cancels">): TokenSource {
    const { externalTokens, tokens, settings } = this.#parts;
    // A site's own path has no other place.
    const paths = call.cancels ? {} : settings.paths;
    return (surfaceAt(paths, call.route) === "external" ? externalTokens : undefined) ?? tokens;
  }

  /** Whether a refusal is about this call alone, such as one facility's: the same credentials were let in a while ago. */
  #isForThisCall(tokens: TokenSource): boolean {
    const at = this.#letInAt.get(tokens) ?? Number.NEGATIVE_INFINITY;
    return this.#parts.clock.monotonic() - at < LET_IN_MS;
  }

  /**
   * Whether tokens were renewed often a moment ago since one was refused, while others are let in: another one would be refused
   * as well, and what a refused facility asks for must not wear out the token endpoint.
   */
  #isRenewedOften(tokens: TokenSource): boolean {
    const since = this.#parts.clock.monotonic() - RENEWED_MS;
    const recent = (this.#renewedAt.get(tokens) ?? []).filter((at) => at > since);
    return recent.length >= MOST_RENEWALS && this.#isForThisCall(tokens);
  }

  /** Another token than `used`. Whether the token endpoint or the service refuses makes the difference: the first is for all. */
  async #renew(tokens: TokenSource, used: string, signal: AbortSignal): Promise<string> {
    try {
      const token = await tokens.renew(used, signal);
      if (token !== this.#lastToken.get(tokens)) {
        this.#lastToken.set(tokens, token);
        const before = this.#renewedAt.get(tokens) ?? [];
        this.#renewedAt.set(tokens, [...before, this.#parts.clock.monotonic()].slice(-MOST_RENEWALS));
      }
      return token;
    } catch (error) {
      const isByService = error instanceof Failure && error.isAnswered;
      if (!isByService || error.code !== "SERVICE_CREDENTIALS_REFUSED" || !this.#isForThisCall(tokens))
        throw error;
      throw new Failure("SERVICE_ACCESS_REFUSED", { message: error.message, isAnswered: true });
    }
  }

  /** Nobody calls for as long as the service asks; whatever a 503 says of this call, it says when the next ones are welcome. */
  #hear(verdict: AnswerMeaning, turn: Turn, answer: Answer): void {
    const { clock, limiter } = this.#parts;
    limiter.heard(turn, answer);
    // It has seen to a 429 itself.
    if (answer.status === 429) return;
    if (verdict !== "SERVICE_BUSY" && answer.status !== 503) return;
    const retryAfterMs = parseRetryAfter(answer.headers, clock.now());
    if (retryAfterMs !== undefined) limiter.pauseAll(retryAfterMs);
  }

  /**
   * A call that changes the service was answered with a refusal of its token. A new token is taken for the next try; when
   * the one refused had been taken for the same reason, it isn't the token that is wrong.
   */
  async #refuseWrite(
    call: Call<unknown>,
    judged: Judged,
    { tokens, token }: { readonly tokens: TokenSource; readonly token: string },
    signal: AbortSignal,
  ): Promise<never> {
    const { seen } = judged;
    const isAgain = this.#renewedForWrite.get(tokens) === token;
    try {
      this.#renewedForWrite.set(tokens, await this.#renew(tokens, token, signal));
    } catch (error) {
      if (!(error instanceof Failure)) throw answered(new Failure("SERVICE_STOPPED", STOPPED_RENEWING));
      throw answered(error);
    }
    if (isAgain) this.#judge(call, judged, phi(token));
    const status = "answer" in seen ? seen.answer.status : 401;
    throw new Failure("SERVICE_TOKEN_REFUSED", {
      message: `${name(call)}: status ${status} refused the access token; a new one was taken`,
      isAnswered: true,
    });
  }

  /** Waits for its turn last, when all else is there: what waited together must not leave together. */
  async #exchange<T>(call: Call<T>, token: string, { signal, turn }: Sending): Promise<Judged> {
    const { breaker, wire, settings, clock, logger } = this.#parts;
    const judged = (seen: Seen): Judged => ({ seen, verdict: classify(call, seen, settings) });
    const taken = await turn(signal);
    breaker.refuseIfOpen();
    await call.beforeSend?.();
    const startedAt = clock.monotonic();
    const startedWallMs = clock.now();
    this.#counts.set(name(call), (this.#counts.get(name(call)) ?? 0) + 1);
    const result = await wire.exchange(
      {
        method: call.method,
        url: callUrl(settings, call),
        headers: {
          accept: "application/json",
          "accept-encoding": "identity",
          authorization: `Bearer ${token}`,
          "user-agent": "cryobridge",
          ...(call.body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
      },
      signal,
    );
    const ms = Math.round(clock.monotonic() - startedAt);
    const jumpedMs = Math.abs(clock.now() - startedWallMs - ms);
    this.#parts.onCall?.({
      route: name(call),
      outcome: result.kind === "broken" ? result.why : String(result.status),
      ms,
    });
    if (result.kind === "broken") {
      logger.debug({ call: name(call), why: result.why, isSent: result.isSent, ms }, "call broke");
      return judged({ broken: result });
    }
    const { dateMs } = result.headers;
    const ledgerMs = jumpedMs < MOST_JUMP_MS ? this.#parts.ledgerNow() : undefined;
    if (dateMs !== undefined && ledgerMs !== undefined) this.#clockSkewMs = dateMs - ledgerMs;
    logger.debug({ call: name(call), status: result.status, ms }, "call answered");
    const answer = parseAnswer(result.status, result.headers, result.body);
    const { seen, verdict } = judged({ answer });
    this.#hear(verdict, taken, answer);
    return { seen, verdict };
  }

  /**
   * Reads an answer; when it isn't what it should be, the answer goes along with the failure. An error that nobody foresaw
   * leaves the answer unread, and so the call without one.
   */
  #read<T>(call: Call<T>, answer: Answer, token: Phi): T {
    try {
      return call.read(answer);
    } catch (error) {
      const failure = error instanceof Failure ? error : unreadable(call, error);
      if (failure !== error)
        this.#parts.logger.error({ call: name(call), err: error }, "an answer can't be read");
      if (failure.answer || !isWorthKeeping(failure.code)) throw failure;
      throw new Failure(failure.code, {
        message: failure.message,
        retryAfterMs: failure.retryAfterMs,
        answer: keepAnswer(call, answer, this.#knownCodes, token),
        cause: failure.cause,
      });
    }
  }

  /** @param token what the call was made with: nothing that is kept of an answer may quote it */
  #judge<T>(call: Call<T>, { seen, verdict }: Judged, token: Phi): T {
    const { settings } = this.#parts;
    if (verdict === "ok" && "answer" in seen) return this.#read(call, seen.answer, token);
    const isElsewhere =
      verdict === "SERVICE_CREDENTIALS_REFUSED" && this.#isForThisCall(this.#tokensOf(call));
    const code: FailureCode = isElsewhere
      ? "SERVICE_ACCESS_REFUSED"
      : verdict === "ok"
        ? "UNCLASSIFIED"
        : verdict;
    if ("broken" in seen) {
      const { error, why, isSent } = seen.broken;
      const when = isSent ? "after it was sent" : "before it was sent";
      const reason = reasonOf(why, error, SERVICE_TLS);
      throw new Failure(code, {
        message: `${shownName(call, settings)} at ${new URL(settings.baseUrl).host}: ${reason.why}, ${when}`,
        hint: reason.lead && asSentence(reason.lead),
        // undici's parser errors hold a piece of the answer.
        cause: "data" in error ? undefined : error,
      });
    }
    const retryAfterMs = parseRetryAfter(seen.answer.headers, this.#parts.clock.now());
    const said = describeRefusal(seen.answer, this.#knownCodes);
    const isRedirect = seen.answer.status >= 300 && seen.answer.status < 400;
    const { unread } = seen.answer;
    const detail = isRedirect
      ? ": a redirect, which is not followed (is service.baseUrl right?)"
      : quoted(unread === undefined ? said : `the answer is ${unread}`);
    throw new Failure(code, {
      message: `${shownName(call, settings)}: ${meaningOf(code)}status ${seen.answer.status}${detail}`,
      retryAfterMs,
      isAnswered: true,
      answer: isWorthKeeping(code) ? keepAnswer(call, seen.answer, this.#knownCodes, token) : undefined,
    });
  }
}

/**
 * Credentials that were let in within this time are not taken for refused: what is refused then is refused to one call, or to one
 * facility, and holds up no other. Revoked ones are refused by the token endpoint at once; a static token counts as refused for all
 * when nothing was let in for that long.
 */
const LET_IN_MS = 900_000;

/** So often within this time, ms, tokens are renewed since the service refused one. */
const MOST_RENEWALS = 3;
const RENEWED_MS = 60_000;

const STOPPED_RENEWING = "stopped while a new access token was taken";

/** The same failure, of a call that was answered. */
function answered({ code, message, ownHint: hint, retryAfterMs, cause }: Failure): Failure {
  return new Failure(code, { message, hint, retryAfterMs, isAnswered: true, cause });
}

/** `POST /api/subjects`: how a call is named in messages and counters, without any value. */
function name(call: Pick<Call<unknown>, "method" | "route">): string {
  return `${call.method} ${call.route}`;
}

/** The same with where the service has it, for a person who looks there. */
function shownName(call: Routed, settings: Pick<CallSettings, "paths">): string {
  const path = pathOf(call, settings);
  return path === call.route ? name(call) : `${call.method} ${path} (the specification's ${call.route})`;
}

type Routed = Pick<Call<unknown>, "method" | "route" | "cancels">;

/** Where the service has it. @throws Failure SERVICE_PATH_NONE */
function pathOf(call: Routed, { paths }: Pick<CallSettings, "paths">): string {
  const path = call.cancels ? call.route : findPath(paths, call.route);
  if (path !== undefined) return path;
  const message = `${name(call)}: service.paths.${nameOfPath(call.route, paths)} is none, so the service doesn't have it`;
  throw new Failure("SERVICE_PATH_NONE", message);
}

/** Our own words for what an answer means: the service's may be about another patient, and go to nobody by themselves. */
const MEANINGS: Readonly<Partial<Record<FailureCode, string>>> = {
  CONTAINER_OF_OTHER_SUBJECT: "a container doesn't belong to the order's subject, ",
  SERVICE_REFUSED: "the service refused the call, ",
  SERVICE_NOT_FOUND: "the service doesn't have it, ",
  SERVICE_BUSY: "the service takes no calls for now, ",
  SERVICE_CREDENTIALS_REFUSED: "the service refused the credentials, ",
  SERVICE_ACCESS_REFUSED: "the service refused the credentials for this call, and takes them for others, ",
};

function meaningOf(code: FailureCode): string {
  return MEANINGS[code] ?? "";
}

function quoted(said: string | undefined): string {
  return said === undefined ? "" : `: ${said}`;
}

function unreadable(call: Call<unknown>, cause: unknown): Failure {
  const code = call.method === "GET" ? "SERVICE_UNAVAILABLE" : "SERVICE_NO_ANSWER";
  return new Failure(code, { message: `${name(call)}: the answer can't be read`, cause });
}

/** Only what a person may have to look into; what passes by itself says enough in its message. */
function isWorthKeeping(code: FailureCode): boolean {
  return FAILURES[code].class !== "transient";
}

function callUrl(settings: CallSettings, call: Routed & Pick<Call<unknown>, "id" | "query">): URL {
  if (call.id !== undefined && (!Number.isSafeInteger(call.id) || call.id < 0)) {
    throw new RangeError("an id of the service is a whole number");
  }
  const url = new URL(settings.baseUrl);
  const path = pathOf(call, settings).replace("{id}", String(call.id ?? ""));
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  // encodeURIComponent, since a space as `+` is read as a plus sign by some servers.
  url.search = Object.entries(call.query ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value).toWellFormed())}`)
    .join("&");
  return url;
}
