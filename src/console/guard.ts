import type { IncomingHttpHeaders } from "node:http";
import { isLoopbackHost } from "../core/loopback.ts";
import { cookieOf, isEqual, isSessionValid, SESSION_COOKIE } from "./session.ts";

/** Why a request is turned away. */
export type Refusal = "host" | "cross-site" | "token";

/** A request as the guard sees it. */
export interface GuardedRequest {
  readonly method: string;
  /** Path without query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** What the guard holds requests against. */
export interface GuardSettings {
  readonly host: string;
  readonly token?: string | undefined;
}

/**
 * Decides whether a request may be answered; undefined when it may.
 *
 * - On loopback the Host header must name this machine: a web page that rebinds its own name to 127.0.0.1 would
 *   otherwise read the console through the visitor's browser.
 * - A form that another site sends is refused.
 * - With a token, everything but `/healthz` and the login itself wants it: as bearer, or the session it was
 *   exchanged for. Never in the URL, where it would end up in histories and proxy logs.
 */
export function refuse(request: GuardedRequest, settings: GuardSettings, nowMs: number): Refusal | undefined {
  if (request.path === "/healthz") return undefined;
  if (isLoopbackHost(settings.host) && !isOwnHost(request.headers.host)) return "host";
  if (request.headers["sec-fetch-site"] === "cross-site" && request.method !== "GET") return "cross-site";
  if (settings.token === undefined || request.path === "/login") return undefined;
  return hasToken(request.headers, settings.token, nowMs) ? undefined : "token";
}

function hasToken(headers: IncomingHttpHeaders, token: string, nowMs: number): boolean {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  if (bearer !== undefined) return isEqual(bearer, token);
  const session = cookieOf(headers.cookie, SESSION_COOKIE);
  return session !== undefined && isSessionValid(token, session, nowMs);
}

/** The port may differ: an SSH tunnel has its own. */
function isOwnHost(host: string | undefined): boolean {
  const url = URL.parse(`http://${host ?? ""}`);
  return url !== null && isLoopbackHost(url.hostname);
}
