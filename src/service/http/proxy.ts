import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import { bareHost, hostAndPortOf } from "../../core/address-list.ts";
import { basicCredentials } from "../../core/basic-credentials.ts";
import type { ProxyExceptions } from "../../core/proxy-exceptions.ts";

/** The HTTP proxy through which other machines are reached. */
export interface ProxySettings {
  readonly url: URL;
  readonly except: ProxyExceptions;
}

/** That no way leads through the proxy; the message names it, and what it answered. Nothing was sent. */
export class ProxyFailure extends Error {
  /** What the connection to the proxy failed with. */
  readonly code: string | undefined;
  /** What the proxy answered to CONNECT. */
  readonly status: number | undefined;

  constructor({ host }: URL, why: { readonly code: string } | { readonly status: number }) {
    const status = "status" in why ? why.status : undefined;
    super(`the proxy ${host}${status === undefined ? "" : wordsFor(status)}`);
    this.code = "code" in why ? why.code : undefined;
    this.status = status;
  }
}

function wordsFor(status: number): string {
  if (status === 407) return " refuses the user and password of proxy.url, or wants some (status 407)";
  if (status === 403) return " does not let anybody through to that host and port (status 403)";
  if (status >= 200 && status < 300) return " answers with something else than the way to the host";
  return ` finds no way to the host (status ${status})`;
}

interface TunnelOptions {
  readonly timeoutMs: number;
  /** Certificates to trust instead of the public ones, for a proxy that is reached over TLS. */
  readonly ca: string | undefined;
}

/**
 * Connects as `connect` does, through a tunnel of the proxy (CONNECT) where the host is no exception. All is so, also what goes over
 * http://: a proxy that reads along and answers in the service's place could not be told from the service.
 */
export function throughProxy(
  connect: buildConnector.connector,
  { url, except }: ProxySettings,
  options: TunnelOptions,
): buildConnector.connector {
  return (target, callback) => {
    const isSecure = target.protocol === "https:";
    const port = target.port || (isSecure ? "443" : "80");
    if (except.includes(target.hostname, port)) {
      connect(target, callback);
      return;
    }
    openTunnel(url, hostAndPortOf(target.hostname, port), options)
      .then((socket) =>
        isSecure ? connect({ ...target, httpSocket: socket }, callback) : callback(null, socket),
      )
      .catch((error: Error) => callback(error, null));
  };
}

function openTunnel(proxy: URL, authority: string, { timeoutMs, ca }: TunnelOptions): Promise<Socket> {
  const isSecure = proxy.protocol === "https:";
  const authorization = basicCredentials(proxy);
  const options = {
    host: bareHost(proxy.hostname),
    port: proxy.port || (isSecure ? 443 : 80),
    method: "CONNECT",
    path: authority,
    agent: false,
    headers: {
      host: authority,
      ...(authorization === undefined ? {} : { "proxy-authorization": authorization }),
    },
  };
  return new Promise((resolve, reject) => {
    const fail = (why: ConstructorParameters<typeof ProxyFailure>[1]) => reject(new ProxyFailure(proxy, why));
    const request = isSecure
      ? requestHttps({ ...options, ...(ca === undefined ? {} : { ca }) })
      : requestHttp(options);
    const timer = setTimeout(() => {
      fail({ code: "ETIMEDOUT" });
      request.destroy();
    }, timeoutMs);
    request.once("connect", ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      if (statusCode >= 200 && statusCode < 300 && head.length === 0) {
        resolve(socket);
        return;
      }
      fail({ status: statusCode });
      socket.destroy();
    });
    // Also after it was destroyed, when this changes nothing any more.
    request.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      fail({ code: error.code ?? error.name });
    });
    request.end();
  });
}
