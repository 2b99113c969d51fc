import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type PeerCertificate, type TLSSocket } from "node:tls";
import { type AddressList, readAddressList } from "../../core/address-list.ts";
import type { Clock } from "../../core/clock.ts";
import { codeOf, Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { type ConnectionDeps, MllpConnection, type MllpCounts } from "./connection.ts";
import { BackPressure, type ListenTls, type MllpListenSettings } from "./limits.ts";

/** How a listener stands, for metrics and people. */
export interface ListenerStatus extends Readonly<MllpCounts> {
  readonly connections: number;
  /** Connections that were turned away: over the limit, or from an address that is not let in. */
  readonly turnedAway: number;
  /** Peers with which there was no TLS connection. */
  readonly failedHandshakes: number;
  /** Idle connections that were closed for a new one. */
  readonly gaveWay: number;
  /** Peers whose certificate is good, and none of those that may send. */
  readonly refusedCertificates: number;
  /** Whether no further connection finds a place unless another one gives way. */
  readonly isFull: boolean;
}

/** What a listener is given. */
export interface ListenerDeps extends Pick<ConnectionDeps, "take" | "keepUnended"> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each connection that is let in. */
  readonly onPeer?: ((peer: string, socket: Socket) => void) | undefined;
}

/** A handshake that takes longer holds a socket for nothing, ms. */
const HANDSHAKE_MS = 10_000;

/** When a peer that says nothing is asked whether it is still there, ms. */
const KEEP_ALIVE_MS = 60_000;

/**
 * Messages of all connections that aren't on disk yet, bytes: some full groups of a commit, so that waiting for room costs
 * no time. Each of these bytes takes about three of memory.
 */
const IN_HAND_BYTES = 32 * 1024 * 1024;

