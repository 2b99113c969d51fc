import { findByteOrderMark } from "../../core/byte-order-mark.ts";
import type { FailureCode, Problem } from "../../core/failures.ts";
import type { BatchOutline } from "../../core/intake.ts";
import { atLine, FILE, type Place } from "../../core/place.ts";
import { decodeBytes, type Encoding } from "../encoding.ts";
import { BatchTracker } from "./batch.ts";
import { findUtf16 } from "./charset.ts";
import { LINE_END, nameLineEnds } from "./line-ends.ts";

/** One message of a file. */
export interface Hl7FilePart {
  /** Position in the file, from 1. */
  readonly ordinal: number;
  /** Line of the file on which the message begins, 1-based. */
  readonly line: number;
  /** Exactly the message's bytes, its last line end included. */
  readonly raw: Buffer;
  /** BHS-11 of the batch it stands in. */
  readonly batchControlId?: string;
}

/** Something wrong with a file as a whole. */
type Hl7FileProblem = Problem;

interface Hl7File {
  /** Empty when there is any problem: a file that may be cut short is never half processed. */
  readonly parts: readonly Hl7FilePart[];
  readonly problems: readonly Hl7FileProblem[];
  /** FHS-11. */
  readonly fileControlId?: string;
  /** Its batches, also when there are problems; absent where it has none. */
  readonly outline?: BatchOutline;
}

/** How much is taken in one, of each any number unless set: more is refused as a whole (HL7_TOO_MANY_MESSAGES), and the rest isn't looked at. */
interface SplitLimits {
  readonly messages?: number;
  readonly batches?: number;
  /** What becomes of a header that may be a line of pasted text, since line ends differ; accepted unless set. */
  readonly mixedLineEnds?: "refuse" | "accept" | undefined;
}

/**
 * Splits a dropped file into its messages: one, several, or batches (HL7 chapter 2.10.3). Lines end with CR, LF or
 * CRLF; blank lines, a byte order mark, a trailing 0x1A and MLLP's 0x0B and 0x1C around messages are passed over.
 * UTF-16 is recognised by its byte order mark, or by the zero byte beside the first letter. Problems (never thrown): HL7_FILE_EMPTY, HL7_FILE_BINARY, HL7_NO_MSH,
 * HL7_FILE_TEXT_OUTSIDE, HL7_BATCH_INCOMPLETE, HL7_BATCH_COUNT, HL7_LINE_ENDS_MIXED where a header may be a line of pasted
 * text. What is wrong inside one message is left to its parser.
 */
