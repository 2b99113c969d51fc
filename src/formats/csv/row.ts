import type { Problem } from "../../core/failures.ts";
import type { CsvRow } from "../../core/intake.ts";
import { atLines, type Place } from "../../core/place.ts";

/** What all rows of a file share. */
export interface RowsOfFile {
  /** The whole text in UTF-8. */
  readonly bytes: Buffer;
  /** The names of the columns; empty until the header is read. */
  columns: readonly string[];
  /** The row that was looked at last, taken apart. */
  latest?: {
    readonly row: CsvRecord;
    readonly cells: readonly string[];
    values?: ReadonlyMap<string, string>;
  };
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
    return this.#takenApart().cells;
  }

  /** Cells by the names of their columns; one that a short row lacks is empty. */
  get values(): ReadonlyMap<string, string> {
    const apart = this.#takenApart();
    apart.values ??= new Map(this.#file.columns.map((column, n) => [column, apart.cells[n] ?? ""]));
    return apart.values;
  }

  #takenApart(): NonNullable<RowsOfFile["latest"]> {
    const { latest } = this.#file;
    if (latest?.row === this) return latest;
    this.#file.latest = { row: this, cells: this.#cells.split(NUL) };
    return this.#file.latest;
  }

  /** The text as it stands in the file, line end included. */
  get raw(): string {
    return this.#file.bytes.toString("utf8", this.#from, this.#to);
  }

  /** How many bytes of UTF-8 {@link raw} has. */
  get byteLength(): number {
    return this.#to - this.#from;
  }

  get place(): Place {
    return atLines(this.line, this.endLine);
  }
}
