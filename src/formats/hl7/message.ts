import { Failure } from "../../core/failures.ts";
import { type Encoding, findEncoding } from "../encoding.ts";
import { type Delimiters, parseDelimiters, STANDARD_DELIMITERS } from "./delimiters.ts";
import { type FieldPath, findValue, parsePath } from "./path.ts";
import { type Hl7Header, readHeader, Segment, type SegmentReading, segmentNameCode } from "./segment.ts";

const CR = 0x0d;
const LF = 0x0a;
const BYTE_ORDER_MARK = 0xfeff;

/** What is kept of each segment until it is asked for: where it begins, and the code of its name. */
const MARKS = 2;

/**
 * One HL7 v2 message: immutable, over the text it was read from. Parsing notes where segments begin and what they are
 * called; a segment is taken apart only when something in it is asked for, so reading a dozen fields of a large message
 * costs little.
 */
export class Hl7Message implements SegmentReading {
  readonly delimiters: Delimiters;
  readonly #text: string;
  /** Begin and name of each segment, one after the other. */
  readonly #marks: readonly number[];
  /** Those that were asked for, by their index. */
  readonly #made: (Segment | undefined)[];
  #segments: readonly Segment[] | undefined;
  #segmentsByName: Map<string, readonly Segment[]> | undefined;
  #encoding: Encoding | undefined;
  #header: Hl7Header | undefined;

  private constructor(text: string, delimiters: Delimiters, marks: readonly number[], encoding?: Encoding) {
    this.#text = text;
    this.delimiters = delimiters;
    this.#marks = marks;
    this.#made = new Array(marks.length / MARKS);
    this.#encoding = encoding;
  }

  /**
   * Reads one message. Segments end with CR, LF or CRLF; blank lines and a byte order mark are passed over. `encoding`
   * is what the text was decoded from and gives `\Xhh\` its meaning; without it MSH-18 does.
   * Throws HL7_NO_MSH, HL7_DELIMITERS, HL7_SEGMENT_INVALID or HL7_SECOND_HEADER (naming the line).
   */
  static parse(text: string, options: ParseOptions = {}): Hl7Message {
    const marks: number[] = [];
    let delimiters: Delimiters | undefined;
    let from = text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
    let nextCr = -1;
    let nextLf = -1;
    for (let line = 1; from < text.length; line++) {
      // Each search is kept until it is passed, so that every character is looked at once for CR and once for LF.
      if (nextCr < from) nextCr = orEnd(text.indexOf("\r", from), text);
      if (nextLf < from) nextLf = orEnd(text.indexOf("\n", from), text);
      const to = Math.min(nextCr, nextLf);
      if (to > from) {
        let code = MSH;
        if (delimiters !== undefined) code = requireSegment(text, from, to, line, delimiters);
        else delimiters = requireHeader(text, from, to, line, options);
        marks.push(from, code);
      }
      from = to + (nextLf === nextCr + 1 && to === nextCr ? 2 : 1);
    }
    if (delimiters === undefined) throw new Failure("HL7_NO_MSH", "the message is empty");
    requireOneHeader(text, marks);
    return new Hl7Message(text, delimiters, marks, options.encoding);
  }

  /** How many segments it has. */
  get count(): number {
    return this.#made.length;
  }

  /** All segments, in order. */
  get segments(): readonly Segment[] {
    this.#segments ??= this.#listSegments();
    return this.#segments;
  }

  /** The segments of a name, in order; empty when there is none. */
  all(name: string): readonly Segment[] {
    this.#segmentsByName ??= new Map();
    let found = this.#segmentsByName.get(name);
    if (found === undefined) {
      found = this.#findSegments(name);
      this.#segmentsByName.set(name, found);
    }
    return found;
  }

