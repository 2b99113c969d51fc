/** Start block of a frame. */
export const START_BLOCK = 0x0b;
/** First byte of the end block; the second is {@link CARRIAGE_RETURN}. */
export const END_BLOCK = 0x1c;
const CARRIAGE_RETURN = 0x0d;

/** What a stream of bytes turned out to hold. */
export type FrameEvent =
  /** A whole message, without its start and end block. */
  | { readonly kind: "frame"; readonly bytes: Buffer }
  /** Bytes outside any frame were skipped. Line ends between frames are none: many senders add them. */
  | { readonly kind: "junk"; readonly length: number }
  /** A frame had no end when the next one began, or when the stream ended; it is not a message. */
  | { readonly kind: "unended"; readonly bytes: Buffer }
  /** A frame grew beyond the limit. Nothing after it can be trusted: the reader takes no more. */
  | { readonly kind: "too_large" };

/**
 * Takes frames of the Minimal Lower Layer Protocol (release 1: start block 0x0B, data, end block 0x1C 0x0D) out of a
 * stream, wherever it is cut into chunks and however many frames a chunk holds.
 *
 * A 0x1C that neither 0x0D nor 0x0A follows is data, except right before the next start block and where the stream ends or
 * stands still ({@link isAtEndBlock}), where it ends the frame: some senders leave the carriage return out. Memory is bound by twice the largest frame and one chunk, however small the chunks are.
 */
export class FrameReader {
  readonly #maxBytes: number;
  #isOpen = false;
  /**
   * What is there of the open frame, without its start block: the one piece that came, or a buffer of ours with room at
   * its end. A list of pieces would cost a peer that sends single bytes nothing, and us a hundred bytes for each.
   */
  #open: Buffer = NOTHING;
  #openLength = 0;
  /** Whether what is open may be written to. */
  #isOurs = false;
  #isOver = false;
  #looseEnds = 0;

  /** @param maxBytes largest frame, without its blocks */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the frame that has begun and not ended; undefined between frames. */
  get openLength(): number | undefined {
    return this.#isOpen ? this.#openLength : undefined;
  }

  /** Frames so far whose end block had no carriage return. */
  get looseEnds(): number {
    return this.#looseEnds;
  }

  /** Whether the first byte of an end block came last: when nothing follows, {@link end} gives the frame. */
  get isAtEndBlock(): boolean {
    return this.#isOpen && this.#lastByte === END_BLOCK;
  }

  /** The events of the next chunk, in their order. Frames that lie within the chunk share its memory. */
  push(chunk: Buffer): FrameEvent[] {
    const events: FrameEvent[] = [];
    let at = 0;
    while (at < chunk.length && !this.#isOver) {
      at = this.#isOpen ? this.#read(chunk, at, events) : this.#skip(chunk, at, events);
    }
    return events;
  }

  /** The stream has ended, or stands still behind an end block. */
  end(): FrameEvent[] {
    if (this.#isOver || !this.#isOpen) return [];
    return [this.#endLoosely()];
  }

  /** Goes to the start of the next frame; returns where it went on from. */
  #skip(chunk: Buffer, from: number, events: FrameEvent[]): number {
    const start = chunk.indexOf(START_BLOCK, from);
    const end = start === -1 ? chunk.length : start;
    const length = countJunk(chunk, from, end);
    if (length > 0) events.push({ kind: "junk", length });
    if (start === -1) return chunk.length;
    this.#isOpen = true;
    return start + 1;
  }

  /** Reads on in the open frame up to its end, the next start block or the chunk's end. */
  #read(chunk: Buffer, from: number, events: FrameEvent[]): number {
    const restart = chunk.indexOf(START_BLOCK, from);
    const stop = restart === -1 ? chunk.length : restart;
    const end = this.#findEnd(chunk, from, stop);
    if (end !== undefined) {
      this.#append(chunk.subarray(from, Math.max(from, end.dataEnd)));
      if (end.dataEnd < from) this.#dropLast(from - end.dataEnd);
      if (this.#openLength > this.#maxBytes) return this.#giveUp(events);
      events.push({ kind: "frame", bytes: this.#take() });
      return end.next;
    }
    this.#append(chunk.subarray(from, stop));
    // The last byte may already be the first one of the end block.
    const dataLength = this.#openLength - (this.#lastByte === END_BLOCK ? 1 : 0);
    if (dataLength > this.#maxBytes) return this.#giveUp(events);
    return restart === -1 ? chunk.length : this.#endAtRestart(restart, events);
  }

  /** Where the frame's data ends and what follows begins; the 0x1C may have been the last byte of the chunk before. */
  #findEnd(chunk: Buffer, from: number, stop: number): { dataEnd: number; next: number } | undefined {
    if (from < stop && isLineEnd(chunk[from]) && this.#lastByte === END_BLOCK) {
      if (chunk[from] !== CARRIAGE_RETURN) this.#looseEnds += 1;
      return { dataEnd: from - 1, next: from + 1 };
    }
    for (
      let at = chunk.indexOf(END_BLOCK, from);
      at !== -1 && at < stop;
      at = chunk.indexOf(END_BLOCK, at + 1)
    ) {
      if (at + 1 >= stop || !isLineEnd(chunk[at + 1])) continue;
      if (chunk[at + 1] !== CARRIAGE_RETURN) this.#looseEnds += 1;
      return { dataEnd: at, next: at + 2 };
    }
    return undefined;
  }

  #endAtRestart(restart: number, events: FrameEvent[]): number {
    events.push(this.#endLoosely());
    return restart;
  }

  /** Ends the open frame without a carriage return. */
  #endLoosely(): FrameEvent {
    if (this.#lastByte !== END_BLOCK) return { kind: "unended", bytes: this.#take() };
    this.#dropLast(1);
    this.#looseEnds += 1;
    return { kind: "frame", bytes: this.#take() };
  }

  #giveUp(events: FrameEvent[]): number {
    events.push({ kind: "too_large" });
    this.#close();
    this.#isOver = true;
    return Number.MAX_SAFE_INTEGER;
  }

  #append(piece: Buffer): void {
    const length = this.#openLength + piece.length;
    if (this.#openLength === 0) {
      this.#open = piece;
      this.#isOurs = false;
    } else if (piece.length > 0) {
      if (!this.#isOurs || length > this.#open.length) this.#grow(length);
      piece.copy(this.#open, this.#openLength);
    }
    this.#openLength = length;
  }

  /** Twice the room that is needed, so that a byte is copied a constant number of times however many pieces come. */
  #grow(length: number): void {
    const grown = Buffer.allocUnsafeSlow(2 * length);
    this.#open.copy(grown, 0, 0, this.#openLength);
    this.#open = grown;
    this.#isOurs = true;
  }

  get #lastByte(): number | undefined {
    return this.#openLength === 0 ? undefined : this.#open[this.#openLength - 1];
  }

  /** Takes bytes off the end of the open frame again. */
  #dropLast(count: number): void {
    this.#openLength -= count;
  }

  #take(): Buffer {
    const bytes = this.#open.subarray(0, this.#openLength);
    this.#close();
    return bytes;
  }

