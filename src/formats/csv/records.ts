import { setImmediate as nextTurn } from "node:timers/promises";
import { CsvError, Parser } from "csv-parse";
import { Failure } from "../../core/failures.ts";
import { isBlank } from "./headings.ts";
import { CsvRecord, type RowsOfFile } from "./row.ts";
import { countLineEnds } from "./text.ts";

/** Where the header or the first row begins. */
export interface Opening {
  readonly at: number;
  /** The line there, from 1. */
  readonly line: number;
  readonly delimiter: string;
}

interface Written {
  readonly delimiter: string;
  readonly quote: string;
  readonly maxRowBytes: number;
}

/** Small enough that parsing one takes a few milliseconds. */
const BLOCK_BYTES = 65_536;

/**
 * Parses records from an offset on; blank ones are passed over. The parser is not strict about quotes, so that it finds where a
 * torn record ends: which one is torn shows when its values are written down again.
 */
export async function* parseRecords(
  file: RowsOfFile,
  { at, line }: Opening,
  written: Written,
): AsyncGenerator<CsvRecord, undefined> {
  const { bytes } = file;
  const { delimiter, quote } = written;
  let parsed: { readonly cells: readonly string[]; readonly to: number }[] = [];
  const parser = new Parser({
    delimiter,
    quote: quote === "" ? null : quote,
    escape: quote === "" ? null : quote,
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_quotes: true,
    // Counted by us, who can say what was expected.
    relax_column_count: true,
    on_record: (cells: string[], info) => {
      parsed.push({ cells, to: at + info.bytes });
      return undefined;
    },
  });
  // Each call gets the error besides.
  parser.on("error", () => {});
  const cutter = new RecordCutter(file, { at, line }, written);
  for (let end = at; end < bytes.length; ) {
    const block = bytes.subarray(end, end + BLOCK_BYTES);
    end += block.length;
    await new Promise<void>((resolve, reject) => {
      parser.write(block, (error) => (error ? reject(error) : resolve()));
    });
    const isOpen = end === bytes.length && (await isLeftOpen(parser));
    const complete = parsed;
    parsed = [];
    for (const { cells, to } of complete) {
      const record = cutter.next(cells, to);
      if (!cells.every(isBlank)) yield record;
    }
    cutter.requireEnd(end);
    if (isOpen) yield cutter.unclosed(at + parser.info.bytes);
    await nextTurn();
  }
  return undefined;
}

/** Cuts a text into the records that the parser found: counts lines, and sees which record is too long or torn. */
class RecordCutter {
  readonly #file: RowsOfFile;
  readonly #written: Written;
  /** Where the next record begins. */
  #at: number;
  #line: number;
  /** The first quote from there on; the end of the text where there is none. */
  #nextQuote = -1;

  constructor(file: RowsOfFile, { at, line }: Pick<Opening, "at" | "line">, written: Written) {
    this.#file = file;
    this.#at = at;
    this.#line = line;
    this.#written = written;
  }

  /** The record that goes up to an offset. Throws CSV_ROW_TOO_LONG. */
  next(cells: readonly string[], to: number): CsvRecord {
    const { bytes } = this.#file;
    const { quote, maxRowBytes } = this.#written;
    const isQuoted = this.#hasQuoteBefore(to);
    const isEnded = bytes[to - 1] === LF || bytes[to - 1] === CR;
    // Without quotes a record is a line.
    const breaks = isQuoted ? countLineEnds(bytes, this.#at, to) - (isEnded ? 1 : 0) : 0;
    const record = this.#record(to, this.#line + breaks, cells);
    if (record.byteLength > maxRowBytes) throw tooLong(record, this.#written);
    if (isQuoted && !isAsWritten(record.raw, cells, this.#written)) {
      const message = `a quote stands inside an unquoted value or after a closed one${quoteHint(record, quote)}`;
      record.problem = { code: "CSV_ROW_QUOTES", place: record.place, message };
    }
    this.#at = to;
    this.#line = record.endLine + 1;
    return record;
  }

  /** Throws CSV_ROW_TOO_LONG where a record is so long that has not ended at an offset. */
  requireEnd(to: number): void {
    if (to - this.#at > this.#written.maxRowBytes) throw tooLong(this.#rest(to), this.#written);
  }

  /** @param lastValueAt where the parser ended the last value: at a delimiter, or where the record begins */
  unclosed(lastValueAt: number): CsvRecord {
    const { bytes } = this.#file;
    const isDelimiter = bytes[lastValueAt] === this.#written.delimiter.charCodeAt(0);
    const record = this.#rest(bytes.length);
    const line = this.#line + countLineEnds(bytes, this.#at, lastValueAt + (isDelimiter ? 1 : 0));
    const message = `the quoted value that begins on line ${line} is never closed; the file cannot be read from there on`;
    record.problem = { code: "CSV_QUOTE_UNCLOSED", place: record.place, message };
    return record;
  }

  #rest(to: number): CsvRecord {
    return this.#record(to, this.#line + countLineEnds(this.#file.bytes, this.#at, to), []);
  }

  #record(to: number, endLine: number, cells: readonly string[]): CsvRecord {
    return new CsvRecord(this.#file, { from: this.#at, to, line: this.#line, endLine }, cells);
  }

  #hasQuoteBefore(to: number): boolean {
    const { quote } = this.#written;
    if (quote === "") return false;
    if (this.#nextQuote < this.#at) {
      const found = this.#file.bytes.indexOf(quote, this.#at);
      this.#nextQuote = found === -1 ? this.#file.bytes.length : found;
    }
    return this.#nextQuote < to;
  }
}

/** Ends the parser: whether it is within a quoted value. */
async function isLeftOpen(parser: Parser): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    parser.once("finish", () => resolve(false));
    parser.once("error", (error) => (error instanceof CsvError ? resolve(true) : reject(error)));
    parser.end();
  });
}

/** Whether a record's text is what its values are written as, with quotes around some of them. */
function isAsWritten(raw: string, cells: readonly string[], { delimiter, quote }: Written): boolean {
  let at = 0;
  for (const cell of cells) {
    const isQuoted = raw.startsWith(quote, at);
    if (!isQuoted && cell.includes(quote)) return false;
    const written = isQuoted ? `${quote}${cell.split(quote).join(quote + quote)}${quote}` : cell;
    if (!raw.startsWith(written, at)) return false;
    at += written.length + delimiter.length;
  }
  return true;
}

function tooLong(record: CsvRecord, { quote, maxRowBytes }: Written): Failure {
  const message = `expected at most ${maxRowBytes} bytes in a row${quoteHint(record, quote)}; the file was not read any further`;
  return new Failure("CSV_ROW_TOO_LONG", {
    place: record.place,
    message,
    expected: [String(maxRowBytes)],
  });
}

function quoteHint({ line, endLine, raw }: CsvRecord, quote: string): string {
  const first = quote === "" ? -1 : raw.indexOf(quote);
  if (first === -1 || endLine === line) return "";
  return `; its first quote stands on line ${line + countLineEnds(Buffer.from(raw.slice(0, first)))}`;
}

const CR = 0x0d;
const LF = 0x0a;
