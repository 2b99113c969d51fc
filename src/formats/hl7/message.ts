import { Failure } from "../../core/failures.ts";
import { type Encoding, findEncoding } from "../encoding.ts";
import { type Delimiters, parseDelimiters } from "./delimiters.ts";
import { type Hl7Header, readHeader } from "./header.ts";
import { type FieldPath, findValue, parsePath } from "./path.ts";
import { type Segment, TextSegment } from "./segment.ts";
import { isSegmentName } from "./segment-name.ts";

export type { Delimiters } from "./delimiters.ts";
export type { Hl7Header } from "./header.ts";
export type { Segment } from "./segment.ts";

const CR = 0x0d;
const LF = 0x0a;
const BYTE_ORDER_MARK = 0xfeff;

/**
 * One HL7 v2 message: immutable, over the text it was read from. Parsing notes where segments begin; a segment is
 * taken apart only when something in it is asked for, so reading a dozen fields of a large message costs little.
 */
export class Hl7Message {
  readonly delimiters: Delimiters;
  readonly #text: string;
  /** Begin and end of each segment, alternating. */
  readonly #bounds: readonly number[];
  #encoding: Encoding | undefined;
  #segments: readonly Segment[] | undefined;
  #segmentsByName: ReadonlyMap<string, readonly Segment[]> | undefined;
  #header: Hl7Header | undefined;

  private constructor(text: string, delimiters: Delimiters, bounds: readonly number[], encoding?: Encoding) {
    this.#text = text;
    this.delimiters = delimiters;
    this.#bounds = bounds;
    this.#encoding = encoding;
  }

  /**
   * Reads one message. Segments end with CR, LF or CRLF; blank lines and a byte order mark are passed over. `encoding`
   * is what the text was decoded from and gives `\Xhh\` its meaning; without it MSH-18 does.
   * Throws HL7_NO_MSH, HL7_DELIMITERS, HL7_SEGMENT_INVALID (naming the line) or HL7_SECOND_HEADER.
   */
  static parse(text: string, options: { readonly encoding?: Encoding } = {}): Hl7Message {
    const bounds: number[] = [];
    let delimiters: Delimiters | undefined;
    forEachLine(text, (from, to, line) => {
      if (delimiters === undefined) {
        if (!text.startsWith("MSH", from)) {
          throw new Failure("HL7_NO_MSH", `line ${line}: expected a message that begins with MSH`);
        }
        delimiters = parseDelimiters(text.slice(from, to));
      } else {
        requireSegment(text, from, to, line, delimiters);
      }
      bounds.push(from, to);
    });
    if (delimiters === undefined) throw new Failure("HL7_NO_MSH", "the message is empty");
    return new Hl7Message(text, delimiters, bounds, options.encoding);
  }

  /** All segments, in order. */
  get segments(): readonly Segment[] {
    this.#segments ??= this.#listSegments();
    return this.#segments;
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

  /**
   * The decoded value at a path, from the whole message or from the scope's segments; undefined when it is absent or
   * empty, while `""` (delete, HL7 chapter 2.5.3) is given as those two quotes. Throws HL7_PATH_INVALID.
   */
  get(path: string | FieldPath, scope?: readonly Segment[]): string | undefined {
    return this.find(path, scope)?.value;
  }

  /** Like {@link get}, with where the value was found, such as `PID-3[2].1`. */
  find(path: string | FieldPath, scope?: readonly Segment[]): { value: string; place: string } | undefined {
    const parsed = typeof path === "string" ? parsePath(path) : path;
    if (scope === undefined) return findValue(parsed, this.all(parsed.segment));
    return findValue(
      parsed,
      scope.filter((segment) => segment.name === parsed.segment),
    );
  }

  /** What MSH says. */
  get header(): Hl7Header {
    this.#header ??= readHeader(this.segments[0]);
    return this.#header;
  }

  /** The text that was parsed, unchanged. */
  toString(): string {
    return this.#text;
  }

  #listSegments(): readonly Segment[] {
    const segments: Segment[] = [];
    const ordinals = new Map<string, number>();
    const charset = () => this.#charset();
    for (let i = 0; i < this.#bounds.length; i += 2) {
      const raw = this.#text.slice(this.#bounds[i], this.#bounds[i + 1]);
      const name = raw.slice(0, 3);
      const ordinal = (ordinals.get(name) ?? 0) + 1;
      ordinals.set(name, ordinal);
      segments.push(new TextSegment(raw, { index: i / 2, ordinal }, this.delimiters, charset));
    }
    return segments;
  }

  #charset(): Encoding {
    // MSH-18 is read raw: decoding it would ask for the charset again.
    this.#encoding ??= findEncoding(
      this.segments[0]?.field(18).split(this.delimiters.repetition, 1)[0] ?? "",
    );
    this.#encoding ??= "us-ascii";
    return this.#encoding;
  }
}

/** Calls back for each line that is not empty, with its bounds (line end excluded) and its 1-based number. */
function forEachLine(text: string, visit: (from: number, to: number, line: number) => void): void {
  let from = text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
  let line = 1;
  let nextCr = -1;
  let nextLf = -1;
  while (from < text.length) {
    // Each search is kept until it is passed, so that every character is looked at once for CR and once for LF.
    if (nextCr < from) nextCr = orEnd(text.indexOf("\r", from), text);
    if (nextLf < from) nextLf = orEnd(text.indexOf("\n", from), text);
    const to = Math.min(nextCr, nextLf);
    if (to > from) visit(from, to, line);
    line++;
    from = to + (text.charCodeAt(to) === CR && text.charCodeAt(to + 1) === LF ? 2 : 1);
  }
}

function orEnd(position: number, text: string): number {
  return position === -1 ? text.length : position;
}

function requireSegment(text: string, from: number, to: number, line: number, delimiters: Delimiters): void {
  const hasName = isSegmentName(text, from) && to - from >= 3;
  if (!hasName || (to - from > 3 && text.charAt(from + 3) !== delimiters.field)) {
    throw new Failure(
      "HL7_SEGMENT_INVALID",
      `line ${line}: expected a segment, a three-character name followed by ${delimiters.field}`,
    );
  }
  for (const header of ["MSH", "FHS", "BHS", "BTS", "FTS"]) {
    if (text.startsWith(header, from)) {
      throw new Failure("HL7_SECOND_HEADER", `line ${line}: ${header} inside a message that began before`);
    }
  }
}