/** Listens for peers that send messages by MLLP, over TCP or TLS. */
export class MllpListener {
  readonly #settings: MllpListenSettings;
  readonly #deps: ListenerDeps;
  readonly #allowed: AddressList;
  readonly #connections = new Map<MllpConnection, Socket>();
  /** Sockets whose TLS handshake isn't over, by the peer's address and port: nobody else ends them. */
  readonly #handshakes = new Map<string, Socket>();
  /** Who has a place, by address and port: with TLS it is not the same socket that is welcomed. */
  readonly #places = new Map<string, Place>();
  readonly #counts: MllpCounts = {
    frames: 0,
    looseEnds: 0,
    unended: 0,
    tooLarge: 0,
    junkBytes: 0,
    timedOut: 0,
    openBytes: 0,
  };
  readonly #backPressure = new BackPressure(IN_HAND_BYTES);
  #turnedAway = 0;
  #failedHandshakes = 0;
  #gaveWay = 0;
  #refusedCertificates = 0;
  #server: Server | undefined;

  /** @throws RangeError for a bad entry of the address list. */
  constructor(settings: MllpListenSettings, deps: ListenerDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#allowed = readAddressList(settings.allow);
  }

  /** The port that is listened on; undefined before the start and after the end. */
  get port(): number | undefined {
    const address = this.#server?.address();
    return typeof address === "object" && address !== null ? address.port : undefined;
  }

  get status(): ListenerStatus {
    return {
      ...this.#counts,
      connections: this.#connections.size,
      turnedAway: this.#turnedAway,
      failedHandshakes: this.#failedHandshakes,
      gaveWay: this.#gaveWay,
      refusedCertificates: this.#refusedCertificates,
      isFull: this.#places.size >= this.#settings.maxConnections,
    };
  }

  /** @throws Failure MLLP_NOT_LISTENING when the port is taken or the address is not this machine's. */
  async start(): Promise<void> {
    const { tls, host, port } = this.#settings;
    const options = {
      allowHalfOpen: true,
      noDelay: true,
      // A peer that vanished is found out, and doesn't keep its place.
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    };
    const server = tls
      ? createTlsServer(
          { ...options, ...tls, rejectUnauthorized: tls.requestCert, handshakeTimeout: HANDSHAKE_MS },
          (socket) => {
            if (this.#mayConnect(socket, tls)) this.#welcome(socket);
          },
        )
      : createServer(options, (socket) => this.#welcome(socket));
    const onConnection = (socket: Socket) => {
      if (!this.#allowed.includes(socket.remoteAddress)) {
        this.#turnAway(socket, "an address that is not let in");
      } else if (!this.#makePlace(socket)) {
        this.#turnAway(socket, "too many connections, none of them idle");
      } else if (tls) {
        const peer = peerOf(socket);
        this.#handshakes.set(peer, socket);
        socket.once("close", () => this.#handshakes.delete(peer));
        // A peer that breaks off would leave its half open, which is allowed for the sake of late answers.
        socket.once("end", () => this.#handshakes.get(peer)?.destroy());
      }
    };
    // In clear before it is welcomed; with TLS after the part that begins the handshake, which can't do with a closed one.
    if (tls) server.on("connection", onConnection);
    else server.prependListener("connection", onConnection);
    server.on("tlsClientError", (error, socket) => {
      this.#failedHandshakes += 1;
      this.#deps.logger.warn({ reason: handshakeReason(error) }, "a peer's TLS handshake failed");
      this.#handshakes.get(peerOf(socket))?.destroy();
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) =>
        reject(
          new Failure("MLLP_NOT_LISTENING", {
            message: `can't listen on ${host}:${port}: ${codeOf(error) ?? error.message}`,
            cause: error,
          }),
        ),
      );
      server.listen(port, host, resolve);
    });
    server.on("error", (error) => this.#deps.logger.error({ err: error }, "the MLLP listener met an error"));
    this.#server = server;
  }

  /** Takes no more connections or frames, answers what is in hand and closes; what takes longer is cut off. */
  async stop(withinMs: number): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of this.#handshakes.values()) socket.destroy();
    const answered = Promise.all([...this.#connections.keys()].map((connection) => connection.stop()));
    const stopping = new AbortController();
    const deadline = this.#deps.clock.sleep(withinMs, stopping.signal).catch(() => undefined);
    await Promise.race([Promise.all([answered, closed]), deadline]);
    stopping.abort();
    for (const socket of this.#connections.values()) socket.destroy();
    await closed;
  }

  /** Gives the socket a place, that of another one if need be; false where all others are at work. */
  #makePlace(socket: Socket): boolean {
    const { maxConnections, maxConnectionsPerAddress } = this.#settings;
    const address = plainAddress(socket.remoteAddress);
    const ofSame = [...this.#places.values()].filter((place) => place.address === address);
    if (ofSame.length >= maxConnectionsPerAddress) {
      if (!this.#endIdle(ofSame)) return false;
    } else if (this.#places.size >= maxConnections && !this.#endIdle([...this.#places.values()])) {
      return false;
    }
    const peer = peerOf(socket);
    const since = this.#deps.clock.monotonic();
    const place: Place = { peer, socket, address, since, connection: undefined };
    this.#places.set(peer, place);
    socket.once("close", () => this.#leave(place));
    return true;
  }

  #leave(place: Place): void {
    if (this.#places.get(place.peer) === place) this.#places.delete(place.peer);
  }

  /** Closes the one of them that has been idle for longest; false where none is. */
  #endIdle(places: readonly Place[]): boolean {
    let longest: { readonly place: Place; readonly since: number } | undefined;
    for (const place of places) {
      const since = place.connection === undefined ? place.since : place.connection.idleSince;
      if (since !== undefined && (longest === undefined || since < longest.since)) longest = { place, since };
    }
    if (longest === undefined) return false;
    const { place } = longest;
    this.#gaveWay += 1;
    this.#deps.logger.warn(
      { peer: place.address },
      "an idle connection was closed for a new one: too many are open",
    );
    // Not only when its end was noticed: another new one may come before that.
    this.#leave(place);
    place.socket.destroy();
    return true;
  }

  /** Whether the peer's certificate is one of those that may send. The authority is good already. */
  #mayConnect(socket: TLSSocket, { requestCert, allowSubjects }: ListenTls): boolean {
    if (!requestCert || allowSubjects === undefined) return true;
    const names = certificateNames(socket.getPeerCertificate());
    if (names.some((name) => allowSubjects.includes(name))) return true;
    this.#refusedCertificates += 1;
    this.#handshakes.delete(peerOf(socket));
    this.#deps.logger.warn(
      { peer: socket.remoteAddress, names: names.slice(0, 10).map(shown) },
      "a peer was refused: none of its certificate's names is among allowSubjects",
    );
    socket.destroy();
    return false;
  }

  #welcome(socket: Socket): void {
    this.#handshakes.delete(peerOf(socket));
    if (socket.destroyed) return;
    const { clock, logger, take, keepUnended, onPeer } = this.#deps;
    onPeer?.(socket.remoteAddress ?? "a peer", socket);
    const connection = new MllpConnection(socket, {
      limits: this.#settings,
      clock,
      logger: logger.child({ peer: socket.remoteAddress }),
      counts: this.#counts,
      backPressure: this.#backPressure,
      take,
      keepUnended,
    });
    this.#connections.set(connection, socket);
    const place = this.#places.get(peerOf(socket));
    if (place) place.connection = connection;
    socket.once("close", () => this.#connections.delete(connection));
  }

  #turnAway(socket: Socket, reason: string): void {
    this.#turnedAway += 1;
    this.#deps.logger.warn({ peer: socket.remoteAddress, reason }, "a connection was turned away");
    socket.destroy();
  }
}

/** A connection's place among those that a listener has at once. */
interface Place {
  readonly peer: string;
  readonly socket: Socket;
  readonly address: string;
  /** When it came, monotonic ms. */
  readonly since: number;
  /** Undefined until its TLS handshake is over. */
  connection: MllpConnection | undefined;
}

/** An IPv4 peer has one address, however a socket shows it. */
function plainAddress(address = "unknown"): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

/** What commonly keeps a peer out, by the code of the error. */
const HANDSHAKE_REASONS: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: "it speaks no TLS",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "it speaks no TLS",
  ERR_SSL_HTTP_REQUEST: "it speaks HTTP, and no TLS",
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: "it shows no certificate",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: "it doesn't trust our certificate's authority",
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: "it doesn't trust our certificate",
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: "it doesn't take our certificate",
  ERR_SSL_UNSUPPORTED_PROTOCOL: "it speaks only older versions of TLS",
  ECONNRESET: "it closed the connection",
};

function handshakeReason(error: Error): string {
  const code = codeOf(error) ?? "";
  return HANDSHAKE_REASONS[code] ?? error.message;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** One entry of a SAN as Node writes them: a kind, and a value that is in quotes where it could be read as several. */
const SAN_ENTRY = /(?:^|, )([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)/g;

/**
 * The names that a certificate's owner may go by: the CN of its subject, and the DNS names of its SAN. A name that Node had
 * to quote is none: it holds what no DNS name does.
 */
export function certificateNames({ subject, subjectaltname }: Partial<PeerCertificate>): readonly string[] {
  // Several where the subject has several, whatever the type says.
  const common = [subject?.CN ?? []].flat();
  const alternative = [...(subjectaltname ?? "").matchAll(SAN_ENTRY)].flatMap(([, kind, value = ""]) =>
    kind === "DNS" && value !== "" && !value.startsWith('"') ? [value] : [],
  );
  return [...new Set([...common, ...alternative])];
}

/** A name as a log line shows it. */
export function shown(name: string): string {
  return name.replace(/\p{Cc}/gu, " ").slice(0, 200);
}
