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

/** A segment over its text; looks for a field when it is asked for, and no further. */
export class TextSegment implements Segment {
  readonly name: string;
  readonly index: number;
  readonly ordinal: number;
  readonly raw: string;
  readonly #delimiters: Delimiters;
  readonly #charset: () => Encoding;
  readonly #isHeader: boolean;
  /** Where the name and the fields after it begin, as far as that was looked for; past the end after the last one. */
  readonly #starts: number[] = [0];
  /** The repetitions of the field asked for last, so that walking through them is linear. */
  #repetitions: { readonly n: number; readonly parts: readonly string[] } | undefined;

  constructor(
    raw: string,
    position: { readonly index: number; readonly ordinal: number },
    delimiters: Delimiters,
    charset: () => Encoding,
  ) {
    this.name = raw.slice(0, 3);
    this.index = position.index;
    this.ordinal = position.ordinal;
    this.raw = raw;
    this.#delimiters = delimiters;
    this.#charset = charset;
    this.#isHeader = this.name === "MSH";
  }

  field(n: number): string {
    if (n < 1) return "";
    if (!this.#isHeader) return this.#part(n);
    return n === 1 ? this.#delimiters.field : this.#part(n - 1);
  }

  repetitions(n: number): number {
    const field = this.field(n);
    if (field === "") return 0;
    return field.includes(this.#delimiters.repetition) ? this.#split(n).length : 1;
  }

  get(n: number, repetition = 1, component = 1, subcomponent = 1): string | undefined {
    const whole = this.#repetition(n, repetition);
    if (whole === "") return undefined;
    if (this.#isVerbatim(n)) return component === 1 && subcomponent === 1 ? whole : undefined;
    const part = nthPart(
      nthPart(whole, this.#delimiters.component, component),
      this.#delimiters.subcomponent,
      subcomponent,
    );
    return part === "" ? undefined : this.#decode(part);
  }

  text(n: number, repetition = 1): string | undefined {
    const whole = this.#repetition(n, repetition);
    if (whole === "") return undefined;
    return this.#isVerbatim(n) ? whole : this.#decode(whole);
  }

  /** What stands after the nth field separator. */
  #part(n: number): string {
    const starts = this.#starts;
    const end = this.raw.length + 1;
    while (starts.length <= n + 1) {
      const last = starts[starts.length - 1] ?? end;
      if (last === end) return "";
      const at = this.raw.indexOf(this.#delimiters.field, last);
      starts.push(at === -1 ? end : at + 1);
    }
    return this.raw.slice(starts[n], (starts[n + 1] ?? end) - 1);
  }

  /** The character set is found out only where an escape may need it. */
  #decode(text: string): string {
    const mark = this.#delimiters.escape;
    if (mark === "" || !text.includes(mark)) return text;
    return unescapeText(text, this.#delimiters, this.#charset());
  }

  #repetition(n: number, repetition: number): string {
    const field = this.field(n);
    if (repetition === 1 && !field.includes(this.#delimiters.repetition)) return field;
    return this.#split(n)[repetition - 1] ?? "";
  }

  #split(n: number): readonly string[] {
    if (this.#repetitions?.n !== n) {
      const field = this.field(n);
      const parts = this.#isVerbatim(n) ? [field] : field.split(this.#delimiters.repetition);
      this.#repetitions = { n, parts };
    }
    return this.#repetitions.parts;
  }

  /** MSH-1 and MSH-2 hold the delimiters and are not structured by them. */
  #isVerbatim(n: number): boolean {
    return this.#isHeader && (n === 1 || n === 2);
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
