import { connect, isIP, type Socket } from "node:net";
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect as connectTls,
  type SecureContextOptions,
} from "node:tls";
import type { Clock } from "../../core/clock.ts";
import { codeOf, Failure } from "../../core/failures.ts";
import { type TlsSettings, tlsTroubleOf } from "../../core/tls-trouble.ts";

/** Whom to connect to. */
export interface DialSettings {
  readonly host: string;
  readonly port: number;
  /** Certificates and keys (PEM), and the name the peer's certificate must have; absent for plain TCP. */
  readonly tls?: (SecureContextOptions & { readonly servername?: string | undefined }) | undefined;
  /** What the certificates are set by, for whoever reads that they are refused; the settings of a connector when absent. */
  readonly tlsSettings?: TlsSettings | undefined;
  readonly connectTimeoutMs: number;
}

const OF_CONNECTOR: TlsSettings = {
  ca: "`results.tls.ca`",
  name: "`results.tls.serverName`",
  own: "`results.tls.cert` and `results.tls.key`",
};

/**
 * Connects to a peer, over TCP or TLS; aborting the signal breaks that off.
 * @throws Failure MLLP_UNREACHABLE, in words that distinguish a closed port from one that doesn't speak TLS.
 */
export function dial(settings: DialSettings, clock: Clock, signal: AbortSignal): Promise<Socket> {
  const { host, port, tls, tlsSettings, connectTimeoutMs } = settings;
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    let hasConnected = false;
    const socket = tls
      ? connectTls({ host, port, ...tls, ...serverNameOf(tls, host) }, () => succeed())
      : connect({ host, port, noDelay: true, keepAlive: true }, () => succeed());
    const finish = () => {
      over.abort();
      socket.removeListener("error", fail);
      signal.removeEventListener("abort", stop);
    };
    const succeed = () => {
      finish();
      resolve(socket);
    };
    const refuse = (why: string, cause?: Error) => {
      finish();
      // A socket that is being destroyed may still report an error that nobody waits for.
      socket.on("error", () => undefined);
      socket.destroy();
      reject(new Failure("MLLP_UNREACHABLE", { message: `${host}:${port}: ${why}`, cause }));
    };
    const fail = (error: Error) => refuse(describeError(error, tlsSettings, hasConnected), error);
    const stop = () => refuse("stopped before the connection stood");
    socket.once("connect", () => {
      hasConnected = true;
    });
    socket.once("error", fail);
    signal.addEventListener("abort", stop);
    clock
      .sleep(connectTimeoutMs, over.signal)
      .then(() =>
        refuse(
          hasConnected
            ? "connected, but no TLS handshake in time; look whether it speaks TLS"
            : "no connection in time",
        ),
      )
      .catch(() => undefined);
  });
}

/** What the peer's certificate must name. An address can't be asked for in the handshake (RFC 6066), only looked for. */
function serverNameOf(
  { servername }: { readonly servername?: string | undefined },
  host: string,
): Pick<ConnectionOptions, "servername" | "checkServerIdentity"> {
  const name = servername ?? host;
  return {
    servername: isIP(name) === 0 ? name : "",
    checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
  };
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "no such host is known",
  EAI_AGAIN: "no such host is known, or the name server doesn't answer",
  EHOSTUNREACH: "no way leads there",
  ENETUNREACH: "no way leads there",
  ETIMEDOUT: "no connection in time",
};

/**
 * Why a connection failed or broke: the system's code, and what to look at.
 * @param settings what the certificates are set by
 * @param isHandshake whether it stood already and TLS was being agreed on
 */
export function describeError(error: Error, settings = OF_CONNECTOR, isHandshake = false): string {
  const code = codeOf(error) ?? error.message;
  if (isHandshake && code === "ECONNRESET")
    return `${code}: it closed during the TLS handshake; look whether it speaks TLS`;
  const words = WORDS[code];
  if (words !== undefined) return `${code}: ${words}`;
  const trouble = tlsTroubleOf(error, settings);
  if (trouble !== undefined) return `${code}: ${trouble.why}: ${trouble.lead}`;
  if (/ALERT|HANDSHAKE/.test(code)) return `${code}: it refuses our TLS, look at its log`;
  if (/SSL|TLS/.test(code)) return `${code}: it doesn't speak TLS as we do`;
  return code;
}
