import { Failure, type FailureCode, type Problem } from "../../core/failures.ts";
import type { CsvRow } from "../../core/intake.ts";
import { headerProblem, parseCells, readHeader } from "./cells.ts";
import {
  announcedDelimiter,
  type CsvDialect,
  detectDelimiter,
  isLineLike,
  scoutSplitter,
} from "./dialect.ts";
import { isBlank, type RawRecord, RecordSplitter } from "./records.ts";

/** A row and its text as it stands in the file, line end included. */
export interface CsvRecord extends CsvRow {
  readonly raw: string;
}

export interface CsvLimits {
  /** Longest row, in bytes of UTF-8; 1 MiB unless given. A longer one ends the reading of the file. */
  readonly maxRowBytes?: number;
  /** Most columns of a header; 1,000 unless given. */
  readonly maxColumns?: number;
}

/** What a text holds, in order: the header once, then rows; `bad-file` ends it. */
export type ReaderItem =
  | {
      readonly kind: "header";
      readonly line: number;
      readonly columns: readonly string[];
      readonly raw: string;
      readonly delimiter: string;
      /** How many values each row has; more than `columns` where the last ones have no name, and are empty. */
      readonly width: number;
    }
  | { readonly kind: "row"; readonly row: CsvRecord }
  | {
      readonly kind: "bad-row";
      readonly problem: Problem;
      readonly raw: string;
    }
  | { readonly kind: "bad-file"; readonly problem: Problem };

/**
 * Reads CSV text that comes in chunks: finds the delimiter and the header, then rows. A row that is wrong is reported
 * and the next one read; what makes the whole file unreadable ends it, a row that is too long among that. Records without
 * any value are passed over.
 */
export class CsvReader {
  readonly #dialect: CsvDialect;
  readonly #limits: { readonly maxRowBytes: number };
  readonly #maxColumns: number;
  /** The text so far, until the delimiter is known. */
  #opening: string[] = [];
  #openingLength = 0;
  #scout: RecordSplitter;
  #splitter: RecordSplitter | undefined;
  #delimiter = "";
  /** Records before this line are Excel's `sep=` line, or what the dialect says is neither header nor row. */
  #firstLine: number;
  #mayAnnounce = true;
  #columns: readonly string[] | undefined;
  /** How many values a row has: columns, and after them what has no name and no values. */
  #width = 0;
  #isOver = false;

  constructor(dialect: CsvDialect, limits: CsvLimits = {}) {
    this.#dialect = dialect;
    this.#limits = { maxRowBytes: limits.maxRowBytes ?? 1_048_576 };
    this.#maxColumns = limits.maxColumns ?? 1_000;
    this.#firstLine = 1 + (dialect.skipLines ?? 0);
    this.#scout = scoutSplitter(dialect, this.#limits);
  }

