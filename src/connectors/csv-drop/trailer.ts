import type { Problem } from "../../core/failures.ts";
import type { CsvReading, CsvTrailer } from "../../formats/csv/dialect.ts";
import { trimBlanks } from "../../formats/csv/records.ts";
import { type CsvRowItem, isLineOf, placeOfItem } from "./structure.ts";

/**
 * Holds a file to its trailer: the last line, which may say how many rows stand above. By the rows alone nobody sees that a file
 * was cut between two of them.
 */
export class TrailerCheck {
  readonly #trailer: CsvTrailer | undefined;
  readonly #isTrailer: (item: CsvRowItem) => boolean;
  readonly #problems: Problem[] = [];
  #rows = 0;
  #trailerPlace: string | undefined;
  #lastPlace = "header";

  constructor(reading: CsvReading) {
    this.#trailer = reading.trailer;
    this.#isTrailer = isLineOf(reading.trailer ? [reading.trailer.line] : [], reading);
  }

  /** Takes the next line; true when it is the trailer, and so no row. */
  add(item: CsvRowItem): boolean {
    if (this.#trailer === undefined) return false;
    this.#lastPlace = placeOfItem(item);
    const isTrailer = this.#isTrailer(item);
    if (this.#trailerPlace !== undefined && this.#problems.length === 0) {
      const message = `the file goes on below its trailer (${this.#trailerPlace}); it may be several files in one`;
      this.#problems.push({ code: "CSV_TRAILER_MISSING", place: this.#lastPlace, message, hint: BELOW });
    }
    if (!isTrailer) this.#rows += 1;
    else if (this.#trailerPlace === undefined) this.#take(item, this.#trailer);
    return isTrailer;
  }

  /** What is wrong once the file has been read to its end. */
  end(): readonly Problem[] {
    if (this.#trailer?.isRequired !== true || this.#trailerPlace !== undefined) return this.#problems;
    const message = `the file ends here after ${counted(this.#rows)}, without its last line (the trailer); it may have been cut short`;
    return [{ code: "CSV_TRAILER_MISSING", place: this.#lastPlace, message }];
  }

  #take(item: CsvRowItem, { line, countGroup }: CsvTrailer): void {
    this.#trailerPlace = this.#lastPlace;
    if (countGroup === undefined) return;
    const text = line.exec(trimBlanks(item.kind === "row" ? item.row.raw : item.raw))?.[countGroup] ?? "";
    if (/^\d{1,9}$/.test(text) && Number(text) === this.#rows) return;
    const found = /^\d{1,9}$/.test(text) ? `counts ${counted(Number(text))}` : "holds no number of rows";
    const message = `the trailer ${found}, and ${counted(this.#rows)} ${this.#rows === 1 ? "stands" : "stand"} above it; the file may have been cut short, or changed`;
    this.#problems.push({ code: "CSV_TRAILER_COUNT", place: this.#lastPlace, message });
  }
}

/** `required: false` would not take them either. */
const BELOW =
  "Have the sender end each file with its trailer, and drop what stands below it as a file of its own. For lines that may stand between rows, write their pattern into `noRow` of the profile instead of `trailer`.";

function counted(rows: number): string {
  return rows === 1 ? "1 row" : `${rows} rows`;
}
