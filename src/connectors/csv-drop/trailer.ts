import type { Problem } from "../../core/failures.ts";
import type { CsvReading, CsvTrailer } from "../../formats/csv/dialect.ts";
import { trimBlanks } from "../../formats/csv/records.ts";
import { type CsvRowItem, isLineOf, placeOfItem } from "./structure.ts";

const MOST_LINES_NAMED = 5;

/**
 * Holds a file to its trailer: the last line, which may say how many rows stand above. By the rows alone nobody sees that a file
 * was cut between two of them.
 */
export class TrailerCheck {
  readonly #trailer: CsvTrailer | undefined;
  readonly #isTrailer: (item: CsvRowItem) => boolean;
  readonly #problems: Problem[] = [];
  readonly #identify: CsvReading["identify"];
  /** Lines that were counted though they have no order number. */
  readonly #withoutNumber: string[] = [];
  #rows = 0;
  #firstRowPlace = "";
  #lastRowPlace = "";
  #trailerPlace: string | undefined;
  #lastPlace = "header";

  constructor(reading: CsvReading) {
    this.#trailer = reading.trailer;
    this.#identify = reading.identify;
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
    if (!isTrailer) this.#count(item);
    else if (this.#trailerPlace === undefined) this.#take(item, this.#trailer);
    return isTrailer;
  }

  /** What is wrong once the file has been read to its end. */
  end(): readonly Problem[] {
    if (this.#trailer?.isRequired !== true || this.#trailerPlace !== undefined) return this.#problems;
    const message = `the file ends here after ${counted(this.#rows)}, without its last line (the trailer); it may have been cut short`;
    return [{ code: "CSV_TRAILER_MISSING", place: this.#lastPlace, message }];
  }

  #count(item: CsvRowItem): void {
    this.#rows += 1;
    if (this.#rows === 1) this.#firstRowPlace = this.#lastPlace;
    this.#lastRowPlace = this.#lastPlace;
    const hasNumber = item.kind === "row" && this.#identify(item.row.values).orderNumber !== "";
    if (!hasNumber && this.#withoutNumber.length < MOST_LINES_NAMED)
      this.#withoutNumber.push(this.#lastPlace);
  }

  /** Which lines were counted, since one of them may be no row. */
  #hint(): string {
    const range = `Counted were the rows from ${this.#firstRowPlace} to ${this.#lastRowPlace}.`;
    const odd = this.#withoutNumber.join(", ");
    const which = odd === "" ? "" : ` Without an order number: ${odd}.`;
    return `${range}${which} If one of them is no row, write its pattern into \`noRow\` of the profile; else have the sender write the file again.`;
  }

  #take(item: CsvRowItem, { line, countGroup }: CsvTrailer): void {
    this.#trailerPlace = this.#lastPlace;
    if (countGroup === undefined) return;
    const text = line.exec(trimBlanks(item.kind === "row" ? item.row.raw : item.raw))?.[countGroup] ?? "";
    if (/^\d{1,9}$/.test(text) && Number(text) === this.#rows) return;
    const found = /^\d{1,9}$/.test(text) ? `counts ${counted(Number(text))}` : "holds no number of rows";
    const message = `the trailer ${found}, and ${counted(this.#rows)} ${this.#rows === 1 ? "stands" : "stand"} above it; the file may have been cut short, or changed`;
    const hint = this.#rows === 0 ? {} : { hint: this.#hint() };
    this.#problems.push({ code: "CSV_TRAILER_COUNT", place: this.#lastPlace, message, ...hint });
  }
}

/** `required: false` would not take them either. */
const BELOW =
  "Have the sender end each file with its trailer, and drop what stands below it as a file of its own. For lines that may stand between rows, write their pattern into `noRow` of the profile instead of `trailer`.";

function counted(rows: number): string {
  return rows === 1 ? "1 row" : `${rows} rows`;
}
