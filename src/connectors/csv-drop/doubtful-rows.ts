import { Failure, type FailureCode } from "../../core/failures.ts";
import { trimBlanks } from "../../formats/csv/blank.ts";
import type { CsvItem, CsvRecord } from "../../formats/csv/read.ts";
import { placeOf } from "../../formats/csv/reader.ts";
import { type CsvRowItem, cellsOf } from "./order-key.ts";
import { type CsvHeader, type CsvReading, columnsOf } from "./reading.ts";

/** A narrower file has rows that any text could look like. */
const FEWEST_COLUMNS = 4;
/** A pattern of the site costs little on so many characters. */
const LONGEST_NO_ROW = 100;

/**
 * Takes the rows of a file as they come, and gives them as they are to be taken: one that can be read, and yet can't be
 * trusted, becomes one that can't.
 * - The last row, when the file ends in a value that counts: `V-12` may be the beginning of `V-123`.
 * - A row above or below a line that is a single value: a line break may have torn one in two.
 * - A row with a quoted value that holds what looks like rows, since a quote is missing, or is one too many.
 * - A row whose operation stands beside its column: its values were shifted, and others stand in wrong columns as well.
 *
 * Lines that the profile says are no rows are passed over.
 *
 * The header once more, as where files were joined, is passed over. Throws CSV_HEADER_SECOND where its columns stand in
 * another order, and what is below would be misread.
 */
export class DoubtfulRows {
  readonly #reading: CsvReading;
  readonly #quote: string;
  #header: CsvHeader | undefined;
  #columns: readonly string[] = [];
  /** A row that the next line may show to be torn. */
  #held: CsvRecord | undefined;
  #isBelowPiece = false;

  constructor(reading: CsvReading, quote: string) {
    this.#reading = reading;
    this.#quote = quote;
  }

