import type { Socket } from "node:net";
import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { encodeFrame, type FrameEvent, FrameReader, Oddities } from "../../formats/hl7/mllp.ts";
import { type DialSettings, describeError, dial } from "./dial.ts";
import { END_BLOCK_MS } from "./limits.ts";
import {
  type Acknowledgment,
  Answered,
  isTaken,
  type OnTakenBack,
  readAcknowledgment,
  withCondition,
} from "./read-acknowledgment.ts";

/** Where results go and how long anything may take. */
export interface MllpSendSettings extends DialSettings {
  /** How long an acknowledgement is waited for, ms. */
  readonly answerTimeoutMs: number;
}

/** What is called while a message is sent. */
interface SendHooks {
  /** When the peer answers with an error after it had acknowledged the message. Must not throw. */
  readonly onTakenBack?: OnTakenBack;
  /** Once the connection stands, right before the message leaves; when it throws, nothing does. */
  readonly beforeSend?: () => void;
}

interface SenderDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each connection once it stands. */
  readonly onPeer?: ((peer: string, socket: Socket) => void) | undefined;
}

/** Acknowledgements are small; a peer that sends more talks of something else. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** How long a peer is heard over a connection that was hung up, where it doesn't close its side, ms. */
const HEAR_AFTER_HANG_UP_MS = 60_000;

interface Waiting {
  /** Takes an answer that came; false when it is not for who waits. */
  readonly hear: (answer: Acknowledgment) => boolean;
  readonly fail: (failure: Failure) => void;
}

/**
 * Sends messages to one peer over one connection that is kept, one at a time, and takes each for delivered only when
 * the peer has acknowledged it by its control id (MSA-2). After anything else the connection is closed, so that a late
 * answer never meets another message; the same bytes are sent again by whoever asked, or at once where `send` says so.
 */
