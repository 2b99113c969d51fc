const CR = 0x0d;
const LF = 0x0a;
/** MLLP's start block and end block; the DOS end-of-file mark. */
const START_BLOCK = 0x0b;
const END_BLOCK = 0x1c;
const END_OF_FILE = 0x1a;

/**
 * Goes through the lines that hold something, each byte looked at a constant number of times. A line also ends where
 * MLLP's end block is followed by a line end, another frame or the end of the file; elsewhere 0x1C and 0x0B are the
 * message's own. What it tells is of the line it stands at, by offsets; MLLP bytes and byte order mark are left out.
 */
export class FileLines {
  /** 1-based. */
  line = 0;
  start = 0;
  /** Without the line end. */
  end = 0;
  /** With it. */
  endWithBreak = 0;
  readonly #text: Buffer;
  #from = 0;
  #nextLine = 1;
  #cr = -1;
  #lf = -1;
  #block = -1;

  constructor(text: Buffer) {
    this.#text = text;
  }

  /** Goes to the next line; false where there is none. */
  next(): boolean {
    const text = this.#text;
    while (this.#from < text.length) {
      const from = this.#from;
      if (this.#cr < from) this.#cr = find(text, CR, from);
      if (this.#lf < from) this.#lf = find(text, LF, from);
      if (this.#block < from) this.#block = findEndBlock(text, from);
      const to = Math.min(this.#cr, this.#lf, this.#block);
      const isBreak = to < text.length && to !== this.#block;
      const length = isBreak && text[to] === CR && text[to + 1] === LF ? 2 : 1;
      this.#from = to + length;
      this.line = this.#nextLine;
      if (isBreak) this.#nextLine++;
      this.start = skipLead(text, from, to);
      this.end = skipTail(text, this.start, to);
      // The line end is the message's own only where nothing stray stands between.
      this.endWithBreak = isBreak && this.end === to ? to + length : this.end;
      if (this.end > this.start) return true;
    }
    return false;
  }
}

function find(text: Buffer, byte: number, from: number): number {
  const at = text.indexOf(byte, from);
  return at === -1 ? text.length : at;
}

function findEndBlock(text: Buffer, from: number): number {
  let at = find(text, END_BLOCK, from);
  while (at < text.length) {
    const after = text[at + 1];
    if (after === undefined || [CR, LF, START_BLOCK, END_BLOCK, END_OF_FILE].includes(after)) return at;
    at = find(text, END_BLOCK, at + 1);
  }
  return at;
}

function skipLead(text: Buffer, from: number, to: number): number {
  let at = from;
  while (at < to) {
    const byte = text[at];
    if (byte === START_BLOCK || byte === END_BLOCK || byte === END_OF_FILE) at++;
    // Files joined by copying one behind the other keep each one's byte order mark.
    else if (byte === 0xef && text[at + 1] === 0xbb && text[at + 2] === 0xbf) at += 3;
    else break;
  }
  // Spaces alone are a blank line; before a segment they are the segment's fault, to be told by its parser.
  let last = at;
  while (last < to && (text[last] === 0x20 || text[last] === 0x09)) last++;
  return last >= to ? to : at;
}

function skipTail(text: Buffer, start: number, to: number): number {
  let end = to;
  while (end > start && (text[end - 1] === END_BLOCK || text[end - 1] === END_OF_FILE)) end--;
  return end;
}
