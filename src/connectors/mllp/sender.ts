import { connect, isIP, type Socket } from "node:net";
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect as connectTls,
  type SecureContextOptions,
} from "node:tls";
import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { encodeFrame, FrameReader } from "../../formats/hl7/mllp.ts";
import { type Acknowledgment, readAcknowledgment } from "./acknowledgment.ts";

/** Where results go and how long anything may take. */
export interface MllpSendSettings {
  readonly host: string;
  readonly port: number;
  /** Certificates and keys (PEM), and the name the peer's certificate must have; absent for plain TCP. */
  readonly tls?: (SecureContextOptions & { readonly servername?: string | undefined }) | undefined;
  readonly connectMs: number;
  /** How long an acknowledgement is waited for, ms. */
  readonly answerMs: number;
}

export interface SenderDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Acknowledgements are small; a peer that sends more talks of something else. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Control ids whose second acknowledgement, such as AA after CA, is no surprise. */
const REMEMBERED = 100;

interface Waiting {
  readonly controlId: string;
  readonly isLast: (answer: Acknowledgment) => boolean;
  readonly settle: (end: Acknowledgment | Failure) => void;
}

/**
 * Sends messages to one peer over one connection that is kept, one at a time, and takes each for delivered only when
 * the peer has acknowledged it by its control id (MSA-2). After anything else the connection is closed, so that a late
 * answer never meets another message; the same bytes are sent again by whoever asked.
 */
export class MllpSender {
  readonly #settings: MllpSendSettings;
  readonly #deps: SenderDeps;
  readonly #acknowledged: string[] = [];
  #socket: Socket | undefined;
  #waiting: Waiting | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(settings: MllpSendSettings, deps: SenderDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  /**
   * Sends one message and waits until the peer has it.
   * @param controlId its MSH-10
   * @throws Failure MLLP_UNREACHABLE or MLLP_NO_ANSWER when it should be sent again, MLLP_RESULT_ERROR (AE, CE) when
   * the peer met an error, MLLP_RESULT_REFUSED (AR, CR) when it will never take it.
   */
  async send(message: Buffer, controlId: string): Promise<void> {
    const { code, condition } = await this.exchange(message, controlId);
    if (code === "AA" || code === "CA") return;
    const isRefused = code === "AR" || code === "CR";
    throw new Failure(
      isRefused ? "MLLP_RESULT_REFUSED" : "MLLP_RESULT_ERROR",
      `${this.#peer}: the lab system answered ${code}${condition === undefined ? "" : ` (${condition})`}`,
    );
  }