  /** The first segment of a name. */
  first(name: string): Segment | undefined {
    const code = codeOf(name);
    for (let index = 0; index < this.#made.length; index++) {
      if (this.#marks[index * MARKS + 1] === code) return this.#segment(index, 1);
    }
    return undefined;
  }

  /** The last segment. */
  get last(): Segment | undefined {
    const index = this.#made.length - 1;
    const name = this.#marks[index * MARKS + 1];
    let ordinal = 0;
    for (let at = 0; at <= index; at++) if (this.#marks[at * MARKS + 1] === name) ordinal++;
    return this.#segment(index, ordinal);
  }

  /**
   * The decoded value at a path, from the whole message or from the scope's segments; undefined when it is absent or
   * empty, while `""` (delete, HL7 chapter 2.5.3) is given as those two quotes. Throws CONFIG_INVALID for a path that is none.
   */
  get(path: string | FieldPath, scope?: readonly Segment[]): string | undefined {
    const parsed = typeof path === "string" ? parsePath(path) : path;
    return findValue(parsed, scope ?? this.#scopeOf(parsed))?.value;
  }

  /** What MSH says. */
  get header(): Hl7Header {
    this.#header ??= readHeader(this.#segment(0, 1));
    return this.#header;
  }

  /** What `\Xhh\` is decoded in: what the text was decoded from, else what MSH-18 says. */
  get encoding(): Encoding {
    // MSH-18 is read raw: decoding it would ask for the encoding again.
    this.#encoding ??= findEncoding(
      this.#segment(0, 1).field(18).split(this.delimiters.repetition, 1)[0] ?? "",
    );
    this.#encoding ??= "us-ascii";
    return this.#encoding;
  }

  /** The text that was parsed, unchanged. */
  toString(): string {
    return this.#text;
  }

  /** Where a path is to look in the whole message: a segment is found by its name, and others only where they count. */
  #scopeOf({ segment, whichSegment }: FieldPath): readonly Segment[] {
    if (whichSegment !== undefined) return this.all(segment);
    const first = this.first(segment);
    return first === undefined ? [] : [first];
  }

  #findSegments(name: string): readonly Segment[] {
    const code = codeOf(name);
    const found: Segment[] = [];
    for (let index = 0; index < this.#made.length; index++) {
      if (this.#marks[index * MARKS + 1] === code) found.push(this.#segment(index, found.length + 1));
    }
    return found;
  }

  #listSegments(): readonly Segment[] {
    const ordinals = new Map<number, number>();
    const segments: Segment[] = new Array(this.#made.length);
    for (let index = 0; index < segments.length; index++) {
      const code = this.#marks[index * MARKS + 1] ?? -1;
      const ordinal = (ordinals.get(code) ?? 0) + 1;
      ordinals.set(code, ordinal);
      segments[index] = this.#segment(index, ordinal);
    }
    return segments;
  }

  /** A segment is the same object however it is come by. */
  #segment(index: number, ordinal: number): Segment {
    let segment = this.#made[index];
    if (segment === undefined) {
      const from = this.#marks[index * MARKS] ?? 0;
      let to = this.#marks[(index + 1) * MARKS] ?? this.#text.length;
      while (isLineEnd(this.#text.charCodeAt(to - 1))) to--;
      segment = new Segment(this, this.#text.slice(from, to), index, ordinal);
      this.#made[index] = segment;
    }
    return segment;
  }
}

function isLineEnd(code: number): boolean {
  return code === CR || code === LF;
}

function orEnd(position: number, text: string): number {
  return position === -1 ? text.length : position;
}

const MSH = segmentNameCode("MSH");
const HEADERS: readonly number[] = ["MSH", "FHS", "BHS", "BTS", "FTS"].map((name) => segmentNameCode(name));

/** The code of a whole name; -1 for what can't be one. */
function codeOf(name: string): number {
  return name.length === 3 ? segmentNameCode(name) : -1;
}

interface ParseOptions {
  readonly encoding?: Encoding | undefined;
  /** Whether it was composed here: escapes make what is repeated of a header longer than it came. */
  readonly isComposed?: boolean;
}

/** Much more than any header has: it is read again and again, and goes back with each answer. */
const MAX_HEADER = 64 * 1024;

/** What MSH declares; the delimiters that nearly every message has are seen at a glance. */
function requireHeader(
  text: string,
  from: number,
  to: number,
  line: number,
  { isComposed = false }: ParseOptions,
): Delimiters {
  if (to - from > MAX_HEADER && !isComposed) {
    throw new Failure(
      "HL7_SEGMENT_INVALID",
      `line ${line} of the message: a header of more than ${MAX_HEADER} characters`,
    );
  }
  if (text.startsWith("MSH|^~\\&|", from)) return STANDARD_DELIMITERS;
  if (!text.startsWith("MSH", from)) {
    throw new Failure("HL7_NO_MSH", `line ${line} of the message: expected a message that begins with MSH`);
  }
  return parseDelimiters(text.slice(from, to));
}

/** A header in the middle of a line: the message before it was cut, and another one put after it. */
function requireOneHeader(text: string, marks: readonly number[]): void {
  const from = marks[0] ?? 0;
  const second = text.indexOf(text.slice(from, from + HEADER_LENGTH), from + HEADER_LENGTH);
  if (second === -1) return;
  const line = text.slice(0, second).split(/\r\n|\r|\n/).length;
  throw new Failure(
    "HL7_SECOND_HEADER",
    `line ${line} of the message: MSH inside a segment that was cut before it`,
  );
}

/** `MSH|^~\&|`: nothing else in a message can look like it, since its delimiters would have to be escaped. */
const HEADER_LENGTH = 9;

/** The code of the segment's name. */
function requireSegment(text: string, from: number, to: number, line: number, { field }: Delimiters): number {
  const code = to - from >= 3 ? segmentNameCode(text, from) : -1;
  if (code === -1 || (to - from > 3 && text.charCodeAt(from + 3) !== field.charCodeAt(0))) {
    throw new Failure(
      "HL7_SEGMENT_INVALID",
      `line ${line} of the message: expected a segment, a three-character name followed by ${field}`,
    );
  }
  if (HEADERS.includes(code)) {
    const name = text.slice(from, from + 3);
    throw new Failure(
      "HL7_SECOND_HEADER",
      `line ${line} of the message: ${name} inside it, expected a message of its own`,
    );
  }
  return code;
}
