import type { IncomingHttpHeaders } from "node:http";
import { isLoopbackHost } from "../core/address-list.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { ConsoleUser } from "./deps.ts";
import { Latest } from "./latest.ts";
import { peerKey } from "./peer.ts";
import { isEqual, type Session, Sessions } from "./session.ts";

/** Why a request is turned away. */
export type Refusal = "host" | "cross-site" | "token" | "too many";

interface GuardedRequest {
  readonly method: string;
  /** Path without query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The address of the one who asks; behind a trusted proxy, what the proxy says of it. */
  readonly address: string;
  /** Whether a page refreshes itself, without a person. */
  readonly isRefresh: boolean;
  /** What its cookie says. */
  readonly sessionNumber: string | undefined;
}

/** What the guard holds requests against. */
interface GuardSettings {
  readonly host: string;
  /** Nobody has to sign in when there are none; then everybody may look and nobody act. */
  readonly users: readonly ConsoleUser[];
}

/** What a request may do, or why it is turned away. */
type Admission =
  | { readonly refusal: Refusal }
  | { readonly refusal?: undefined; readonly session: Session | undefined };

/** Without it these can be asked for: assets are no secret, and the others begin and end what stands for the token. */
const WITHOUT_TOKEN = /^\/(?:login|logout|assets\/[\w.-]+)$/;
const ANYBODY: Admission = { session: undefined };

/** Who may look: by a token, or by the session that it was exchanged for. Wrong tokens are counted, however they come. */
export class Guard {
  readonly #settings: GuardSettings;
  readonly #logger: Logger;
  readonly #attempts: LoginAttempts;
  readonly #sessions: Sessions;

  constructor(
    settings: GuardSettings,
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#settings = settings;
    this.#logger = logger;
    this.#attempts = new LoginAttempts(clock);
    this.#sessions = new Sessions(clock);
  }

  /**
   * Decides whether a request may be answered.
   *
   * - On loopback the Host header must name this machine: a web page that rebinds its own name to 127.0.0.1 would
   *   otherwise read the console through the visitor's browser.
   * - A form that another site sends is refused.
   * - With users, everything but `/healthz`, the assets, signing in and signing out wants a token: as bearer, or the session
   *   it was exchanged for. Never in the URL, where it would end up in histories and proxy logs. `/readyz` wants none of
   *   this machine, where a supervisor or a container's health check asks, which has none.
   */
  admit({ method, path, headers, address, isRefresh, sessionNumber }: GuardedRequest): Admission {
    const { host, users } = this.#settings;
    if (path === "/healthz") return ANYBODY;
    if (isLoopbackHost(host) && !isOwnHost(headers.host)) return { refusal: "host" };
    if (method !== "GET" && isFromElsewhere(headers)) return { refusal: "cross-site" };
    if (users.length === 0 || WITHOUT_TOKEN.test(path)) return ANYBODY;
    if (path === "/readyz" && isLoopbackHost(address)) return ANYBODY;
    const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
    if (bearer !== undefined) {
      const found = this.#compare(bearer, address);
      return "refusal" in found ? found : ANYBODY;
    }
    const session = sessionNumber === undefined ? undefined : this.#sessions.find(sessionNumber, !isRefresh);
    return session === undefined ? { refusal: "token" } : { session };
  }

  /** Exchanges a token for a session. */
  signIn(given: string, address: string): { readonly session: string } | { readonly refusal: Refusal } {
    const found = this.#compare(given, address);
    return "refusal" in found ? found : { session: this.#sessions.begin(found.user) };
  }

  /**
   * Ends a session, for every copy of its cookie.
   *
   * @returns false when the form that asked for it is not the session's own
   */
  signOut(number: string | undefined, formToken: string): boolean {
    const session = number === undefined ? undefined : this.#sessions.find(number, false);
    if (number === undefined || session === undefined) return true;
    if (!isEqual(formToken, session.formToken)) return false;
    this.#sessions.end(number);
    return true;
  }

  /** Whoever has guessed too often doesn't learn either that a guess was right. */
  #compare(
    given: string,
    address: string,
  ): { readonly user: ConsoleUser } | { readonly refusal: "too many" | "token" } {
    if (this.#attempts.isBlocked(address)) return { refusal: "too many" };
    // All are compared, so that the time shows nothing either.
    const [user] = this.#settings.users.filter(({ token }) => isEqual(given, token));
    if (user !== undefined) return { user };
    this.#attempts.recordFailure(address);
    this.#logger.warn({ peer: address }, "console: a wrong token was given");
    return { refusal: "token" };
  }
}

/** Browsers say where a form comes from in one way or the other; what is no browser has no cookies to abuse. */
function isFromElsewhere(headers: IncomingHttpHeaders): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  const { origin, host } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}

/** A name or an IPv4 address, or an IPv6 address in brackets; and a port, which an SSH tunnel has of its own. */
const HOST = /^([\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

function isOwnHost(header: string | undefined): boolean {
  const name = HOST.exec(header ?? "")?.[1];
  return name !== undefined && isLoopbackHost(name);
}

const WINDOW_MS = 60_000;
const MAX_IN_WINDOW = 10;
/** Beyond this many addresses the oldest is forgotten, so that the list can't be grown from outside. */
const MAX_ADDRESSES = 1_000;

/**
 * Wrong tokens by address (of IPv6, by its /64): ten in a minute, then that address waits. A wrong token is counted in the
 * step that compared it: of requests that come at once, none is compared before the others are counted.
 */
class LoginAttempts {
  readonly #clock: Clock;
  readonly #timesByAddress = new Latest<string, number[]>(MAX_ADDRESSES);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the address has to wait before the next try. */
  isBlocked(address: string): boolean {
    return this.#recent(peerKey(address)).length >= MAX_IN_WINDOW;
  }

  recordFailure(address: string): void {
    const key = peerKey(address);
    this.#timesByAddress.set(key, [...this.#recent(key), this.#clock.monotonic()]);
  }

  #recent(key: string): number[] {
    const since = this.#clock.monotonic() - WINDOW_MS;
    return (this.#timesByAddress.get(key) ?? []).filter((time) => time > since);
  }
}