  #close(): void {
    this.#isOpen = false;
    this.#open = NOTHING;
    this.#openLength = 0;
  }
}

const NOTHING = Buffer.alloc(0);

/** A message as a frame. @throws RangeError when the message holds a byte that would end its frame. */
export function encodeFrame(message: Buffer): Buffer {
  return encodeFrames([message]);
}

/** Messages as frames, one after the other. @throws RangeError when one holds a byte that would end its frame. */
export function encodeFrames(messages: readonly Buffer[]): Buffer {
  const frames = Buffer.allocUnsafe(messages.reduce((sum, { length }) => sum + length + 3, 0));
  let at = 0;
  for (const message of messages) {
    if (message.includes(START_BLOCK) || message.includes(END_BLOCK)) {
      throw new RangeError("a message in a frame may hold neither 0x0B nor 0x1C");
    }
    frames[at] = START_BLOCK;
    message.copy(frames, at + 1);
    at += message.length + 3;
    frames[at - 2] = END_BLOCK;
    frames[at - 1] = CARRIAGE_RETURN;
  }
  return frames;
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === CARRIAGE_RETURN || byte === 0x0a;
}

function countJunk(chunk: Buffer, from: number, end: number): number {
  let count = 0;
  for (let at = from; at < end; at += 1) {
    if (!isLineEnd(chunk[at])) count += 1;
  }
  return count;
}

/**
 * The protocol that a peer speaks instead of MLLP, as far as the first bytes outside of any frame show it.
 */
export function guessProtocol(bytes: Buffer): "TLS" | "HTTP" | "SSH" | undefined {
  // A TLS record: its kind (alert, handshake), and version 3.
  if ((bytes[0] === 0x15 || bytes[0] === 0x16) && bytes[1] === 0x03) return "TLS";
  const text = bytes.toString("latin1", 0, 16);
  if (/^(?:HTTP\/|GET |POST |PUT |HEAD |OPTIONS |CONNECT )/.test(text)) return "HTTP";
  return text.startsWith("SSH-") ? "SSH" : undefined;
}

/** What a peer says that is no answer, so that who waits in vain learns of it. Nothing of its words is kept. */
export class Oddities {
  #junkBytes = 0;
  #protocol: ReturnType<typeof guessProtocol>;
  #openBytes: number | undefined;
  #others = 0;

  /** A chunk came that made these events, and left that many bytes of a frame without an end. */
  read(chunk: Buffer, events: readonly FrameEvent[], openBytes: number | undefined): void {
    for (const event of events) {
      if (event.kind !== "junk") continue;
      if (this.#junkBytes === 0) this.#protocol = guessProtocol(chunk);
      this.#junkBytes += event.length;
    }
    this.#openBytes = openBytes;
  }

  /** A frame came that is no acknowledgement. */
  addFrame(): void {
    this.#others += 1;
  }

  /** As the end of a sentence; empty where nothing came. */
  describe(): string {
    if (this.#protocol !== undefined) return `; what it says looks like ${this.#protocol}`;
    if (this.#openBytes !== undefined)
      return `; a frame of ${this.#openBytes} bytes came that has no end (0x1C 0x0D)`;
    if (this.#others > 0)
      return `; ${this.#others === 1 ? "a frame" : `${this.#others} frames`} came without a usable MSA`;
    if (this.#junkBytes > 0) return `; ${this.#junkBytes} bytes came that are in no frame (0x0B first)`;
    return "";
  }
}