  /** The line that is being read, 1-based. */
  get line(): number {
    return (this.#splitter ?? this.#scout).line;
  }

  push(text: string): ReaderItem[] {
    if (this.#isOver) return [];
    const zero = text.indexOf("\0");
    const items = this.#read(zero === -1 ? text : text.slice(0, zero), false);
    if (zero === -1 || this.#isOver) return items;
    return [...items, this.#fail("CSV_BINARY", `line ${this.line}`, "expected text, found a NUL character")];
  }

  end(): ReaderItem[] {
    if (this.#isOver) return [];
    const items = this.#read("", true);
    if (this.#columns === undefined && !this.#isOver) {
      items.push(this.#fail("CSV_EMPTY", "file", "expected a header and rows, found nothing"));
    }
    return items;
  }

  #read(text: string, isEnd: boolean): ReaderItem[] {
    let fresh = text;
    if (this.#splitter === undefined) {
      this.#opening.push(text);
      this.#openingLength += text.length;
      const seen = this.#scout.push(text);
      if (isEnd) seen.push(...this.#scout.end());
      if (!this.#findDelimiter(seen)) return this.#requireOpening();
      fresh = this.#opening.join("");
      this.#opening = [];
    }
    if (this.#splitter === undefined) return [];
    const records = this.#splitter.push(fresh);
    if (isEnd) records.push(...this.#splitter.end());
    return this.#readRecords(
      records.filter((record) => record.line >= this.#firstLine && saysSomething(record)),
    );
  }

  /** Looks for the first record that says something; true once the delimiter is known. */
  #findDelimiter(records: readonly RawRecord[]): boolean {
    for (const record of records) {
      if (!saysSomething(record)) continue;
      const announced = this.#mayAnnounce ? announcedDelimiter(record.raw) : undefined;
      this.#mayAnnounce = false;
      if (announced !== undefined && this.#dialect.delimiter === "auto") this.#delimiter = announced;
      if (announced !== undefined || this.#isAboveHeader(record)) {
        this.#firstLine = Math.max(this.#firstLine, record.endLine + 1);
      }
      if (record.line < this.#firstLine) continue;
      if (this.#dialect.delimiter !== "auto") this.#delimiter = this.#dialect.delimiter;
      else if (this.#delimiter === "") this.#delimiter = detectDelimiter(record.raw, this.#dialect);
      this.#splitter = new RecordSplitter({
        delimiters: this.#delimiter,
        quote: this.#dialect.quote,
        ...this.#limits,
      });
      return true;
    }
    return false;
  }

  #isAboveHeader({ raw, condition }: RawRecord): boolean {
    const { header, noRow = [] } = this.#dialect;
    return header && condition === "whole" && isLineLike(noRow, raw);
  }

  /** Until the first record is whole its text is kept, so it must end some time. */
  #requireOpening(): ReaderItem[] {
    const { maxRowBytes } = this.#limits;
    if (this.#openingLength <= maxRowBytes) return [];
    this.#opening = [];
    return [this.#fail("CSV_ROW_TOO_LONG", "line 1", `expected a header of at most ${maxRowBytes} bytes`)];
  }

  #readRecords(records: readonly RawRecord[]): ReaderItem[] {
    const whole = records.filter((record) => record.condition === "whole");
    const settings = { delimiter: this.#delimiter, quote: this.#dialect.quote };
    const cells = parseCells(
      whole.map((record) => record.raw),
      settings,
    );
    const cellsByRecord = new Map(whole.map((record, i) => [record, cells[i]]));
    const items: ReaderItem[] = [];
    for (const record of records) {
      items.push(...this.#readRecord(record, cellsByRecord.get(record)));
      if (this.#isOver) break;
    }
    return items;
  }

  #readRecord(record: RawRecord, cells: readonly string[] | undefined): ReaderItem[] {
    if (this.#columns === undefined) return this.#begin(record, cells);
    if (cells === undefined) {
      const problem = recordProblem(record, this.#limits.maxRowBytes);
      if (record.condition === "too-long") return [this.#fail(problem.code, problem.place, problem.message)];
      return [{ kind: "bad-row", problem: { ...problem, ...this.#quoteHint(record.raw) }, raw: record.raw }];
    }
    return this.#readRow(record, cells, this.#columns);
  }

  #readRow(
    { line, endLine, raw }: RawRecord,
    cells: readonly string[],
    columns: readonly string[],
  ): ReaderItem[] {
    if (cells.every(isBlank)) return [];
    const message = this.#misfit(cells, columns);
    if (message !== undefined) {
      const place = placeOf(line, endLine);
      const hint = { ...this.#shortHint(cells, raw), ...this.#quoteHint(raw) };
      const problem: Problem = { code: "CSV_ROW_RAGGED", place, message, ...hint };
      return [{ kind: "bad-row", problem, raw }];
    }
    const values = new Map<string, string>();
    for (let i = 0; i < columns.length; i++) values.set(columns[i] ?? "", cells[i] ?? "");
    return [{ kind: "row", row: { line, values, raw } }];
  }

  /** Why values don't belong to the columns one by one, in words; undefined when they do. */
  #misfit(cells: readonly string[], columns: readonly string[]): string | undefined {
    if (cells.length !== this.#width && !this.#isFilled(cells, columns))
      return `expected ${this.#width} columns, found ${cells.length}`;
    const nameless = cells.findIndex((cell, i) => i >= columns.length && !isBlank(cell));
    return nameless === -1 ? undefined : `a value stands in column ${nameless + 1}, which has no name`;
  }

  /** Whether a row ends before columns that it may lack. */
  #isFilled(cells: readonly string[], columns: readonly string[]): boolean {
    const { neverShort } = this.#dialect;
    if (neverShort === undefined || cells.length > this.#width) return false;
    return !columns.slice(cells.length).some((column) => neverShort.includes(column));
  }

  #shortHint(cells: readonly string[], raw: string): Pick<Problem, "hint"> {
    const { header, neverShort } = this.#dialect;
    if (!header || neverShort !== undefined || cells.length < 2 || cells.length > this.#width) return {};
    // Without a line end it may be the beginning of a row that was cut.
    if (!/[\r\n]$/.test(raw))
      return { hint: "The file may have been cut here: have the whole file dropped again." };
    return {
      hint: "Correct the row, and drop the file again. For a sender that leaves out empty values at a row's end, as Excel does, set `shortRows: fill` in the profile.",
    };
  }

  #quoteHint(raw: string): Pick<Problem, "hint"> {
    return strayQuoteHint(raw, { ...this.#dialect, delimiter: this.#delimiter, width: this.#width });
  }

  /** The first record: the header, or without one the row that says how many columns there are. */
  #begin(record: RawRecord, cells: readonly string[] | undefined): ReaderItem[] {
    if (cells === undefined) {
      const { code, place, message } = recordProblem(record, this.#limits.maxRowBytes);
      return [this.#fail(code, place, message)];
    }
    const columns = readHeader(cells, this.#dialect.header);
    this.#width = cells.length;
    const problem = headerProblem(columns, this.#maxColumns);
    if (problem) return [this.#fail(problem.code, placeOf(record.line, record.endLine), problem.message)];
    this.#columns = columns;
    const raw = this.#dialect.header ? record.raw : "";
    const width = this.#width;
    const { line } = record;
    const header: ReaderItem = { kind: "header", line, columns, raw, delimiter: this.#delimiter, width };
    return this.#dialect.header ? [header] : [header, ...this.#readRow(record, cells, columns)];
  }

  #fail(code: FailureCode, place: string, message: string): ReaderItem {
    this.#isOver = true;
    return { kind: "bad-file", problem: { code, place, message } };
  }
}

function recordProblem(record: RawRecord, maxRowBytes: number): Problem {
  const place = placeOf(record.line, record.endLine);
  if (record.condition === "unclosed") {
    return {
      code: "CSV_QUOTE_UNCLOSED",
      place,
      message: `the quoted value that begins on line ${record.quoteLine} is never closed; the file cannot be read from there on`,
    };
  }
  if (record.condition === "too-long") {
    return {
      code: "CSV_ROW_TOO_LONG",
      place,
      message: `expected at most ${maxRowBytes} bytes in a row${quoteHint(record)}; the file was not read any further`,
    };
  }
  return {
    code: "CSV_ROW_QUOTES",
    place,
    message: `a quote stands inside an unquoted value or after a closed one${quoteHint(record)}`,
  };
}

function quoteHint({ line, endLine, quoteLine }: RawRecord): string {
  return quoteLine !== undefined && endLine > line
    ? `; the last quoted value begins on line ${quoteLine}`
    : "";
}

/** Whether a record is more than a blank line. */
function saysSomething({ condition, raw }: RawRecord): boolean {
  return condition === "too-long" || !isBlank(raw);
}

/** Where a record stands, for people. */
export function placeOf(line: number, endLine: number): string {
  return endLine > line ? `lines ${line}-${endLine}` : `line ${line}`;
}

const STRAY_QUOTES =
  'Each line has the right number of columns where a quote is a character like any other. If the sender never puts values in quotes, set `quote: ""` in the profile; else have it put the whole value in quotes, write a quote within it twice, and drop the file again.';

/** What to do about a record that its quotes tear: they are text where each of its lines is a row without them. */
export function strayQuoteHint(
  raw: string,
  { quote, delimiter, width }: { readonly quote: string; readonly delimiter: string; readonly width: number },
): Pick<Problem, "hint"> {
  if (quote === "" || !raw.includes(quote)) return {};
  const lines = raw.split(/[\r\n]+/).filter((line) => !isBlank(line));
  return lines.every((line) => line.split(delimiter).length === width) ? { hint: STRAY_QUOTES } : {};
}

/** Throws what a `bad-file` item says. */
export function throwProblem({ code, ...details }: Problem): never {
  throw new Failure(code, details);
}
