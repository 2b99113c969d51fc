import type { SecureContextOptions } from "node:tls";
import type { CharsetOptions } from "../../formats/hl7/charset.ts";

/** Bounds that keep one peer, or many, from taking more than its share. */
export interface MllpLimits {
  /** Connections at once; a further one takes the place of the oldest idle one, or is closed where none is idle. */
  readonly maxConnections: number;
  /** The same of one address. */
  readonly maxConnectionsPerAddress: number;
  /** Largest message, bytes; a larger one ends its connection. */
  readonly maxBytes: number;
  /** Messages of one connection that are not on disk yet; the peer is read no further until some are answered. */
  readonly maxInFlight: number;
  /** Bytes of all frames together that have begun and not ended; a connection that goes beyond is closed. */
  readonly maxOpenBytes: number;
  /** A connection on which nothing came for so long is closed, ms. */
  readonly idleMs: number;
  /** A connection must have brought a whole frame within, ms. */
  readonly firstFrameMs: number;
  /** A frame that has begun must end within, ms. */
  readonly frameMs: number;
}

/** TLS of a listener. */
export interface ListenTls extends SecureContextOptions {
  /** Whether a peer must show a certificate of one of the trusted authorities. */
  readonly requestCert: boolean;
  /** Names of which a peer's certificate must have one: its subject's CN, or a DNS name of its SAN. All may send when absent. */
  readonly allowSubjects?: readonly string[] | undefined;
}

/** Where and how an MLLP listener takes messages. */
export interface MllpListenSettings extends MllpLimits {
  readonly host: string;
  readonly port: number;
  /** Addresses (`10.1.2.3`) and networks (`10.1.0.0/16`, `fd00::/8`) that may connect; empty for all. */
  readonly allow: readonly string[];
  /** Certificate, key and trusted authorities (PEM); absent for plain TCP. */
  readonly tls?: ListenTls | undefined;
  /** Messages, and batches, of one frame at most. */
  readonly maxMessages: number;
  readonly charset?: CharsetOptions | undefined;
}
