import type { SecureContextOptions } from "node:tls";
import type { CharsetOptions } from "../../formats/hl7/charset.ts";

/** Bounds that keep one peer, or many, from taking more than its share. */
export interface MllpLimits {
  /** Connections at once; further ones are closed as they come. */
  readonly maxConnections: number;
  /** Largest message, bytes; a larger one ends its connection. */
  readonly maxBytes: number;
  /** Messages of one connection that are not on disk yet; the peer is read no further until some are answered. */
  readonly maxInFlight: number;
  /** Bytes of all frames together that have begun and not ended; a connection that goes beyond is closed. */
  readonly maxOpenBytes: number;
  /** A connection on which nothing came for so long is closed, ms. */
  readonly idleMs: number;
  /** A frame that has begun must end within, ms. */
  readonly frameMs: number;
}

/** Where and how an MLLP listener takes messages. */
export interface MllpListenSettings extends MllpLimits {
  readonly host: string;
  readonly port: number;
  /** Addresses (`10.1.2.3`) and networks (`10.1.0.0/16`, `fd00::/8`) that may connect; empty for all. */
  readonly allow: readonly string[];
  /** Certificate, key and trusted authorities (PEM); absent for plain TCP. */
  readonly tls?: (SecureContextOptions & { readonly requestCert: boolean }) | undefined;
  readonly charset?: CharsetOptions | undefined;
}