export function splitHl7File(
  bytes: Buffer,
  {
    messages: mostMessages = Number.POSITIVE_INFINITY,
    batches: mostBatches = Number.POSITIVE_INFINITY,
    mixedLineEnds = "accept",
  }: SplitLimits = {},
): Hl7File {
  const mark = findByteOrderMark(bytes) ?? findUtf16(bytes);
  const start = mark?.length ?? 0;
  const isWide = mark !== undefined && mark.encoding !== "utf-8";
  const unit = isWide ? 2 : 1;
  const after = subarray(bytes, start, bytes.length);
  const text = isWide ? narrow(after, mark.encoding === "utf-16le") : after;
  const zero = text.indexOf(0);
  if (zero !== -1) {
    return refuse("HL7_FILE_BINARY", { byte: start + zero * unit }, "expected HL7 text, found a NUL byte");
  }

  const parts: Hl7FilePart[] = [];
  let batches: BatchTracker | undefined;
  /** Where the message that is open begins and ends; -1 while none is. */
  let openAt = -1;
  let openEnd = -1;
  let openLine = 0;
  let strayLine: number | undefined;
  let [messages, headers] = [0, 0];
  const lines = new FileLines(text);
  const ends = new EndsOfMessages();
  const closeMessage = () => {
    if (openAt === -1) return;
    const raw = subarray(bytes, start + openAt * unit, start + openEnd * unit);
    const part = { ordinal: parts.length + 1, line: openLine, raw };
    const batchControlId = batches?.batchControlId;
    parts.push(batchControlId === undefined ? part : { ...part, batchControlId });
    openAt = -1;
  };

  while (lines.next()) {
    const kind = kindOf(text, lines.start, lines.end);
    ends.line(lines, kind !== undefined);
    if (kind === "MSH") messages += 1;
    if (kind === "BHS" || kind === "FHS") headers += 1;
    const excess = messages > mostMessages ? "messages" : headers > mostBatches ? "batches" : undefined;
    if (excess !== undefined) {
      const most = excess === "messages" ? mostMessages : mostBatches;
      return refuse(
        "HL7_TOO_MANY_MESSAGES",
        atLine(lines.line),
        `more than ${most} ${excess}, expected no more in one`,
      );
    }
    if (kind === "MSH") {
      closeMessage();
      batches?.message();
      openAt = lines.start;
      openEnd = lines.endWithBreak;
      openLine = lines.line;
    } else if (kind !== undefined) {
      closeMessage();
      batches ??= new BatchTracker(parts.length);
      const raw = bytes.subarray(start + lines.start * unit, start + lines.end * unit);
      const fullText = headerText(raw, mark?.encoding);
      batches.mark(kind, text.toString("latin1", lines.start, lines.end), lines.line, fullText);
    } else if (openAt !== -1) {
      openEnd = lines.endWithBreak;
    } else {
      strayLine ??= lines.line;
    }
  }
  closeMessage();
  batches?.end();

  if (parts.length === 0 && batches === undefined && strayLine === undefined) {
    return refuse("HL7_FILE_EMPTY", FILE, "expected at least one message, found nothing");
  }
  const problems: Problem[] = [];
  if (strayLine !== undefined && (parts.length > 0 || batches !== undefined)) {
    problems.push({
      code: "HL7_FILE_TEXT_OUTSIDE",
      place: atLine(strayLine),
      message: "text that belongs to no message: expected MSH or a batch header",
    });
  } else if (strayLine !== undefined) {
    problems.push({
      code: "HL7_NO_MSH",
      place: atLine(strayLine),
      message: "expected a message that begins with MSH; the file has no MSH at all",
    });
  }
  if (batches !== undefined) problems.push(...batches.problems);
  if (mixedLineEnds === "refuse") problems.push(...ends.problems());
  const file = { parts: problems.length > 0 ? [] : parts, problems };
  if (batches === undefined) return file;
  const { fileControlId, outline } = batches;
  return { ...file, ...(fileControlId === undefined ? {} : { fileControlId }), outline };
}

/**
 * Whether headers may be lines of text that was pasted into a field of another message, with line ends of its own: those
 * before and after each header have to be like the first one of all, and like the last, or nobody knows where messages begin.
 * One that differs inside a message is left to its mapping. Frames, as a capture of MLLP has them, say themselves where each begins.
 */
class EndsOfMessages {
  #first: number | undefined;
  #last: { readonly kinds: number; readonly line: number } | undefined;
  #odd: { readonly kinds: number; readonly line: number } | undefined;
  #headers = 0;
  #isAfterHeader = false;
  #lineBefore = 0;

