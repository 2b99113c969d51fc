import type { Problem } from "../../core/failures.ts";
import type { CsvRow } from "../../core/intake.ts";
import { type CsvRowItem, cellsOf, type Grouping, numberOfUnread, type UnreadItem } from "./order-key.ts";
import { type OrderSurvey, orderDigest } from "./order-survey.ts";
import { lacksNumber } from "./reading.ts";

/** More orders in doubt than this, and the file itself is. */
const MOST_ORDERS = 100_000;
/** A shorter text is found at the end of others by chance; where two rows have run together it is looked for all the same. */
const FEWEST_CHARACTERS = 4;
/** Longer rows are looked through for whole numbers only. */
const LONGEST_ROW = 4_000;
const MOST_CHARACTERS = 60;
/** More would hold up all else that the process does for longer than a third of a second. */
const MOST_CELLS = 100_000;
/** Less is no row that lacks its number, but what people and programs write below a list. */
const FEWEST_CELLS = 3;

/**
 * Looks through the rows that can't be read for numbers of orders that can, since such an order may lack a row: values may
 * have changed their places, two may have run together or one have been torn in two, and a quote that isn't closed
 * swallows whole rows.
 */
export class DoubtfulOrders {
  readonly #grouping: Grouping;
  readonly #orders: OrderSurvey;
  readonly #numberColumn: string;
  /** The line of the unreadable row by the digest of the order's key. */
  readonly lineByDigest = new Map<string, number>();
  #problem: Problem | undefined;
  /** The number of the last row that could be read. */
  #above = "";
  /** The same, its digits forgotten: what a number of this file looks like. */
  #shape = "";
  /** The cell before, be it of the row before, where that could not be read. */
  #torn = "";
  /** The line of a row above without a number, which may be of the next order. */
  #lineAbove: number | undefined;
  /** Whether the row that is looked at holds the number of an order. */
  #isFound = false;

  constructor(grouping: Grouping, orders: OrderSurvey, numberColumn: string) {
    this.#grouping = grouping;
    this.#orders = orders;
    this.#numberColumn = numberColumn;
  }

  /** Why no order is certain: a text was cut off, or is too long, to be looked through, or too many are in doubt. */
  get problem(): Problem | undefined {
    return this.#problem;
  }

  /** Looks at the next row. */
  add(item: CsvRowItem): void {
    if (item.kind === "row") this.#addRow(item.row);
    else this.#addUnread(item);
  }

  #addUnread(item: UnreadItem): void {
    if (this.lineByDigest.size > MOST_ORDERS) this.#problem ??= item.problem;
    if (this.#problem) return;
    const { header, quote } = this.#grouping;
    const cells = item.cells ?? cellsOf(item.raw, header.delimiter, quote).flat();
    if (cells.length > MOST_CELLS) {
      this.#problem = item.problem;
    } else if (item.raw.length <= LONGEST_ROW) {
      this.#lookClosely(item, cells);
    } else {
      this.#torn = "";
      for (const cell of cells) if (/\d/.test(cell)) this.#look(cell, item.line);
    }
  }

  #addRow({ values, line }: CsvRow): void {
    this.#torn = "";
    const identity = this.#grouping.identify?.(values);
    const number = identity?.orderNumber ?? "";
    if (number !== "") {
      if (this.#lineAbove !== undefined) this.#note(number, this.#lineAbove);
      this.#lineAbove = undefined;
      this.#above = number;
      this.#shape = shapeOf(number);
    } else if (identity && lacksNumber(identity)) {
      // Shifted, the number stands beside its column.
      const { columns } = this.#grouping;
      const at = columns.indexOf(this.#numberColumn);
      for (const name of [columns[at - 1], columns[at + 1]]) this.#look(values.get(name ?? "") ?? "", line);
    }
  }

  #lookClosely(item: UnreadItem, cells: readonly string[]): void {
    const { width } = this.#grouping.header;
    const { line } = item;
    this.#isFound = false;
    const isOneRow = (item.endLine === line || item.cells !== undefined) && cells.length < 2 * width - 1;
    const own = numberOfUnread(item, this.#grouping);
    const isKnown = own !== "" && this.#orders.has(own);
    const isTrusted = isOneRow && own !== "" && (isKnown || this.#looksLikeNumber(own));
    for (const [i, cell] of cells.entries()) {
      const isNear = isOneRow && this.#isNearNumber(i, cells.length);
      const joined = this.#torn + cell;
      if (i === 0 || isNear || joined.length >= FEWEST_CHARACTERS) this.#look(joined, line);
      if (isNear || !isTrusted) this.#look(cell, line);
      const isJoint = isOneRow ? isNear && this.#isJoint(i, cells.length) : i % (width - 1) === 0;
      if (isJoint || !isTrusted) this.#lookWithin(cell, line, isJoint ? 1 : FEWEST_CHARACTERS);
      this.#torn = cell;
    }
    if (!isOneRow || isTrusted || this.#isFound || cells.length < Math.max(FEWEST_CELLS, width - 1)) return;
    // What stands where the number should is none, and it is nowhere else: the row may be of the order above, or below.
    if (this.#isShifted(cells) || (own !== "" && !/\d/.test(own))) {
      this.#note(this.#above, line);
      this.#lineAbove = line;
    }
  }

  /** Whether no value is in its place; one that is too many or too few leaves those before it alone. */
  #isShifted(cells: readonly string[]): boolean {
    const { columns, header, identify } = this.#grouping;
    const values = new Map(columns.map((name, i) => [name, cells[i] ?? ""]));
    return cells.length === header.width && identify?.(values).hasOperation === false;
  }

  /** Whether the number may stand in a cell of a row that has some more or some less of them than it should. */
  #isNearNumber(at: number, cellCount: number): boolean {
    const { columns, header } = this.#grouping;
    const position = columns.indexOf(this.#numberColumn);
    const shift = cellCount - header.width;
    return at >= position + Math.min(0, shift) && at <= position + Math.max(0, shift);
  }

  /**
   * Whether the number may have run together with the value beside it: in a row with too few values, or where one was broken
   * off and the next begins behind it.
   */
  #isJoint(at: number, cellCount: number): boolean {
    const shift = cellCount - this.#grouping.header.width;
    const isLast = at === this.#grouping.columns.indexOf(this.#numberColumn) + shift;
    return shift < 0 || (shift > 0 && isLast);
  }

  #looksLikeNumber(text: string): boolean {
    return shapeOf(text) === this.#shape;
  }

  #look(text: string, line: number): void {
    if (text === "" || text.length > MOST_CHARACTERS) return;
    const number = this.#grouping.identify?.(new Map([[this.#numberColumn, text]])).orderNumber ?? "";
    this.#note(number, line);
  }

  #note(number: string, line: number): void {
    if (!this.#orders.has(number)) return;
    this.#isFound = true;
    this.lineByDigest.set(orderDigest(number), line);
  }

  /** Two values may have run together in it. */
  #lookWithin(cell: string, line: number, fewest: number): void {
    if (cell.length > MOST_CHARACTERS || this.#looksLikeNumber(cell)) return;
    for (let at = fewest; at < cell.length; at++) {
      this.#note(cell.slice(0, at), line);
      this.#note(cell.slice(-at), line);
    }
  }
}

function shapeOf(number: string): string {
  return number.replace(/\d+/g, "0");
}