  /**
   * Sends one message and gives its acknowledgement, whatever that says.
   * @param isLast is shown each acknowledgement of the message, and says whether it was the last to wait for; the first
   * is unless given
   * @throws Failure MLLP_UNREACHABLE or MLLP_NO_ANSWER. RangeError for a message that no frame can hold.
   */
  exchange(
    message: Buffer,
    controlId: string,
    isLast: Waiting["isLast"] = () => true,
  ): Promise<Acknowledgment> {
    const turn = this.#turn.then(() => this.#exchangeNow(message, controlId, isLast));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Connects and closes again, to see whether a peer listens. @throws Failure MLLP_UNREACHABLE. */
  async probe(): Promise<void> {
    (await this.#open()).destroy();
  }

  /** Closes the connection; what waits for its acknowledgement fails and is sent again later. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#hangUp(new Failure("MLLP_NO_ANSWER", `${this.#peer}: stopped before the acknowledgement came`));
    await this.#turn;
    this.#socket?.destroy();
  }

  get #peer(): string {
    return `${this.#settings.host}:${this.#settings.port}`;
  }

  /**
   * Sends one message that wants no answer, and waits until it is handed to the system.
   * @throws Failure MLLP_UNREACHABLE or MLLP_NO_ANSWER. RangeError for a message that no frame can hold.
   */
  post(message: Buffer): Promise<void> {
    const turn = this.#turn.then(async () => {
      const frame = encodeFrame(message);
      const socket = await this.#ready();
      await new Promise<void>((resolve, reject) => {
        socket.write(frame, (error) => (error ? reject(this.#gone("closed the connection")) : resolve()));
      });
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #exchangeNow(message: Buffer, controlId: string, isLast: Waiting["isLast"]): Promise<Acknowledgment> {
    const frame = encodeFrame(message);
    const socket = await this.#ready();
    const timer = new AbortController();
    const answer = new Promise<Acknowledgment | Failure>((resolve) => {
      this.#waiting = { controlId, isLast, settle: resolve };
    });
    this.#deps.clock
      .sleep(this.#settings.answerMs, timer.signal)
      .then(() => this.#hangUp(new Failure("MLLP_NO_ANSWER", `${this.#peer}: no acknowledgement in time`)))
      .catch(() => undefined);
    socket.write(frame);
    const end = await answer;
    timer.abort();
    this.#waiting = undefined;
    if (end instanceof Failure) throw end;
    this.#acknowledged.push(controlId);
    if (this.#acknowledged.length > REMEMBERED) this.#acknowledged.shift();
    return end;
  }

  /** The connection. Being closed is looked for again once it stands, which may have taken a while. */
  async #ready(): Promise<Socket> {
    this.#requireOpen();
    this.#socket ??= await this.#connect();
    const socket = this.#socket;
    this.#requireOpen();
    return socket;
  }

  #requireOpen(): void {
    if (this.#isClosed) throw new Failure("MLLP_UNREACHABLE", `${this.#peer}: the connector is stopping`);
  }

  async #connect(): Promise<Socket> {
    const socket = await this.#open();
    const reader = new FrameReader(MAX_ANSWER_BYTES);
    socket.on("data", (chunk: Buffer) => {
      for (const event of reader.push(chunk)) {
        if (event.kind === "frame") this.#hear(event.bytes);
        else if (event.kind === "too_large") this.#hangUp(this.#gone("sent something too large"));
      }
    });
    let why = "closed the connection";
    socket.on("error", (error) => {
      why = `broke off the connection (${describe(error)})`;
      socket.destroy();
    });
    socket.on("close", () => {
      if (this.#socket === socket) this.#hangUp(this.#gone(why));
    });
    return socket;
  }

  #gone(what: string): Failure {
    return new Failure("MLLP_NO_ANSWER", `${this.#peer}: the lab system ${what} before it acknowledged`);
  }

  /** Takes what the peer says. Only the acknowledgement of the message that waits ends its waiting. */
  #hear(bytes: Buffer): void {
    const answer = readAcknowledgment(bytes);
    if (answer === undefined) {
      this.#deps.logger.warn(
        { bytes: bytes.length },
        "the lab system sent something that is no acknowledgement",
      );
      return;
    }
    if (this.#waiting !== undefined && answer.controlId === this.#waiting.controlId) {
      if (this.#waiting.isLast(answer)) this.#waiting.settle(answer);
      return;
    }
    if (answer.controlId !== undefined && this.#acknowledged.includes(answer.controlId)) {
      this.#hearAgain(answer, answer.controlId);
      return;
    }
    this.#deps.logger.warn(
      { code: answer.code },
      "the lab system acknowledged a message that was not sent now",
    );
    this.#hangUp(new Failure("MLLP_NO_ANSWER", `${this.#peer}: another message was acknowledged`));
  }

  /** AA after CA says nothing new. Anything else comes too late to be sent again, and is left for a person to see. */
  #hearAgain({ code, condition }: Acknowledgment, controlId: string): void {
    if (code === "AA" || code === "CA") return;
    this.#deps.logger.warn(
      { code, condition, messageControlId: controlId },
      "the lab system met an error with a result that it had acknowledged before",
    );
  }

  /** Ends the connection, and with it the waiting. */
  #hangUp(failure: Failure): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
    this.#waiting?.settle(failure);
  }

  #open(): Promise<Socket> {
    const { host, port, tls, connectMs } = this.#settings;
    return new Promise((resolve, reject) => {
      const stopped = new AbortController();
      const socket = tls
        ? connectTls({ host, port, ...tls, ...serverNameOf(tls, host) }, () => succeed())
        : connect({ host, port, noDelay: true, keepAlive: true }, () => succeed());
      const succeed = () => {
        stopped.abort();
        socket.removeListener("error", fail);
        resolve(socket);
      };
      const fail = (error: Error) => {
        stopped.abort();
        socket.destroy();
        reject(
          new Failure("MLLP_UNREACHABLE", { message: `${this.#peer}: ${describe(error)}`, cause: error }),
        );
      };
      socket.once("error", fail);
      this.#deps.clock
        .sleep(connectMs, stopped.signal)
        .then(() => fail(new Error("no connection in time")))
        .catch(() => undefined);
    });
  }
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

/** Why a connection failed: the system's code, and where it is about certificates, what to look at. */
function describe(error: Error): string {
  const code = "code" in error ? String(error.code) : error.message;
  if (/ALERT|HANDSHAKE|CERT_REQUIRED/.test(code)) return `${code}: it refuses our TLS, look at its log`;
  if (/CERT|SIGNATURE|ALTNAME|ISSUER/.test(code)) return `${code}: its certificate isn't trusted`;
  if (/SSL|TLS/.test(code)) return `${code}: it doesn't speak TLS as we do`;
  return code;
}
