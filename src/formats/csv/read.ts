import { Failure, type FailureCode, type Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import { atLine, FILE, type Place } from "../../core/place.ts";
import { findMisguess } from "../misguess.ts";
import { announcedDelimiter, type CsvDialect, detectDelimiter, isLineLike } from "./dialect.ts";
import { headerProblem, isBlank, readHeader } from "./headings.ts";
import { type Opening, parseRecords } from "./records.ts";
import type { CsvRecord, RowsOfFile } from "./row.ts";
import { type CsvText, decodeCsv, namingEncodings } from "./text.ts";

export interface CsvLimits {
  /** Longest row, in bytes of UTF-8; 1 MiB unless given. A longer one ends the reading of the file. */
  readonly maxRowBytes?: number;
  /** Most columns of a header; 1,000 unless given. */
  readonly maxColumns?: number;
}

/** A CSV file of which the header was read. */
export interface CsvFile extends Pick<CsvText, "encoding" | "hasByteOrderMark"> {
  readonly delimiter: string;
  /** The names of the columns: as the header or the dialect has them, else `1`, `2`, …. */
  readonly columns: readonly string[];
  /** How many values each row has; more than `columns` where the last ones have no name, and are empty. */
  readonly width: number;
  /** The line of the header, or without one of the first row. */
  readonly line: number;
  /** The header's text, line end included; empty without one. */
  readonly header: string;
  /**
   * Its rows, once; those without any value are passed over. One that is damaged has its `problem` (CSV_ROW_RAGGED,
   * CSV_ROW_QUOTES, CSV_ENCODING_DOUBTFUL, and CSV_QUOTE_UNCLOSED as the last), and the next one is read. Throws
   * CSV_ROW_TOO_LONG.
   */
  readonly rows: AsyncIterable<CsvRecord>;
}

/**
 * Reads a CSV file: decodes it, parses it once, and gives the event loop its turns.
 *
 * Throws a Failure that names the place when the file as a whole can't be read: those of {@link decodeCsv}, CSV_EMPTY,
 * CSV_HEADER_EMPTY, CSV_HEADER_DOUBLED, CSV_HEADER_TOO_WIDE, or a row's code when the header has that fault.
 */
export async function readCsv(bytes: Buffer, dialect: CsvDialect, limits?: CsvLimits): Promise<CsvFile> {
  return openCsv(await decodeCsv(bytes, dialect), dialect, limits);
}

/** The same for a text that is decoded already. */
export async function openCsv(
  text: CsvText,
  dialect: CsvDialect,
  { maxRowBytes = 1_048_576, maxColumns = 1_000 }: CsvLimits = {},
): Promise<CsvFile> {
  const { encoding, hasByteOrderMark, isGuess } = text;
  const file: RowsOfFile = { bytes: text.bytes, columns: [] };
  const opening = findOpening(text.bytes, dialect, maxRowBytes);
  const { delimiter } = opening;
  const records = parseRecords(file, opening, { delimiter, quote: dialect.quote, maxRowBytes });
  const first = await records.next();
  if (first.done) fail("CSV_EMPTY", FILE, "expected a header and rows, found nothing");
  const head = first.value;
  if (head.problem) throw failureOf(head.problem);
  const { cells, line, place } = head;
  const isHeader = dialect.header === true;
  const found = readHeader(cells, isHeader);
  const width = cells.length;
  const problem = headerProblem(found, maxColumns);
  if (problem) throw failureOf({ ...problem, place });
  const doubtful = isGuess && isHeader ? misguessIn(cells, atLine(line)) : undefined;
  if (doubtful) throw failureOf(doubtful);
  const columns = typeof dialect.header === "object" ? dialect.header : found;
  file.columns = columns;
  const shape = { ...dialect, delimiter, width, columns };
  async function* rows() {
    for (let next: IteratorResult<CsvRecord> = isHeader ? await records.next() : first; !next.done; ) {
      const row = next.value;
      if (row.problem) row.problem = { ...row.problem, ...strayQuoteHint(row.raw, shape) };
      else
        row.problem = misfitOf(row, shape) ?? (isGuess ? misguessIn(row.cells, atLine(row.line)) : undefined);
      yield row;
      next = await records.next();
    }
  }
  const header = isHeader ? head.raw : "";
  return { encoding, hasByteOrderMark, delimiter, columns, width, line, header, rows: rows() };
}

/** Passes over what stands above the header, line by line: what the dialect says, and Excel's `sep=` line. */
function findOpening(bytes: Buffer, dialect: CsvDialect, maxRowBytes: number): Opening {
  const { header, noRow = [], skipLines = 0, delimiter } = dialect;
  let [at, line, announced] = [0, 1, undefined as string | undefined];
  let mayAnnounce = true;
  while (at < Math.min(bytes.length, MOST_BYTES_ABOVE)) {
    const end = endOfLine(bytes, at);
    // A longer line is none of those, and may be all of the file.
    const text = bytes.toString("utf8", at, Math.min(end, at + LONGEST_LINE_ABOVE));
    const isShort = end - at <= LONGEST_LINE_ABOVE;
    const isSaying = !(isShort && isBlank(text));
    const found = isSaying && mayAnnounce && isShort ? announcedDelimiter(text) : undefined;
    announced ??= found;
    if (isSaying) mayAnnounce = false;
    const isRemark = header === true && isShort && isLineLike(noRow, text);
    if (line > skipLines && isSaying && found === undefined && !isRemark) break;
    at = end;
    line += 1;
  }
  if (delimiter !== "auto") return { at, line, delimiter };
  const beginning = bytes.toString("utf8", at, Math.min(bytes.length, at + maxRowBytes));
  return { at, line, delimiter: announced ?? detectDelimiter(beginning, dialect) };
}

const LONGEST_LINE_ABOVE = 1_000;
/** What is blank after so much is passed over with the blank rows. */
const MOST_BYTES_ABOVE = 1_048_576;

/** Where the next line begins. */
function endOfLine(bytes: Buffer, at: number): number {
  // Not by a search for each of the two, which would go to the end of a file that has but one of them, for each line.
  for (let end = at; end < bytes.length; end += 1) {
    if (bytes[end] === LF) return end + 1;
    if (bytes[end] === CR) return end + (bytes[end + 1] === LF ? 2 : 1);
  }
  return bytes.length;
}

/** How the rows of a file have to look. */
interface Shape extends Pick<CsvDialect, "header" | "quote" | "neverShort"> {
  readonly delimiter: string;
  readonly width: number;
  readonly columns: readonly string[];
}

/** Why values don't belong to the columns one by one; undefined when they do. */
function misfitOf(row: CsvRecord, shape: Shape): Problem | undefined {
  const { cells } = row;
  const { columns, width } = shape;
  const isNameless = cells.length > columns.length;
  const nameless = isNameless ? cells.findIndex((cell, i) => i >= columns.length && !isBlank(cell)) : -1;
  const message =
    cells.length !== width && !isFilled(cells, shape)
      ? `expected ${width} columns, found ${cells.length}`
      : nameless !== -1
        ? `a value stands in column ${nameless + 1}, which has no name`
        : undefined;
  if (message === undefined) return undefined;
  return {
    code: "CSV_ROW_RAGGED",
    place: row.place,
    message,
    ...shortHint(row, shape),
    ...strayQuoteHint(row.raw, shape),
  };
}

/** Whether a row ends before columns that it may lack. */
function isFilled(cells: readonly string[], { neverShort, width, columns }: Shape): boolean {
  if (neverShort === undefined || cells.length > width) return false;
  return !columns.slice(cells.length).some((column) => neverShort.includes(column));
}

function shortHint(row: CsvRecord, { header, neverShort, width }: Shape): Pick<Problem, "hint"> {
  const { cells, raw } = row;
  if (header !== true || neverShort !== undefined || cells.length < 2 || cells.length > width) return {};
  // Without a line end it may be the beginning of a row that was cut.
  if (!/[\r\n]$/.test(raw))
    return { hint: "The file may have been cut here: have the whole file dropped again." };
  return {
    hint: byReload(
      "Correct the row, and drop the file again. For a sender that leaves out empty values at a row's end, as Excel does, set `shortRows: fill` in the profile.",
    ),
  };
}

const STRAY_QUOTES = byReload(
  'Each line has the right number of columns where a quote is a character like any other. If the sender never puts values in quotes, set `quote: ""` in the profile; else have it put the whole value in quotes, write a quote within it twice, and drop the file again.',
);

/** What to do about a record that its quotes tear: they are text where each of its lines is a row without them. */
export function strayQuoteHint(
  raw: string,
  { quote, delimiter, width }: { readonly quote: string; readonly delimiter: string; readonly width: number },
): Pick<Problem, "hint"> {
  if (quote === "" || !raw.includes(quote)) return {};
  const lines = raw.split(/[\r\n]+/).filter((line) => !isBlank(line));
  return lines.every((line) => line.split(delimiter).length === width) ? { hint: STRAY_QUOTES } : {};
}

/** A line of a file in no encoding that was agreed, in which a word shows that the guess is wrong. */
function misguessIn(cells: readonly string[], place: Place): Problem | undefined {
  for (const cell of cells) {
    const likely = findMisguess(cell);
    if (likely === undefined) continue;
    const message = `a word is none in Windows-1252, which the file was taken for since it is no UTF-8; it is one in ${likely.join(", ")}`;
    const hint = namingEncodings(likely, " If it is Windows-1252, set `encoding: windows-1252`.");
    return { code: "CSV_ENCODING_DOUBTFUL", place, message, hint };
  }
  return undefined;
}

function fail(code: FailureCode, place: Place, message: string): never {
  throw new Failure(code, { place, message });
}

function failureOf({ code, ...details }: Problem): Failure {
  return new Failure(code, details);
}

const CR = 0x0d;
const LF = 0x0a;
