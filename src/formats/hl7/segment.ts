import type { Encoding } from "../encoding.ts";
import type { Delimiters } from "./delimiters.ts";
import { unescapeText } from "./escapes.ts";

/** One segment of a message. All positions are 1-based, as the standard counts. */
export interface Segment {
  readonly name: string;
  /** Position in the message, 0-based. */
  readonly index: number;
  /** Position among the segments of its name, 1-based. */
  readonly ordinal: number;
  /** Its text as it stands, without the line end. */
  readonly raw: string;
  /** The raw text of field n, escapes and delimiters as they stand; empty when absent. MSH-1 is the separator itself. */
  field(n: number): string;
  /** How many repetitions field n has; 0 when it is empty. */
  repetitions(n: number): number;
  /**
   * The decoded value; undefined when absent or empty. A level that is not given is its first: `PID-5.1` of
   * `SMITH&VAN^JOHN` is `SMITH`, since a sender may always add deeper parts (HL7 chapter 2.8.3).
   */
  get(n: number, repetition?: number, component?: number, subcomponent?: number): string | undefined;
  /** The decoded text of a whole repetition, whose inner delimiters stay where they are: for free text fields. */
  text(n: number, repetition?: number): string | undefined;
}

/** What the text of a message's segments is read by. */
export interface SegmentReading {
  readonly delimiters: Delimiters;
  /** What `\Xhh\` is decoded in; asked for only where an escape may need it. */
  readonly encoding: Encoding;
}

const NOWHERE: readonly number[] = [];

/** A segment over its text; looks for a field when it is asked for, and no further. */
export class TextSegment implements Segment {
  readonly name: string;
  readonly index: number;
  readonly ordinal: number;
  readonly raw: string;
  readonly #reading: SegmentReading;
  /** The furthest part that was asked for, and where it begins: what is asked for next mostly stands behind it. */
  #part = 0;
  #partAt = 0;
  /** Whether none follows it; false until that is known. */
  #isLast = false;
  /** Where the parts begin, once one is asked for that stands before, so that the text is gone through once. */
  #starts = NOWHERE;
  /** The field that was asked for last: several things are read of one. */
  #field = 0;
  #fieldText = "";
  /** The repetitions of the field asked for last, so that walking through them is linear. */
  #repetitions: { readonly n: number; readonly parts: readonly string[] } | undefined;

  constructor(reading: SegmentReading, raw: string, index: number, ordinal: number) {
    this.name = raw.slice(0, 3);
    this.index = index;
    this.ordinal = ordinal;
    this.raw = raw;
    this.#reading = reading;
  }

  field(n: number): string {
    if (n !== this.#field) {
      this.#field = n;
      this.#fieldText = this.#readField(n);
    }
    return this.#fieldText;
  }

  repetitions(n: number): number {
    const field = this.field(n);
    if (field === "") return 0;
    return field.includes(this.#reading.delimiters.repetition) ? this.#split(n, field).length : 1;
  }

  get(n: number, repetition = 1, component = 1, subcomponent = 1): string | undefined {
    const whole = this.#repetition(n, repetition);
    if (whole === "") return undefined;
    if (this.#isVerbatim(n)) return component === 1 && subcomponent === 1 ? whole : undefined;
    const { delimiters } = this.#reading;
    const part = nthPart(
      nthPart(whole, delimiters.component, component),
      delimiters.subcomponent,
      subcomponent,
    );
    return part === "" ? undefined : this.#decode(part);
  }

  text(n: number, repetition = 1): string | undefined {
    const whole = this.#repetition(n, repetition);
    if (whole === "") return undefined;
    return this.#isVerbatim(n) ? whole : this.#decode(whole);
  }

  #readField(n: number): string {
    if (n === 1 && this.#isHeader) return this.#reading.delimiters.field;
    const from = this.#findPart(this.#isHeader ? n - 1 : n);
    return from === -1 ? "" : this.raw.slice(from, this.#findEnd(from));
  }

  get #isHeader(): boolean {
    return this.name === "MSH";
  }

  /** MSH-1 and MSH-2 hold the delimiters and are not structured by them. */
  #isVerbatim(n: number): boolean {
    return (n === 1 || n === 2) && this.#isHeader;
  }

  /** Where what stands after the nth field separator begins; -1 when there are fewer. */
  #findPart(n: number): number {
    if (n < 1) return -1;
    if (n < this.#part) return this.#findBefore(n);
    while (this.#part < n && !this.#isLast) {
      const end = this.#findEnd(this.#partAt);
      this.#isLast = end === this.raw.length;
      if (this.#isLast) break;
      this.#partAt = end + 1;
      this.#part++;
    }
    return this.#part === n ? this.#partAt : -1;
  }

  /** The same of a part before the furthest one that was asked for. */
  #findBefore(n: number): number {
    // A name has three characters.
    if (n === 1) return 4;
    if (n >= this.#starts.length) {
      const starts = [0];
      for (let at = 0; starts.length < this.#part; starts.push(at)) at = this.#findEnd(at) + 1;
      this.#starts = starts;
    }
    return this.#starts[n] ?? -1;
  }

  #findEnd(from: number): number {
    const at = this.raw.indexOf(this.#reading.delimiters.field, from);
    return at === -1 ? this.raw.length : at;
  }

  /** The character set is found out only where an escape may need it. */
  #decode(text: string): string {
    const { delimiters } = this.#reading;
    const mark = delimiters.escape;
    if (mark === "" || !text.includes(mark)) return text;
    return unescapeText(text, delimiters, this.#reading.encoding);
  }

  #repetition(n: number, repetition: number): string {
    const field = this.field(n);
    if (repetition === 1 && !field.includes(this.#reading.delimiters.repetition)) return field;
    return this.#split(n, field)[repetition - 1] ?? "";
  }

  #split(n: number, field: string): readonly string[] {
    if (this.#repetitions?.n !== n) {
      const parts = this.#isVerbatim(n) ? [field] : field.split(this.#reading.delimiters.repetition);
      this.#repetitions = { n, parts };
    }
    return this.#repetitions.parts;
  }
}

/** The nth part, 1-based, without splitting the rest; empty when there is none. */
function nthPart(text: string, separator: string, n: number): string {
  if (separator === "") return n === 1 ? text : "";
  let from = 0;
  for (let skip = n; skip > 1; skip--) {
    const at = text.indexOf(separator, from);
    if (at === -1) return "";
    from = at + 1;
  }
  const to = text.indexOf(separator, from);
  if (to === -1) return from === 0 ? text : text.slice(from);
  return text.slice(from, to);
}
