/** The text of one record as it stands in the file, not yet taken apart. */
export interface RawRecord {
  /** Line on which it begins, 1-based. */
  readonly line: number;
  /** Line on which it ends; larger than `line` when a quoted value holds line breaks. */
  readonly endLine: number;
  /** With its line end; cut at the limit when it is too long. */
  readonly raw: string;
  /** `unclosed`: the text ended inside a quoted value. `too-long`: nothing after it was looked at. */
  readonly condition: "whole" | "too-long" | "unclosed";
  /** Line on which its last quoted value began. */
  readonly quoteLine: number | undefined;
}

interface SplitterSettings {
  /** Characters after which a quote opens a quoted value. */
  readonly delimiters: string;
  /** One character, or empty for none. */
  readonly quote: string;
  readonly maxRowBytes: number;
}

const CR = 0x0d;
const LF = 0x0a;

/** Where the next character stands. */
type Position = "field-start" | "plain" | "quoted" | "after-quote" | "after-cr";

/**
 * Finds where records begin and end, by the rules of RFC 4180, in a text that comes in chunks: a line end (CR, LF or
 * CRLF, mixed or not) ends a record unless it stands in a quoted value. Lines are counted here. A record that grows past
 * the limit is the last one: it is given at once, and what follows is not looked at, so that neither time nor memory
 * depend on what else a file holds.
 */
export class RecordSplitter {
  readonly #settings: SplitterSettings;
  readonly #delimiterCodes: readonly number[];
  readonly #quoteCode: number;
  #position: Position = "field-start";
  /** Text of the open record from earlier chunks. */
  #pending = "";
  /** A record was too long; there are no more. */
  #isOver = false;
  #line = 1;
  #recordLine = 1;
  #quoteLine: number | undefined;
  #wasCr = false;

  constructor(settings: SplitterSettings) {
    this.#settings = settings;
    this.#delimiterCodes = [...settings.delimiters].map((delimiter) => delimiter.charCodeAt(0));
    this.#quoteCode = settings.quote === "" ? -1 : settings.quote.charCodeAt(0);
  }

  /** The line that is being read. */
  get line(): number {
    return this.#line;
  }

  /** The records that this chunk completes, or shows to be too long. */
  push(text: string): RawRecord[] {
    const records: RawRecord[] = [];
    let from = 0;
    for (let i = 0; i < text.length && !this.#isOver; i++) {
      const code = text.charCodeAt(i);
      if (this.#position === "after-cr") {
        const to = code === LF ? i + 1 : i;
        records.push(this.#take(text.slice(from, to), true));
        from = to;
        if (this.#isOver) break;
        if (code === LF) {
          this.#wasCr = false;
          continue;
        }
      }
      this.#countLine(code);
      if (this.#step(code)) {
        records.push(this.#take(text.slice(from, i + 1), true));
        from = i + 1;
      }
    }
    if (this.#isOver) return records;
    this.#pending += from === 0 ? text : text.slice(from);
    if (this.#pending.length > this.#settings.maxRowBytes) records.push(this.#take("", false));
    return records;
  }

  /** The record that the end of the text completes, if any. */
  end(): RawRecord[] {
    if (this.#pending === "") return [];
    return [this.#take("", this.#position === "after-cr")];
  }

  /** Goes on by one character; true when it completes a record. */
  #step(code: number): boolean {
    switch (this.#position) {
      case "quoted":
        if (code === this.#quoteCode) this.#position = "after-quote";
        return false;
      case "after-quote":
        if (code === this.#quoteCode) {
          this.#position = "quoted";
          return false;
        }
        break;
      case "field-start":
        if (code === this.#quoteCode) {
          this.#position = "quoted";
          this.#quoteLine = this.#line;
          return false;
        }
        break;
      default:
        break;
    }
    if (code === LF) return true;
    if (code === CR) this.#position = "after-cr";
    else this.#position = this.#delimiterCodes.includes(code) ? "field-start" : "plain";
    return false;
  }

  #countLine(code: number): void {
    if (code === CR || (code === LF && !this.#wasCr)) this.#line++;
    this.#wasCr = code === CR;
  }

  #take(last: string, isEnded: boolean): RawRecord {
    const { maxRowBytes } = this.#settings;
    const raw = this.#pending + last;
    this.#isOver = isLonger(raw, this.#settings);
    const record: RawRecord = {
      line: this.#recordLine,
      endLine: isEnded ? this.#line - 1 : this.#line,
      raw: this.#isOver ? raw.slice(0, maxRowBytes) : raw,
      condition: this.#isOver ? "too-long" : this.#position === "quoted" ? "unclosed" : "whole",
      quoteLine: this.#quoteLine,
    };
    this.#pending = "";
    this.#quoteLine = undefined;
    this.#recordLine = this.#line;
    this.#position = "field-start";
    return record;
  }
}

/** Whether a text is longer than that many bytes of UTF-8; counts only where it can matter. */
function isLonger(text: string, { maxRowBytes }: SplitterSettings): boolean {
  if (text.length > maxRowBytes) return true;
  return text.length * 3 > maxRowBytes && Buffer.byteLength(text) > maxRowBytes;
}

/**
 * Whether a text is empty but for spaces, tabs, line ends and the DOS end-of-file mark. Only ASCII counts, so that the
 * answer is the same before and after the bytes are decoded.
 */
export function isBlank(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (!isBlankCode(text.charCodeAt(i))) return false;
  }
  return true;
}

/** A text without what {@link isBlank} passes over at its ends. */
export function trimBlanks(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlankCode(text.charCodeAt(from))) from++;
  while (to > from && isBlankCode(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlankCode(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0x1a;
}