  /** The next line that holds something. */
  line({ line, endsBefore: kinds }: FileLines, isHeader: boolean): void {
    const isTouching = isHeader || this.#isAfterHeader;
    const end = { kinds, line: this.#lineBefore };
    if (isHeader && (kinds & FRAME_END) !== 0) this.#first = undefined;
    else if (end.line > 0) {
      this.#first ??= kinds;
      this.#last = end;
      if (isTouching && kinds !== this.#first) this.#odd ??= end;
    }
    if (isHeader) this.#headers += 1;
    this.#isAfterHeader = isHeader;
    this.#lineBefore = line;
  }

  problems(): Problem[] {
    const isLastOdd = this.#first !== undefined && this.#last?.kinds !== this.#first;
    const odd = this.#odd ?? (isLastOdd ? this.#last : undefined);
    // What stands within one message refuses that.
    if (odd === undefined || this.#headers <= 1) return [];
    const ends = nameLineEnds(odd.kinds) || "the end block of a frame";
    return [
      {
        code: "HL7_LINE_ENDS_MIXED",
        place: atLine(odd.line),
        message: `ends with ${ends}, and others with ${nameLineEnds(this.#first ?? 0)}: text with line breaks in a field looks like that, and what follows like another message; expected the same end for all`,
      },
    ];
  }
}

/** A batch header names no character set of its own, and what is read from it only goes back to its sender. */
function headerText(raw: Buffer, encoding: Encoding = "utf-8"): string {
  const decoded = decodeBytes(raw, encoding);
  return decoded.ok ? decoded.text : raw.toString("latin1");
}

function refuse(code: FailureCode, place: Place, message: string): Hl7File {
  return { parts: [], problems: [{ code, place, message }] };
}

/** UTF-16 as one byte a unit, everything outside ASCII as 0xFF: enough to find lines and headers by. */
function narrow(bytes: Buffer, isLittleEndian: boolean): Buffer {
  const units = Buffer.alloc(bytes.length >> 1);
  const low = isLittleEndian ? 0 : 1;
  for (let i = 0; i < units.length; i++) {
    const byte = bytes[2 * i + low] ?? 0;
    units[i] = bytes[2 * i + 1 - low] === 0 && byte < 0x80 ? byte : 0xff;
  }
  return units;
}

const KINDS = ["MSH", "FHS", "BHS", "BTS", "FTS"] as const;

/** What begins with the line between two offsets; undefined for a segment of a message. */
function kindOf(text: Buffer, start: number, end: number): (typeof KINDS)[number] | undefined {
  for (const kind of KINDS) {
    if (text[start] !== kind.charCodeAt(0)) continue;
    if (text[start + 1] !== kind.charCodeAt(1) || text[start + 2] !== kind.charCodeAt(2)) continue;
    // Letters and digits are no separators: another name begins so.
    return start + 3 <= end && !isLetterOrDigit(text, start + 3, end) ? kind : undefined;
  }
  return undefined;
}

function isLetterOrDigit(text: Buffer, at: number, end: number): boolean {
  const byte = at < end ? (text[at] ?? 0) : 0;
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}

/** Some of the bytes; themselves where that is all of them. */
function subarray(bytes: Buffer, start: number, end: number): Buffer {
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
}

const CR = 0x0d;
const LF = 0x0a;
/** MLLP's start block and end block; the DOS end-of-file mark. */
const START_BLOCK = 0x0b;
const END_BLOCK = 0x1c;
const END_OF_FILE = 0x1a;
/** Among the bits of {@link LINE_END}. */
const FRAME_END = 8;

/**
 * Goes through the lines that hold something, each byte looked at a constant number of times. A line also ends where
 * MLLP's end block is followed by a line end, another frame or the end of the file; elsewhere 0x1C and 0x0B are the
 * message's own. What it says is of the line it stands at, by offsets; MLLP bytes and byte order mark are left out.
 */
class FileLines {
  /** 1-based. */
  line = 0;
  start = 0;
  /** Without the line end. */
  end = 0;
  /** With it. */
  endWithBreak = 0;
  /** How the lines ended since the one before that holds something, as {@link LINE_END} and {@link FRAME_END}. */
  endsBefore = 0;
  readonly #text: Buffer;
  #ends = 0;
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
      this.endsBefore = this.#ends;
      const isHolding = this.end > this.start;
      if (isHolding) this.#ends = 0;
      if (to < text.length)
        this.#ends |=
          to === this.#block
            ? FRAME_END
            : length === 2
              ? LINE_END.CRLF
              : text[to] === CR
                ? LINE_END.CR
                : LINE_END.LF;
      if (isHolding) return true;
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
    // Files joined by copying one after the other keep each one's byte order mark.
    else if (byte === 0xef && text[at + 1] === 0xbb && text[at + 2] === 0xbf) at += 3;
    else break;
  }
  // Spaces alone are a blank line; before a segment they are the segment's fault, to be reported by its parser.
  let last = at;
  while (last < to && (text[last] === 0x20 || text[last] === 0x09)) last++;
  return last >= to ? to : at;
}

function skipTail(text: Buffer, start: number, to: number): number {
  let end = to;
  while (end > start && (text[end - 1] === END_BLOCK || text[end - 1] === END_OF_FILE)) end--;
  return end;
}