export class MllpSender {
  readonly #settings: MllpSendSettings;
  readonly #deps: SenderDeps;
  readonly #answered: Answered;
  readonly #closing = new AbortController();
  #socket: Socket | undefined;
  /** Those that were hung up, over which the peer may still take back what it had acknowledged. */
  readonly #hungUp = new WeakSet<Socket>();
  #oddities = new Oddities();
  #waiting: Waiting | undefined;
  /** Whether anything came since the last message was written. */
  #hasHeard = false;
  /** Whether the peer ended the connection after the last message, and said nothing. */
  #isCutOff = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(settings: MllpSendSettings, deps: SenderDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#answered = new Answered(deps.logger);
  }

  /**
   * Sends one message and waits until the peer has it. Where a connection that served before is closed without a word, it
   * goes out once more over a new one: many lab systems close after each acknowledgement, and the next message meets the
   * close. One that took it nevertheless sees the same bytes again.
   * @param controlId its MSH-10
   * @throws Failure MLLP_UNREACHABLE or MLLP_NO_ANSWER when it should be sent again, MLLP_RESULT_ERROR (AE, CE) when
   * the peer met an error, MLLP_RESULT_REFUSED (AR, CR) when it will never take it.
   */
  async send(message: Buffer, controlId: string, how: SendHooks = {}): Promise<void> {
    const answer = await this.#inTurn(async () => {
      const isReused = this.#socket !== undefined;
      try {
        return await this.#exchangeNow(message, controlId, how);
      } catch (error) {
        if (!isReused || !this.#isCutOff) throw error;
        return this.#exchangeNow(message, controlId, how);
      }
    });
    if (isTaken(answer)) return;
    const isRefused = answer.code === "AR" || answer.code === "CR";
    throw new Failure(
      isRefused ? "MLLP_RESULT_REFUSED" : "MLLP_RESULT_ERROR",
      `${this.#peer}: the lab system answered ${withCondition(answer)}`,
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
    isLast?: (answer: Acknowledgment) => boolean,
  ): Promise<Acknowledgment> {
    return this.#inTurn(() => this.#exchangeNow(message, controlId, { isLast }));
  }

  /**
   * Ends our side of the connection once what is under way is done; the next message opens another one. Until the peer ends its
   * side, it is heard when it answers a message with an error that it had acknowledged before.
   */
  hangUp(): Promise<void> {
    return this.#inTurn(async () => {
      const socket = this.#socket;
      this.#socket = undefined;
      if (!socket) return;
      this.#hungUp.add(socket);
      socket.end();
      const closed = new AbortController();
      socket.once("close", () => closed.abort());
      this.#deps.clock
        .sleep(HEAR_AFTER_HANG_UP_MS, AbortSignal.any([closed.signal, this.#closing.signal]))
        .catch(() => undefined)
        .finally(() => socket.destroy());
    });
  }

  /** Connects and closes again, to see whether a peer listens. @throws Failure MLLP_UNREACHABLE. */
  async probe(): Promise<void> {
    (await dial(this.#settings, this.#deps.clock, this.#closing.signal)).destroy();
  }

  /** Closes the connection; what waits for its acknowledgement fails and is sent again later. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#hangUp(new Failure("MLLP_NO_ANSWER", `${this.#peer}: stopped before the acknowledgement came`));
    await this.#turn;
    this.#socket?.destroy();
  }

  get #peer(): string {
    return `${this.#settings.host}:${this.#settings.port}`;
  }

  /**
   * Sends one message that wants no answer, and waits until it is handed to the system. What the peer answers nevertheless is
   * taken where the control id of the message is given.
   * @throws Failure MLLP_UNREACHABLE or MLLP_NO_ANSWER. RangeError for a message that no frame can hold.
   */
  post(message: Buffer, controlId?: string, { onTakenBack, beforeSend }: SendHooks = {}): Promise<void> {
    return this.#inTurn(async () => {
      const frame = encodeFrame(message);
      const socket = await this.#ready();
      beforeSend?.();
      if (controlId !== undefined) this.#answered.add(controlId.trim(), onTakenBack);
      await new Promise<void>((resolve, reject) => {
        socket.write(frame, (error) => (error ? reject(this.#gone("closed the connection")) : resolve()));
      });
    });
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(act);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #exchangeNow(
    message: Buffer,
    controlId: string,
    {
      isLast = () => true,
      onTakenBack,
      beforeSend,
    }: SendHooks & { readonly isLast?: ((answer: Acknowledgment) => boolean) | undefined },
  ): Promise<Acknowledgment> {
    const id = controlId.trim();
    const frame = encodeFrame(message);
    const socket = await this.#ready();
    beforeSend?.();
    this.#oddities = new Oddities();
    this.#hasHeard = false;
    this.#isCutOff = false;
    const timer = this.#startTimer();
    const answer = new Promise<Acknowledgment>((resolve, reject) => {
      const hear = (heard: Acknowledgment) => {
        if (heard.controlId !== id) return false;
        if (!isLast(heard)) return true;
        this.#answered.add(id, isTaken(heard) ? onTakenBack : undefined);
        // At once: what follows in the same chunk is not for who waited.
        this.#waiting = undefined;
        resolve(heard);
        return true;
      };
      this.#waiting = { hear, fail: reject };
    });
    socket.write(frame);
    try {
      return await answer;
    } finally {
      timer.abort();
      this.#waiting = undefined;
    }
  }

  /** Ends the waiting when the time for an answer is over, unless it is aborted before. */
  #startTimer(): AbortController {
    const timer = new AbortController();
    this.#deps.clock
      .sleep(this.#settings.answerTimeoutMs, timer.signal)
      .then(() => {
        const why = `${this.#peer}: no acknowledgement in time${this.#oddities.describe()}`;
        this.#hangUp(new Failure("MLLP_NO_ANSWER", why));
      })
      .catch(() => undefined);
    return timer;
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
    if (this.#closing.signal.aborted)
      throw new Failure("MLLP_UNREACHABLE", `${this.#peer}: the connector is stopping`);
  }

  async #connect(): Promise<Socket> {
    const socket = await dial(this.#settings, this.#deps.clock, this.#closing.signal);
    this.#deps.onPeer?.(this.#peer, socket);
    const reader = new FrameReader(MAX_ANSWER_BYTES);
    let endTimer: NodeJS.Timeout | undefined;
    const take = (events: readonly FrameEvent[], chunk: Buffer) => {
      if (this.#hungUp.has(socket)) {
        for (const event of events) if (event.kind === "frame") this.#hearLate(event.bytes);
        return;
      }
      this.#hasHeard = true;
      this.#oddities.read(chunk, events, reader.openLength);
      for (const event of events) {
        if (event.kind === "frame") this.#hear(event.bytes);
        else if (event.kind === "too_large") this.#hangUp(this.#gone("sent something too large"));
      }
    };
    socket.on("data", (chunk: Buffer) => {
      clearTimeout(endTimer);
      take(reader.push(chunk), chunk);
      if (!reader.isAtEndBlock) return;
      endTimer = setTimeout(() => take(reader.end(), Buffer.alloc(0)), END_BLOCK_MS).unref();
    });
    let why = "closed the connection";
    socket.on("error", (error) => {
      why = `broke off the connection (${describeError(error, this.#settings.tlsSettings)})`;
      socket.destroy();
    });
    socket.on("close", () => {
      clearTimeout(endTimer);
      if (this.#socket !== socket) return;
      this.#isCutOff = !this.#hasHeard;
      this.#hangUp(this.#gone(why));
    });
    return socket;
  }

  #gone(what: string): Failure {
    const odd = this.#oddities.describe();
    return new Failure(
      "MLLP_NO_ANSWER",
      `${this.#peer}: the lab system ${what} before it acknowledged${odd}`,
    );
  }

  /** Takes what the peer says. Only the acknowledgement of the message that waits ends its waiting. */
  #hear(bytes: Buffer): void {
    const answer = readAcknowledgment(bytes);
    if (answer === undefined) {
      this.#oddities.addFrame();
      this.#deps.logger.warn(
        { bytes: bytes.length },
        "the lab system sent something that is no acknowledgement",
      );
      return;
    }
    if (this.#waiting?.hear(answer) || this.#answered.hear(answer)) return;
    this.#deps.logger.warn(
      { code: answer.code },
      "the lab system acknowledged a message that was not sent now",
    );
    const what =
      answer.controlId === undefined
        ? "an acknowledgement came that names no message (MSA-2 is empty)"
        : "another message was acknowledged";
    this.#hangUp(new Failure("MLLP_NO_ANSWER", `${this.#peer}: ${what}`));
  }

  /** Takes what the peer says over a connection that was hung up: it is for nobody who waits. */
  #hearLate(bytes: Buffer): void {
    const answer = readAcknowledgment(bytes);
    if (answer) this.#answered.hear(answer);
  }

  /** Ends the connection, and with it the waiting. */
  #hangUp(failure: Failure): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
    this.#waiting?.fail(failure);
  }
}
