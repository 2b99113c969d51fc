import type { Socket } from "node:net";
import type { Clock } from "../../core/clock.ts";
import type { Peer } from "../../core/intake.ts";
import type { Logger } from "../../core/logger.ts";
import { encodeFrames, type FrameEvent, FrameReader, guessProtocol } from "../../formats/hl7/mllp.ts";
import { type BackPressure, END_BLOCK_MS, type MllpLimits } from "./limits.ts";

/** What a listener counts, over all its connections. */
export interface MllpCounts {
  /** Frames that came whole. */
  frames: number;
  /** Those of them whose end block had no carriage return. */
  looseEnds: number;
  /** Frames that had no end before the next one or the end of the connection. */
  unended: number;
  /** Frames beyond the limit. */
  tooLarge: number;
  /** Bytes outside frames. */
  junkBytes: number;
  /** Connections that were closed because nothing, or no end of a frame, came in time. */
  timedOut: number;
  /** Bytes of frames that have begun and not ended, as they stand. */
  openBytes: number;
}

/** What a connection is given. */
export interface ConnectionDeps {
  readonly limits: MllpLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counts: MllpCounts;
  /** Shared by all connections of the listener. */
  readonly backPressure: BackPressure;
  /**
   * Keeps what a frame holds. Resolves once that is on disk, with the answers, a frame each; rejects when it could not be
   * kept, and then nothing is answered.
   */
  readonly take: (frame: Buffer, peer: Peer) => Promise<readonly Buffer[]>;
  /** Keeps a frame that never ended, for people to look at. */
  readonly keepUnended: (bytes: Buffer, peer: Peer) => Promise<void>;
}

/** Something taken that is to be answered when its turn comes. */
interface InHand {
  /** In frames; undefined until the message is kept. */
  answer: Buffer | undefined;
  /** It could not be kept, or not be answered. */
  hasFailed: boolean;
}

const NOTHING = Buffer.alloc(0);
/** Why a wait ended; an error of its own for each would cost more than the wait. */
const OVER = "over";

/** A frame that is open for this long may be one that never ends, ms: the connection counts as idle. */
const STALLED_MS = 10_000;

/** How long a peer to which we have said goodbye may take to close, ms. */
const LINGER_MS = 500;

/**
 * One peer. Frames are taken as they come, several at once, and answered in the order in which they came. When one
 * can't be kept the connection is closed without an answer to it or to any after it: the sender still has them and
 * sends them again.
 */
export class MllpConnection {
  readonly #socket: Socket;
  readonly #peer: Peer;
  readonly #deps: ConnectionDeps;
  #reader: FrameReader;
  /** What was taken and not answered yet, oldest first. */
  #inHand: InHand[] = [];
  #isAnswering = false;
  /** Called once everything in hand is answered. */
  #onAnswered: (() => void)[] = [];
  /** Ends the wait for what has to come in time. */
  #waiting = new AbortController();
  #endTimer: NodeJS.Timeout | undefined;
  /** When the open frame began, monotonic ms. */
  #openSince: number | undefined;
  /** When the last whole frame came, or, before that, the connection. */
  #activeAt: number;
  #hasFramed = false;
  /** This connection's share of the open bytes. */
  #openBytes = 0;
  #isStopping = false;
  /** What all connections have in hand is enough: nothing is read until there is room again. */
  #isHeldBack = false;
  #hasSpoken = false;
  #hasTalkedJunk = false;
  #hasEnded = false;

