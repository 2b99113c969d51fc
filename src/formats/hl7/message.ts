import { Failure } from "../../core/failures.ts";
import { type Encoding, findEncoding } from "../encoding.ts";
import { type Delimiters, parseDelimiters, STANDARD_DELIMITERS } from "./delimiters.ts";
import { type FieldPath, findValue, parsePath } from "./path.ts";
import { type Hl7Header, isSegmentName, readHeader, Segment, type SegmentReading } from "./segment.ts";

const BYTE_ORDER_MARK = 0xfeff;

/** More than any message has, also with some hundred containers and notes to each, and few enough to be read in a moment. */
const MAX_SEGMENTS = 20_000;

/**
 * One HL7 v2 message: immutable, over the text it was read from. A segment is taken apart only when something in it is asked for,
 * so reading a dozen fields of a large message costs little.
 */
export class Hl7Message implements SegmentReading {
  readonly delimiters: Delimiters;
  /** All segments, in order. */
  readonly segments: readonly Segment[];
  readonly #text: string;
  #segmentsByName: ReadonlyMap<string, readonly Segment[]> | undefined;
  #encoding: Encoding | undefined;
  #header: Hl7Header | undefined;

  private constructor(text: string, delimiters: Delimiters, lines: readonly string[], encoding?: Encoding) {
    const countByName = new Map<string, number>();
    this.#text = text;
    this.delimiters = delimiters;
    this.#encoding = encoding;
    this.segments = lines.map((line, index) => {
      const name = line.slice(0, 3);
      const ordinal = (countByName.get(name) ?? 0) + 1;
      countByName.set(name, ordinal);
      return new Segment(this, line, index, ordinal);
    });
  }

  /**
   * Reads one message. Segments end with CR, LF or CRLF; blank lines and a byte order mark are passed over. `encoding`
   * is what the text was decoded from and gives `\Xhh\` its meaning; without it MSH-18 does.
   * Throws HL7_NO_MSH, HL7_DELIMITERS, HL7_SEGMENT_INVALID or HL7_SECOND_HEADER (naming the line), and HL7_STRUCTURE for more
   * segments than can be read in a moment.
   */
  static parse(text: string, options: ParseOptions = {}): Hl7Message {
    const lines: string[] = [];
    let delimiters: Delimiters | undefined;
    let count = 0;
    let headerAt = 0;
    let from = text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
    let nextCr = -1;
    let nextLf = -1;
    for (let line = 1; from < text.length; line++) {
      // Each search is kept until it is passed, so that every character is looked at once for CR and once for LF.
      if (nextCr < from) nextCr = orEnd(text.indexOf("\r", from), text);
      if (nextLf < from) nextLf = orEnd(text.indexOf("\n", from), text);
      const to = Math.min(nextCr, nextLf);
      if (to > from) {
        if (delimiters !== undefined) requireSegment(text, from, to, line, delimiters);
        else {
          delimiters = requireHeader(text, from, to, line, options);
          headerAt = from;
        }
        count += 1;
        if (count <= MAX_SEGMENTS || options.isComposed) lines.push(text.slice(from, to));
      }
      from = to + (nextLf === nextCr + 1 && to === nextCr ? 2 : 1);
    }
    if (delimiters === undefined) throw new Failure("HL7_NO_MSH", "the message is empty");
    requireOneHeader(text, headerAt);
    if (lines.length < count) {
      const message = `${count} segments, expected at most ${MAX_SEGMENTS}; the orders go in several messages`;
      throw new Failure("HL7_STRUCTURE", message);
    }
    return new Hl7Message(text, delimiters, lines, options.encoding);
  }

  /** The segments of a name, in order; empty when there is none. */
  all(name: string): readonly Segment[] {
    this.#segmentsByName ??= Map.groupBy(this.segments, (segment) => segment.name);
    return this.#segmentsByName.get(name) ?? [];
  }

  /** The first segment of a name. */
  first(name: string): Segment | undefined {
    return this.all(name)[0];
  }

  /** MSH, which each message begins with. */
  get #msh(): Segment {
    return this.segments[0] as Segment;
  }

  /**
   * The decoded value at a path, from the whole message or from the scope's segments; undefined when it is absent or
   * empty, while `""` (delete, HL7 chapter 2.5.3) is given as those two quotes. Throws CONFIG_INVALID for a path that is none.
   */
  get(path: string | FieldPath, scope?: readonly Segment[]): string | undefined {
    const parsed = typeof path === "string" ? parsePath(path) : path;
    return findValue(parsed, scope ?? this.all(parsed.segment))?.value;
  }

  /** What MSH says. */
  get header(): Hl7Header {
    this.#header ??= readHeader(this.#msh);
    return this.#header;
  }

  /** What `\Xhh\` is decoded in: what the text was decoded from, else what MSH-18 says. */
  get encoding(): Encoding {
    // MSH-18 is read raw: decoding it would ask for the encoding again.
    this.#encoding ??= findEncoding(this.#msh.field(18).split(this.delimiters.repetition, 1)[0] ?? "");
    this.#encoding ??= "us-ascii";
    return this.#encoding;
  }

  /** The text that was parsed, unchanged. */
  toString(): string {
    return this.#text;
  }
}

function orEnd(position: number, text: string): number {
  return position === -1 ? text.length : position;
}

const HEADERS: readonly string[] = ["MSH", "FHS", "BHS", "BTS", "FTS"];

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
function requireOneHeader(text: string, from: number): void {
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

function requireSegment(text: string, from: number, to: number, line: number, { field }: Delimiters): void {
  const isNamed = to - from >= 3 && isSegmentName(text, from);
  if (!isNamed || (to - from > 3 && text.charCodeAt(from + 3) !== field.charCodeAt(0))) {
    throw new Failure(
      "HL7_SEGMENT_INVALID",
      `line ${line} of the message: expected a segment, a three-character name followed by ${field}`,
    );
  }
  const name = text.slice(from, from + 3);
  if (!HEADERS.includes(name)) return;
  throw new Failure(
    "HL7_SECOND_HEADER",
    `line ${line} of the message: ${name} inside it, expected a message of its own`,
  );
}
