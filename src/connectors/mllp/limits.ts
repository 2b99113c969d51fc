import type { SecureContextOptions } from "node:tls";
import type { MllpConnectorConfig } from "../../config/config.ts";
import type { CharsetOptions } from "../../formats/hl7/charset.ts";

/** How long the carriage return after an end block may take: a peer that sends none waits for an answer, ms. */
export const END_BLOCK_MS = 500;

/** Bounds that keep one peer, or many, from taking more than its share. */
export type MllpLimits = Pick<
  MllpConnectorConfig["listen"],
  | "maxConnections"
  | "maxConnectionsPerAddress"
  | "maxBytes"
  | "maxInFlight"
  | "maxOpenBytes"
  | "idleMs"
  | "firstFrameMs"
  | "frameMs"
>;

/** TLS of a listener. */
export interface ListenTls extends SecureContextOptions {
  /** Whether a peer must show a certificate of one of the trusted authorities. */
  readonly requestCert: boolean;
  /** Names of which a peer's certificate must have one: its subject's CN, or a DNS name of its SAN. All may send when absent. */
  readonly allowSubjects?: readonly string[] | undefined;
}

/** Where and how an MLLP listener takes messages. */
export interface MllpListenSettings
  extends MllpLimits,
    Pick<MllpConnectorConfig["listen"], "host" | "port" | "maxMessages"> {
  /** Addresses (`10.1.2.3`) and networks (`10.1.0.0/16`, `fd00::/8`) that may connect; empty for all. */
  readonly allow: readonly string[];
  /** Certificate, key and trusted authorities (PEM); absent for plain TCP. */
  readonly tls?: ListenTls | undefined;
  /** Whether messages of a batch may stand apart by another line end than their segments do; refused unless set. */
  readonly mixedLineEnds?: MllpConnectorConfig["mixedLineEnds"] | undefined;
  /** Character sets, by the settings of the moment at which a frame has come. */
  readonly charset?: (() => CharsetOptions) | undefined;
}

/**
 * How many bytes all connections of a listener have given us that aren't on disk yet. Beyond a bound nothing more is
 * read: senders wait, which they are made for, and memory stays bound however many of them send large messages at once.
 */
export class BackPressure {
  readonly #most: number;
  #bytes = 0;
  /** Called once there is room again. */
  #waiting: (() => void)[] = [];

  /** @param most bytes from which on nothing more is read; the last message may go beyond */
  constructor(most: number) {
    this.#most = most;
  }

  /** Whether to wait before more is read. */
  get isOn(): boolean {
    return this.#bytes >= this.#most;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#bytes -= bytes;
    if (this.isOn) return;
    for (const goOn of this.#waiting.splice(0)) {
      // What the one before has read may be enough again.
      if (this.isOn) this.#waiting.push(goOn);
      else goOn();
    }
  }

  /** Has a connection go on when there is room; once. */
  whenOff(goOn: () => void): void {
    this.#waiting.push(goOn);
  }
}