  constructor(socket: Socket, deps: ConnectionDeps) {
    this.#socket = socket;
    this.#peer = { address: socket.remoteAddress ?? "unknown" };
    this.#deps = deps;
    this.#reader = new FrameReader(deps.limits.maxBytes);
    this.#activeAt = deps.clock.monotonic();
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("end", () => this.#end());
    // Why a peer went away is of no use: what was not answered comes again.
    socket.on("error", () => socket.destroy());
    socket.on("drain", () => this.#flow());
    socket.on("close", () => {
      this.#waiting.abort(OVER);
      clearTimeout(this.#endTimer);
      this.#countOpen(0);
    });
    this.#flow();
    this.#watch();
  }

  /**
   * Since when nothing would be lost if it were closed, monotonic ms; undefined while a message is in hand, or a frame is
   * coming.
   */
  get idleSince(): number | undefined {
    if (this.#inHand.length > 0 || this.#isStopping) return undefined;
    if (this.#openSince === undefined) return this.#activeAt;
    const { clock } = this.#deps;
    return clock.monotonic() - this.#openSince >= STALLED_MS ? this.#openSince : undefined;
  }

  /** Takes no further frames, answers those in hand and closes. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#socket.pause();
    await this.#allAnswered();
    await this.#finish();
  }

  #read(chunk: Buffer): void {
    if (this.#isStopping || this.#isRefused(chunk)) return;
    clearTimeout(this.#endTimer);
    this.#process((reader) => reader.push(chunk), chunk);
    if (!this.#reader.isAtEndBlock) return;
    this.#endTimer = setTimeout(() => {
      if (!this.#isStopping) this.#process((reader) => reader.end(), NOTHING);
    }, END_BLOCK_MS).unref();
  }

  #process(read: (reader: FrameReader) => FrameEvent[], chunk: Buffer): void {
    const events = this.#readEvents(read);
    const openLength = this.#reader.openLength;
    // A frame that ended in this chunk was not open before it, or is not any more.
    const isFrameOver = events.some(({ kind }) => kind !== "junk");
    if (openLength === undefined || isFrameOver) this.#openSince = undefined;
    const hasBegun = openLength !== undefined && this.#openSince === undefined;
    if (hasBegun) this.#openSince = this.#deps.clock.monotonic();
    for (const event of events) this.#handle(event, chunk);
    this.#countOpen(openLength ?? 0);
    this.#flow();
    // Bytes that belong to no frame keep no connection open.
    if (hasBegun || isFrameOver) this.#watch();
  }

  #readEvents(read: (reader: FrameReader) => FrameEvent[]): FrameEvent[] {
    const { counts, logger } = this.#deps;
    const before = this.#reader.looseEnds;
    const events = read(this.#reader);
    const loose = this.#reader.looseEnds - before;
    counts.looseEnds += loose;
    if (loose > 0 && before === 0)
      logger.warn("a frame's end block had no carriage return (0x1C without 0x0D); it was taken");
    return events;
  }

  /**
   * A peer that begins with TLS waits for a handshake that never comes, and its bytes may look like frames without an end:
   * it learns that at once by the end of the connection.
   */
  #isRefused(chunk: Buffer): boolean {
    const isFirst = !this.#hasSpoken;
    this.#hasSpoken = true;
    if (!isFirst || guessProtocol(chunk) !== "TLS") return false;
    this.#deps.counts.junkBytes += chunk.length;
    this.#deps.logger.warn("a peer spoke TLS where none is set up; its connection was closed");
    this.#socket.destroy();
    return true;
  }

  /** A peer that would make the open frames of all connections exceed their bound has to come again. */
  #countOpen(bytes: number): void {
    const { counts, limits, logger } = this.#deps;
    counts.openBytes += bytes - this.#openBytes;
    this.#openBytes = bytes;
    if (bytes === 0 || counts.openBytes <= limits.maxOpenBytes || this.#isStopping) return;
    logger.warn({ openBytes: counts.openBytes }, "too many frames are open at once; a connection is closed");
    this.#closeAfterAnswers();
  }

  #end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#endTimer);
    for (const event of this.#readEvents((reader) => reader.end())) this.#handle(event, NOTHING);
    // Answers in hand still go out to a peer that has closed its own half only.
    void this.#allAnswered().then(() => this.#socket.end());
  }

  /** @param chunk what the event was read from */
  #handle(event: FrameEvent, chunk: Buffer): void {
    const { counts, logger } = this.#deps;
    switch (event.kind) {
      case "frame":
        counts.frames += 1;
        this.#hasFramed = true;
        this.#activeAt = this.#deps.clock.monotonic();
        void this.#hold(event.bytes.length, this.#deps.take(event.bytes, this.#peer));
        return;
      case "junk":
        counts.junkBytes += event.length;
        if (!this.#hasTalkedJunk)
          logger.warn(
            { bytes: event.length, looksLike: guessProtocol(chunk) },
            "bytes outside of any frame were skipped",
          );
        // A peer that speaks another protocol would fill the log; the count goes on.
        this.#hasTalkedJunk = true;
        return;
      case "unended":
        counts.unended += 1;
        logger.warn({ bytes: event.bytes.length }, "a frame without an end was not taken");
        if (this.#hasEnded) return;
        void this.#hold(
          event.bytes.length,
          this.#deps.keepUnended(event.bytes, this.#peer).then(() => []),
        );
        return;
      case "too_large":
        counts.tooLarge += 1;
        logger.warn(
          { maxBytes: this.#deps.limits.maxBytes },
          "a frame is larger than allowed; the connection is closed",
        );
        this.#closeAfterAnswers();
    }
  }

  /** Never rejects. */
  async #hold(bytes: number, committing: Promise<readonly Buffer[]>): Promise<void> {
    const taken: InHand = { answer: undefined, hasFailed: false };
    this.#inHand.push(taken);
    this.#deps.backPressure.add(bytes);
    try {
      taken.answer = encodeFrames(await committing);
    } catch {
      taken.hasFailed = true;
    }
    this.#deps.backPressure.remove(bytes);
    if (this.#isAnswering) return;
    this.#isAnswering = true;
    // What was kept together is answered in one write.
    process.nextTick(() => this.#answer());
  }

  /** Answers what is kept, up to the first that isn't. */
  #answer(): void {
    this.#isAnswering = false;
    const waiting = this.#inHand.findIndex(({ answer }) => answer === undefined);
    const ready = this.#inHand.splice(0, waiting === -1 ? this.#inHand.length : waiting);
    const answers = ready.flatMap(({ answer }) => (answer && answer.length > 0 ? [answer] : []));
    if (answers.length > 0 && !this.#socket.destroyed) this.#socket.write(Buffer.concat(answers));
    if (this.#inHand[0]?.hasFailed) {
      // Nothing that came after may be answered before this one is.
      this.#isStopping = true;
      this.#inHand = [];
      this.#socket.destroy();
    }
    if (this.#inHand.length === 0) for (const goOn of this.#onAnswered.splice(0)) goOn();
    this.#flow();
    this.#watch();
  }

  #allAnswered(): Promise<void> {
    if (this.#inHand.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onAnswered.push(resolve));
  }

  #closeAfterAnswers(): void {
    this.#isStopping = true;
    this.#reader = new FrameReader(0);
    this.#countOpen(0);
    this.#socket.pause();
    void this.#allAnswered().then(() => this.#finish());
  }

  /**
   * Closes so that the last answers arrive: a socket that is destroyed with unread bytes resets the connection, and the
   * peer may then lose what it has not read yet. So the rest is read and dropped until the peer closes too.
   */
  #finish(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.closed) resolve();
      this.#socket.once("close", () => resolve());
      this.#socket.end();
      this.#socket.resume();
      setTimeout(() => this.#socket.destroy(), LINGER_MS).unref();
    });
  }

  /**
   * Reads on only while there is room for what comes: in hand, its own and that of all, and in the peer's readiness to
   * take answers.
   */
  #flow(): void {
    if (this.#isStopping || this.#socket.destroyed) return;
    const { limits, backPressure } = this.#deps;
    if (backPressure.isOn) this.#holdBack();
    const hasRoom =
      !this.#isHeldBack && this.#inHand.length < limits.maxInFlight && !this.#socket.writableNeedDrain;
    if (hasRoom && this.#socket.isPaused()) {
      // What came of the open frame, or of the first one, meanwhile wasn't read.
      if (this.#openSince !== undefined) this.#openSince = this.#deps.clock.monotonic();
      if (!this.#hasFramed) this.#activeAt = this.#deps.clock.monotonic();
      this.#socket.resume();
    } else if (!hasRoom && !this.#socket.isPaused()) this.#socket.pause();
  }

  #holdBack(): void {
    if (this.#isHeldBack) return;
    this.#isHeldBack = true;
    this.#watch();
    this.#deps.backPressure.whenOff(() => {
      this.#isHeldBack = false;
      this.#flow();
      this.#watch();
    });
  }

  /**
   * Starts the time again in which the open frame must end, or anything must come; the time for the first frame goes on.
   * Waiting for us is no idling.
   */
  #watch(): void {
    this.#waiting.abort(OVER);
    if (this.#socket.destroyed || this.#inHand.length > 0 || this.#isHeldBack) return;
    const { limits, counts, logger, clock } = this.#deps;
    const isOpen = this.#openSince !== undefined;
    const openMs = this.#openSince === undefined ? 0 : clock.monotonic() - this.#openSince;
    const leftMs = isOpen ? limits.frameMs - openMs : limits.idleMs;
    const firstMs = this.#hasFramed ? leftMs : limits.firstFrameMs - (clock.monotonic() - this.#activeAt);
    this.#waiting = new AbortController();
    clock.sleep(Math.max(0, Math.min(leftMs, firstMs)), this.#waiting.signal).then(
      () => {
        counts.timedOut += 1;
        logger.info({ isFrameOpen: isOpen }, "a connection was closed because nothing came in time");
        this.#socket.destroy();
      },
      () => undefined,
    );
  }
}
