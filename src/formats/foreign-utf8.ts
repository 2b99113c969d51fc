import { isAscii } from "node:buffer";
import { type Encoding, findByteOrderMark, utf8Length } from "./encoding.ts";

/** Where bytes stand that are UTF-8 in what is said to be of another encoding. */
export interface ForeignUtf8 {
  /** 1-based. */
  readonly line: number;
  /** 0-based offset of the first such byte. */
  readonly offset: number;
}

/** Sets in which a letter takes two bytes: a short text in one of them may well be UTF-8 by chance. */
const DOUBLE_BYTE: readonly Encoding[] = ["gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"];

/**
 * Looks through bytes that are to be read in another encoding than UTF-8, for lines beyond ASCII that are UTF-8 as they
 * stand: read as Windows-1252, `Müller` would become `MÃ¼ller` without a word. In a set of single bytes each line is
 * looked at by itself, since a file may come from two hands: what such a set writes after a capital letter with an accent
 * is hardly ever only what UTF-8 wants there. In a set of double bytes only the whole says it.
 *
 * Text in UTF-16 is never taken for UTF-8, since it has NUL bytes, and what begins with a byte order mark neither.
 */
export class ForeignUtf8Finder {
  /** Whether any character of two bytes or more came, whatever else its line holds. */
  hasUtf8 = false;
  readonly #isByLine: boolean;
  #isOff: boolean;
  #found: ForeignUtf8 | undefined;
  /** The first character of two bytes or more in the lines that are judged together. */
  #first: ForeignUtf8 | undefined;
  #isBad = false;
  #line = 1;
  #isAfterCr = false;
  /** Offset of the first carried byte. */
  #offset = 0;
  #carried: Buffer = Buffer.alloc(0);

  constructor(encoding: Encoding) {
    this.#isByLine = !DOUBLE_BYTE.includes(encoding);
    this.#isOff = encoding === "utf-8" || encoding === "us-ascii";
  }

  push(block: Buffer): void {
    if (this.#isOff || this.#found) return;
    const bytes = this.#carried.length === 0 ? block : Buffer.concat([this.#carried, block]);
    // The longest character has four bytes: the last three may not be whole.
    const last = bytes.length - 3;
    const end = isAscii(bytes) ? bytes.length : Math.max(0, last);
    this.#carried = bytes.subarray(this.#take(bytes, end));
  }

  /** What was found in all that came. */
  end(): ForeignUtf8 | undefined {
    this.#take(this.#carried, this.#carried.length);
    this.#carried = Buffer.alloc(0);
    this.#judge();
    return this.#isOff ? undefined : this.#found;
  }

  /** Goes through characters that begin before `end`; where it went on from. */
  #take(bytes: Buffer, end: number): number {
    let at = 0;
    // A byte order mark decides for itself.
    if (this.#offset === 0 && end > 0 && findByteOrderMark(bytes)) this.#isOff = true;
    while (at < end) {
      const byte = bytes[at] ?? 0;
      if (byte >= 0x80) {
        const length = utf8Length(bytes, at);
        if (length === 0) this.#isBad = true;
        else this.#first ??= { line: this.#line, offset: this.#offset + at };
        this.hasUtf8 ||= length > 0;
        at += Math.max(1, length);
      } else {
        if (byte === 0) this.#isOff = true;
        if (byte === CR || byte === LF) this.#endLine(byte);
        at += 1;
      }
      if (byte !== CR) this.#isAfterCr = false;
    }
    this.#offset += at;
    return at;
  }

  #endLine(byte: number): void {
    if (this.#isByLine) this.#judge();
    if (byte === LF && this.#isAfterCr) return;
    this.#line += 1;
    this.#isAfterCr = byte === CR;
  }

  #judge(): void {
    if (this.#first && !this.#isBad) this.#found ??= this.#first;
    this.#first = undefined;
    this.#isBad = false;
  }
}

const CR = 0x0d;
const LF = 0x0a;

/** The same for bytes that are there as a whole. */
export function findForeignUtf8(bytes: Buffer, encoding: Encoding): ForeignUtf8 | undefined {
  if (isAscii(bytes)) return undefined;
  const finder = new ForeignUtf8Finder(encoding);
  finder.push(bytes);
  return finder.end();
}