  *add(item: CsvItem): Generator<CsvItem> {
    if (item.kind === "header") {
      this.#header = item;
      this.#columns = columnsOf(item, this.#reading);
      yield item;
      return;
    }
    if (this.#isNoRow(item)) return;
    const isPiece = this.#isPiece(item);
    if (isPiece && this.#held && this.#counts(this.#columns.at(-1))) {
      yield torn(this.#held, "the line below is a single value, which may be the end of this row's last one");
      this.#held = undefined;
    } else {
      yield* this.end();
    }
    const isBelowPiece = this.#isBelowPiece;
    this.#isBelowPiece = isPiece;
    if (item.kind === "bad-row") yield item;
    else if (isBelowPiece && this.#counts(this.#columns[0])) {
      yield torn(
        item.row,
        "the line above is a single value, which may be the beginning of this row's first one",
      );
    } else if (!this.#isHeaderAgain(item.row)) this.#held = item.row;
  }

  /** The row that was held back. */
  *end(): Generator<CsvItem> {
    const row = this.#held;
    this.#held = undefined;
    if (row === undefined) return;
    if (this.#isUnfinished(row)) yield this.#unfinished(row);
    else if (this.#isShifted(row)) yield shifted(row);
    else yield this.#withoutRowsInIt(row);
  }

  /** Whether the profile says that a line is none. One that says what is to be done is a row all the same. */
  #isNoRow(item: CsvRowItem): boolean {
    const { noRow = [], identify } = this.#reading;
    if (noRow.length === 0) return false;
    const text = trimBlanks(item.kind === "row" ? item.row.raw : item.raw);
    if (text.length > LONGEST_NO_ROW || !noRow.some((pattern) => pattern.test(text))) return false;
    return item.kind === "bad-row" || identify?.(item.row.values).hasOperation !== true;
  }

  /** Whether a line is a word by itself; what people write below a list has blanks. */
  #isPiece(item: CsvRowItem): boolean {
    if (item.kind === "row" || item.cells?.length !== 1 || this.#columns.length < 2) return false;
    return /^\S+$/.test(item.cells[0]?.trim() ?? "");
  }

  #counts(column: string | undefined): boolean {
    return column !== undefined && (this.#reading.wholeColumns ?? []).includes(column);
  }

  #isHeaderAgain({ values, line }: CsvRecord): boolean {
    if (this.#reading.header === false) return false;
    const columns = this.#columns;
    // A header has a name at one of its ends at least; nearly every other row is passed over by that.
    const ends = [columns[0], columns.at(-1)].map((name) => values.get(name ?? "")?.trim() ?? "");
    if (!ends.some((cell) => columns.includes(cell))) return false;
    const cells = [...values.values()].map((cell) => cell.trim());
    if (columns.every((name, i) => cells[i] === name)) return true;
    const named = cells.filter((cell) => columns.includes(cell)).length;
    if (named < Math.max(2, columns.length / 2)) return false;
    const message = `line ${line}: the column names stand here once more, in another order; what is below would be misread`;
    throw new Failure("CSV_HEADER_SECOND", message);
  }

  #isUnfinished({ raw }: CsvRecord): boolean {
    if (this.#reading.lastLineEnd === "optional" || /[\r\n]$/.test(raw)) return false;
    if (!this.#counts(this.#columns.at(-1)) || this.#header === undefined) return false;
    // Behind the last value stand delimiters, or it was closed by its quote.
    if (this.#header.width > this.#header.columns.length) return false;
    return this.#quote === "" || !raw.endsWith(this.#quote);
  }

  #unfinished(row: CsvRecord): CsvItem {
    const message = `the last line has no line end, so its last value, in column "${this.#columns.at(-1)}", may be cut short`;
    const cells = [...row.values.values()].slice(0, -1);
    return badRow(row, { code: "CSV_ROW_UNFINISHED", message, cells });
  }

  /** An unknown code alone tells nothing: it may only be missing in the profile's table. */
  #isShifted({ values }: CsvRecord): boolean {
    const { identify, operationColumns = [] } = this.#reading;
    if (identify === undefined || operationColumns.length === 0 || identify(values).hasOperation)
      return false;
    const columns = this.#columns;
    return operationColumns.some((column) => {
      const at = columns.indexOf(column);
      const beside = at === -1 ? [] : [columns[at - 1], columns[at + 1]];
      return beside.some((name) => identify(new Map([[column, values.get(name ?? "") ?? ""]])).hasOperation);
    });
  }

  #withoutRowsInIt(row: CsvRecord): CsvItem {
    const count = this.#countSwallowed(row);
    if (count === 0) return { kind: "row", row };
    const what = count === 1 ? "a row" : `${count} rows`;
    const message = `a quoted value holds what looks like ${what} of the file; is a quote missing, or one too many?`;
    return badRow(row, { code: "CSV_ROW_QUOTES", message });
  }

  /** How many lines within its values have an order number and an operation where rows have theirs. */
  #countSwallowed(row: CsvRecord): number {
    // One line, as nearly every row.
    if (row.raw.search(/[\r\n]/) >= row.raw.length - 2) return 0;
    const { identify, numberColumns = [] } = this.#reading;
    const columns = this.#columns;
    if (identify === undefined || this.#quote === "" || columns.length < FEWEST_COLUMNS) return 0;
    let count = 0;
    let position = 0;
    for (const value of row.values.values()) {
      position += 1;
      if (position < FEWEST_COLUMNS || !/[\r\n]/.test(value)) continue;
      const [, ...lines] = value.split(/[\r\n]+/);
      for (const cells of cellsOf(lines.join("\n"), this.#header?.delimiter ?? ",", this.#quote)) {
        if (cells.length < position) continue;
        const values = new Map(cells.slice(0, columns.length).map((cell, i) => [columns[i] ?? "", cell]));
        const number = numberColumns.map((column) => values.get(column) ?? "").find((cell) => cell !== "");
        if (/^\S*\d\S*$/.test(number ?? "") && identify(values).hasOperation) count += 1;
      }
    }
    return count;
  }
}

function torn(row: CsvRecord, why: string): CsvItem {
  const message = `${why}; a value with a line break must be quoted`;
  return badRow(row, { code: "CSV_ROW_RAGGED", message, cells: [...row.values.values()] });
}

function shifted(row: CsvRecord): CsvItem {
  const message =
    "the operation stands beside its column, so values were shifted into columns that are not theirs";
  return badRow(row, { code: "CSV_ROW_RAGGED", message, cells: [...row.values.values()] });
}

function badRow(
  { line, raw }: CsvRecord,
  { code, message, cells }: { code: FailureCode; message: string; cells?: readonly string[] },
): CsvItem {
  const endLine = line + (raw.trimEnd().match(/\r\n|\r|\n/g)?.length ?? 0);
  const problem = { code, place: placeOf(line, endLine), message };
  return { kind: "bad-row", problem, line, endLine, raw, cells };
}
