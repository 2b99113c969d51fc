import type { Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import { HEADER, type Place, placeText } from "../../core/place.ts";
import type { CsvReading, CsvTotal, CsvTrailer } from "../../formats/csv/dialect.ts";
import { trimBlanks } from "../../formats/csv/headings.ts";
import type { CsvRecord } from "../../formats/csv/row.ts";
import { beginningOf, isLineOf } from "./structure.ts";

const MOST_LINES_NAMED = 5;

/**
 * Holds a file to its trailer: the last line, which may say how many rows stand above, or the total of a column. By the rows
 * alone nobody sees that a file was cut between two of them.
 */
export class TrailerCheck {
  readonly #trailer: CsvTrailer | undefined;
  readonly #isTrailer: (row: CsvRecord) => boolean;
  readonly #problems: Problem[] = [];
  readonly #identify: CsvReading["identify"];
  /** Lines that were counted though they have no order number. */
  readonly #withoutNumber: Place[] = [];
  readonly #total: ColumnTotal | undefined;
  #rows = 0;
  #firstRowPlace: Place = {};
  #lastRowPlace: Place = {};
  #trailerPlace: Place | undefined;
  #lastPlace = HEADER;

  constructor(reading: CsvReading) {
    this.#trailer = reading.trailer;
    this.#total = reading.trailer?.sum && new ColumnTotal(reading.trailer.sum);
    this.#identify = reading.identify;
    this.#isTrailer = isLineOf(reading.trailer ? [reading.trailer.line] : [], reading);
  }

  /** Takes the next line; true when it is the trailer, and so no row. */
  add(row: CsvRecord): boolean {
    if (this.#trailer === undefined) return false;
    this.#lastPlace = beginningOf(row);
    const isTrailer = this.#isTrailer(row);
    if (this.#trailerPlace !== undefined && this.#problems.length === 0) {
      const message = `the file goes on below its trailer (${placeText(this.#trailerPlace)}); it may be several files in one`;
      this.#problems.push({ code: "CSV_TRAILER_MISSING", place: this.#lastPlace, message, hint: BELOW });
    }
    if (!isTrailer) this.#count(row);
    else if (this.#trailerPlace === undefined) this.#take(row, this.#trailer);
    return isTrailer;
  }

  /** What is wrong once the file has been read to its end. */
  end(): readonly Problem[] {
    if (this.#trailer?.isRequired !== true || this.#trailerPlace !== undefined) return this.#problems;
    const message = `the file ends here after ${counted(this.#rows)}, without its last line (the trailer); it may have been cut short`;
    return [{ code: "CSV_TRAILER_MISSING", place: this.#lastPlace, message }];
  }

  #count(row: CsvRecord): void {
    this.#rows += 1;
    if (this.#rows === 1) this.#firstRowPlace = this.#lastPlace;
    this.#lastRowPlace = this.#lastPlace;
    if (row.problem === undefined) this.#total?.add(row.values, this.#lastPlace);
    const hasNumber = row.problem === undefined && this.#identify(row.values).orderNumber !== "";
    if (!hasNumber && this.#withoutNumber.length < MOST_LINES_NAMED)
      this.#withoutNumber.push(this.#lastPlace);
  }

  /** Which lines were counted, since one of them may be no row. */
  #hint(): string {
    const range = `Counted were the rows from ${placeText(this.#firstRowPlace)} to ${placeText(this.#lastRowPlace)}.`;
    const odd = this.#withoutNumber.map((place) => placeText(place)).join(", ");
    const which = odd === "" ? "" : ` Without an order number: ${odd}.`;
    return byReload(
      `${range}${which} If one of them is no row, write its pattern into \`noRow\` of the profile; else have the sender write the file again.`,
    );
  }

  #take(row: CsvRecord, { line, countGroup }: CsvTrailer): void {
    this.#trailerPlace = this.#lastPlace;
    const groups = line.exec(trimBlanks(row.raw)) ?? [];
    if (countGroup !== undefined) this.#compareCount(groups[countGroup] ?? "");
    const values = row.problem === undefined ? row.values : new Map<string, string>();
    const wrong = this.#total?.troubleWith(groups, values);
    if (wrong === undefined) return;
    const message = `${wrong}; the file may have been cut short, or changed`;
    this.#problems.push({ code: "CSV_TRAILER_SUM", place: this.#lastPlace, message });
  }

  #compareCount(text: string): void {
    if (/^\d{1,9}$/.test(text) && Number(text) === this.#rows) return;
    const found = /^\d{1,9}$/.test(text) ? `counts ${counted(Number(text))}` : "holds no number of rows";
    const message = `the trailer ${found}, and ${counted(this.#rows)} ${this.#rows === 1 ? "stands" : "stand"} above it; the file may have been cut short, or changed`;
    const hint = this.#rows === 0 ? {} : { hint: this.#hint() };
    this.#problems.push({ code: "CSV_TRAILER_COUNT", place: this.#lastPlace, message, ...hint });
  }
}

/**
 * Adds up a column. Whether `1.234` is a thousand or one and a bit shows where the numbers are compared: both sides are read with a
 * decimal point and with a decimal comma, and have to agree in one of the two.
 */
export class ColumnTotal {
  readonly #of: CsvTotal;
  readonly #sums = new Map<DecimalMark, bigint>([
    [",", 0n],
    [".", 0n],
  ]);
  /** The first line from which on the column can't be added up. */
  #unread: Place | undefined;

  constructor(of: CsvTotal) {
    this.#of = of;
  }

  /** @param place the line */
  add(values: ReadonlyMap<string, string>, place: Place): void {
    const text = this.#of.textOf(values);
    // A row without a value adds nothing.
    if (text === "") return;
    for (const [mark, sum] of [...this.#sums]) {
      const number = parseNumber(text, mark);
      if (number === undefined) this.#sums.delete(mark);
      else this.#sums.set(mark, sum + number);
    }
    if (this.#sums.size === 0) this.#unread ??= place;
  }

  /**
   * What is wrong with the total that the last line says.
   *
   * @param groups of the pattern
   * @param values the line's own, where it has the columns of a row
   */
  troubleWith(groups: readonly string[], values: ReadonlyMap<string, string>): string | undefined {
    const { column, group, textOf } = this.#of;
    if (this.#unread !== undefined)
      return `the trailer's total of column "${column}" can't be checked, since ${placeText(this.#unread)} holds no number there`;
    const text = textOf(group === undefined ? values : new Map([[column, groups[group] ?? ""]]));
    const said = [...this.#sums].map(([mark, sum]) => ({ mark, sum, total: parseNumber(text, mark) }));
    if (said.some(({ sum, total }) => sum === total)) return undefined;
    const legible = said.filter(({ total }) => total !== undefined);
    // Three digits behind a mark are thousands rather than a fraction.
    const [likely] = legible.sort((one, other) => (one.sum < other.sum ? 1 : -1));
    const { mark = ".", sum } = likely ?? said[0] ?? { sum: 0n };
    const found = likely === undefined ? "holds no total" : `says a total of ${text?.trim()}`;
    return `the trailer ${found}, and column "${column}" adds up to ${formatNumber(sum, mark)} above it`;
  }
}

type DecimalMark = "," | ".";

const DECIMALS = 9;

/** Thousands are parted by the other mark, a blank or an apostrophe. */
const NUMBERS: Readonly<Record<DecimalMark, RegExp>> = {
  ",": /^([+-]?)(\d{1,15}|\d{1,3}(?:([.'’ \u00a0\u202f])\d{3})(?:\3\d{3}){0,4})(?:,(\d{1,9}))?$/,
  ".": /^([+-]?)(\d{1,15}|\d{1,3}(?:([,'’ \u00a0\u202f])\d{3})(?:\3\d{3}){0,4})(?:\.(\d{1,9}))?$/,
};

/** A number in billionths; undefined for what is none with that mark. */
function parseNumber(text: string | undefined, mark: DecimalMark): bigint | undefined {
  const [, sign, whole, , fraction = ""] = NUMBERS[mark].exec(trimBlanks(text ?? "")) ?? [];
  if (whole === undefined) return undefined;
  const billionths = BigInt(whole.replace(/\D/g, "") + fraction.padEnd(DECIMALS, "0"));
  return sign === "-" ? -billionths : billionths;
}

function formatNumber(billionths: bigint, mark: DecimalMark): string {
  const digits = String(billionths < 0n ? -billionths : billionths).padStart(DECIMALS + 1, "0");
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, "");
  const sign = billionths < 0n ? "-" : "";
  return `${sign}${digits.slice(0, -DECIMALS)}${fraction === "" ? "" : mark}${fraction}`;
}

/** `required: false` would not take them either. */
const BELOW = byReload(
  "Have the sender end each file with its trailer, and drop what stands below it as a file of its own. For lines that may stand between rows, write their pattern into `noRow` of the profile instead of `trailer`.",
);

function counted(rows: number): string {
  return rows === 1 ? "1 row" : `${rows} rows`;
}
