import type { Problem } from "../../core/failures.ts";
import type { CsvRow } from "../../core/intake.ts";

/** What all rows of a file share. */
export interface RowsOfFile {
  /** The whole text in UTF-8. */
  readonly bytes: Buffer;
  /** Where in a row each column stands, from 0; empty until the header is read. */
  positionByColumn: ReadonlyMap<string, number>;
  /** The row that was looked at last, taken apart. */
  latest?: { readonly row: CsvRecord; readonly cells: readonly string[] };
}

/** Where a record stands: offsets into the bytes, and lines from 1. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly line: number;
  /** Larger than `line` when a quoted value holds line breaks. */
  readonly endLine: number;
}

/** Parts cells that are kept as one text: no file has it. */
const NUL = "\0";

/**
 * A record of a CSV file, as it was parsed. It is what checks, orders and mapping see of it. A file has hundreds of thousands, so
 * that each is kept small: its cells are one text, and what it looks like in the file is read from the file's bytes.
 */
export class CsvRecord implements CsvRow {
  readonly line: number;
  readonly endLine: number;
  /** What shows that the row is damaged; its values can't be trusted then. */
  problem: Problem | undefined;
  readonly #file: RowsOfFile;
  readonly #from: number;
  readonly #to: number;
  readonly #cells: string;

  constructor(file: RowsOfFile, { from, to, line, endLine }: Span, cells: readonly string[]) {
    this.#file = file;
    this.#from = from;
    this.#to = to;
    this.line = line;
    this.endLine = endLine;
    this.#cells = cells.join(NUL);
    file.latest = { row: this, cells };
    this.problem = undefined;
  }

  /** In the sequence of the columns; a short row may have fewer. */
  get cells(): readonly string[] {
    const { latest } = this.#file;
    if (latest?.row === this) return latest.cells;
    const cells = this.#cells.split(NUL);
    this.#file.latest = { row: this, cells };
    return cells;
  }

  /** The text as it stands in the file, line end included. */
  get raw(): string {
    return this.#file.bytes.toString("utf8", this.#from, this.#to);
  }

  /** How many bytes of UTF-8 {@link raw} has. */
  get byteLength(): number {
    return this.#to - this.#from;
  }

  /** For people: `line 4` or `lines 4-6`. */
  get place(): string {
    return this.endLine > this.line ? `lines ${this.line}-${this.endLine}` : `line ${this.line}`;
  }

  get values(): ReadonlyMap<string, string> {
    return new RowValues(this.#file.positionByColumn, this.cells);
  }
}

/** Cells by the names of their columns. A cell that a short row lacks is empty. */
class RowValues implements ReadonlyMap<string, string> {
  readonly #positionByColumn: ReadonlyMap<string, number>;
  readonly #cells: readonly string[];

  constructor(positionByColumn: ReadonlyMap<string, number>, cells: readonly string[]) {
    this.#positionByColumn = positionByColumn;
    this.#cells = cells;
  }

  get size(): number {
    return this.#positionByColumn.size;
  }

  has(column: string): boolean {
    return this.#positionByColumn.has(column);
  }

  get(column: string): string | undefined {
    const position = this.#positionByColumn.get(column);
    return position === undefined ? undefined : (this.#cells[position] ?? "");
  }

  forEach(callback: (value: string, column: string, map: ReadonlyMap<string, string>) => void): void {
    for (const [column, value] of this) callback(value, column, this);
  }

  keys() {
    return this.#positionByColumn.keys();
  }

  values() {
    return Array.from(this.#positionByColumn.values(), (position) => this.#cells[position] ?? "").values();
  }

  entries() {
    const columns = Array.from(this.#positionByColumn);
    return columns.map(([name, position]): [string, string] => [name, this.#cells[position] ?? ""]).values();
  }

  [Symbol.iterator]() {
    return this.entries();
  }
}
