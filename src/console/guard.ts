import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { isLoopbackHost } from "../core/loopback.ts";
import { peerKey } from "./peer.ts";
import { cookieOf, isEqual, SESSION_COOKIE, Sessions } from "./session.ts";

/** Why a request is turned away. */
export type Refusal = "host" | "cross-site" | "token" | "too many";

/** A request as the guard sees it. */
export interface GuardedRequest {
  readonly method: string;
  /** Path without query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The address of the one who asks. */
  readonly address: string;
}

/** What the guard holds requests against. */
export interface GuardSettings {
  readonly host: string;
  readonly token?: string | undefined;
}

/** Without it these can be asked for: one is for monitors, the others begin and end what stands for it. */
const WITHOUT_TOKEN = new Set(["/login", "/logout"]);

/** Who may look: by the token, or by the session that it was exchanged for. Wrong tokens are counted, however they come. */
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
   * Decides whether a request may be answered; undefined when it may.
   *
   * - On loopback the Host header must name this machine: a web page that rebinds its own name to 127.0.0.1 would
   *   otherwise read the console through the visitor's browser.
   * - A form that another site sends is refused.
   * - With a token, everything but `/healthz`, signing in and signing out wants it: as bearer, or the session it was
   *   exchanged for. Never in the URL, where it would end up in histories and proxy logs.
   */
  refuse({ method, path, headers, address }: GuardedRequest): Refusal | undefined {
    const { host, token } = this.#settings;
    if (path === "/healthz") return undefined;
    if (isLoopbackHost(host) && !isOwnHost(headers.host)) return "host";
    if (headers["sec-fetch-site"] === "cross-site" && method !== "GET") return "cross-site";
    if (token === undefined || WITHOUT_TOKEN.has(path)) return undefined;
    const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
    if (bearer !== undefined) return this.#compare(bearer, token, address);
    const session = sessionOf(headers);
    return session !== undefined && this.#sessions.isOpen(session) ? undefined : "token";
  }

  /** Exchanges the token for a session. */
  signIn(given: string, address: string): { readonly session: string } | { readonly refusal: Refusal } {
    const { token } = this.#settings;
    const refusal = token === undefined ? "token" : this.#compare(given, token, address);
    return refusal === undefined ? { session: this.#sessions.begin() } : { refusal };
  }

  /** Ends the session of a request, for every copy of its cookie. */
  signOut(headers: IncomingHttpHeaders): void {
    const session = sessionOf(headers);
    if (session !== undefined) this.#sessions.end(session);
  }

  /** Whoever has guessed too often doesn't learn either that a guess was right. */
  #compare(given: string, token: string, address: string): Refusal | undefined {
    if (this.#attempts.isBlocked(address)) return "too many";
    if (isEqual(given, token)) return undefined;
    this.#attempts.recordFailure(address);
    this.#logger.warn({ peer: address }, "console: a wrong token was given");
    return "token";
  }
}

function sessionOf(headers: IncomingHttpHeaders): string | undefined {
  return cookieOf(headers.cookie, SESSION_COOKIE);
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

/** Wrong tokens by address (of IPv6, by its /64): ten in a minute, then that address waits. */
export class LoginAttempts {
  readonly #clock: Clock;
  readonly #timesByAddress = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the address has to wait before the next try. */
  isBlocked(address: string): boolean {
    return this.#recent(peerKey(address)).length >= MAX_IN_WINDOW;
  }

  recordFailure(address: string): void {
    const key = peerKey(address);
    const times = [...this.#recent(key), this.#clock.monotonic()];
    this.#timesByAddress.delete(key);
    this.#timesByAddress.set(key, times);
    if (this.#timesByAddress.size <= MAX_ADDRESSES) return;
    const [first] = this.#timesByAddress.keys();
    if (first !== undefined) this.#timesByAddress.delete(first);
  }

  #recent(key: string): number[] {
    const since = this.#clock.monotonic() - WINDOW_MS;
    return (this.#timesByAddress.get(key) ?? []).filter((time) => time > since);
  }
}
