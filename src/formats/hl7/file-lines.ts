/** A line of a file that holds something, by offsets; its MLLP bytes and byte order mark left out. */
export interface FileLine {
  /** 1-based. */
  readonly line: number;
  readonly start: number;
  /** Without the line end. */
  readonly end: number;
  /** With it. */
  readonly endWithBreak: number;
}

const CR = 0x0d;
const LF = 0x0a;
/** MLLP's start block and end block; the DOS end-of-file mark. */
const START_BLOCK = 0x0b;
const END_BLOCK = 0x1c;
const END_OF_FILE = 0x1a;

/**
 * The lines that hold something, each byte looked at a constant number of times. A line also ends where MLLP's end
 * block is followed by a line end, another frame or the end of the file; elsewhere 0x1C and 0x0B are the message's own.
 */
export function* listLines(text: Buffer): Generator<FileLine> {
  const next = { cr: -1, lf: -1, block: -1 };
  let from = 0;
  let line = 1;
  while (from < text.length) {
    if (next.cr < from) next.cr = find(text, CR, from);
    if (next.lf < from) next.lf = find(text, LF, from);
    if (next.block < from) next.block = findEndBlock(text, from);
    const to = Math.min(next.cr, next.lf, next.block);
    const isBreak = to < text.length && to !== next.block;
    const length = !isBreak ? (to < text.length ? 1 : 0) : text[to] === CR && text[to + 1] === LF ? 2 : 1;
    const start = skipLead(text, from, to);
    const end = skipTail(text, start, to);
    // The line end is the message's own only where nothing stray stands between.
    if (end > start) yield { line, start, end, endWithBreak: isBreak && end === to ? to + length : end };
    if (isBreak) line++;
    from = to + Math.max(length, 1);
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
