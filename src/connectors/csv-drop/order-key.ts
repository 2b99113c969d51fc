import type { RowIdentity } from "../../core/intake.ts";
import type { CsvItem } from "../../formats/csv/read.ts";
import { type CsvHeader, type CsvReading, lacksNumber } from "./reading.ts";

export type CsvRowItem = Exclude<CsvItem, { kind: "header" }>;
export type UnreadItem = Extract<CsvRowItem, { kind: "bad-row" }>;

/** A row and what tells its order from other orders; the key is empty when the row is an order of its own. */
export interface KeyedRow {
  readonly item: CsvRowItem;
  readonly key: string;
  /** A row without a number of its own, below the rows of an order that it may be part of. */
  readonly isContinuation: boolean;
}

/** How rows are put together to orders. */
export interface Grouping {
  readonly header: Pick<CsvHeader, "delimiter" | "width">;
  readonly columns: readonly string[];
  readonly quote: string;
  readonly identify: CsvReading["identify"];
}

/** So many unreadable rows in a row are no part of anybody's order. */
const MOST_UNREAD = 100;

/** The order that the row before belongs to. */
interface Above {
  readonly key: string;
  /** Absent where that row could not be read. */
  readonly row?: RowIdentity | undefined;
}

/**
 * Gives each row the key of its order. A row that could not be read is still looked through for its order number: an
 * order must not go out while a row that names it is missing. One without a find counts to the order above it, and so does
 * a row that lacks its number, as where the cells of a spreadsheet were merged: either may be part of it.
 */
export class RowKeys {
  readonly #grouping: Grouping;
  #above: Above | undefined;
  #unread = 0;

  constructor(grouping: Grouping) {
    this.#grouping = grouping;
  }

  /** The key of the next row. */
  add(item: CsvRowItem): KeyedRow {
    const { identify } = this.#grouping;
    if (identify === undefined) return { item, key: "", isContinuation: false };
    return item.kind === "row" ? this.#addRow(item, identify(item.row.values)) : this.#addUnread(item);
  }

  #addRow(item: CsvRowItem, row: RowIdentity): KeyedRow {
    this.#unread = 0;
    const key = row.orderNumber;
    if (key !== "") {
      this.#above = { key, row };
    } else if (this.#above && mayContinue(this.#above, row)) {
      return { item, key: this.#above.key, isContinuation: true };
    } else {
      this.#above = undefined;
    }
    return { item, key, isContinuation: false };
  }

  #addUnread(item: UnreadItem): KeyedRow {
    if (isRemark(item)) return { item, key: "", isContinuation: false };
    const key = numberOfUnread(item, this.#grouping);
    this.#unread = key === "" ? this.#unread + 1 : 0;
    if (key !== "") this.#above = { key };
    else if (this.#unread > MOST_UNREAD) this.#above = undefined;
    return { item, key: this.#above?.key ?? "", isContinuation: false };
  }
}

/** Whether a row without a number may belong to the order above: not where it names another subject, or lacks none. */
function mayContinue(above: Above, row: RowIdentity): boolean {
  if (!lacksNumber(row) || above.row?.isWish === true) return false;
  const subject = above.row?.subjectCode ?? "";
  return row.subjectCode === "" || subject === "" || row.subjectCode === subject;
}

/** The order number of a row that could not be read, where it should stand; empty when there is none. */
export function numberOfUnread(item: UnreadItem, { columns, header, quote, identify }: Grouping): string {
  const found = item.cells ?? cellsOf(item.raw, header.delimiter, quote)[0] ?? [];
  // What ends with the text may be the beginning of another value.
  const whole = !/[\r\n]$/.test(item.raw) ? found.slice(0, -1) : found;
  const values = new Map(whole.flatMap((cell, i) => (i < columns.length ? [[columns[i] ?? "", cell]] : [])));
  return identify?.(values).orderNumber ?? "";
}

/** Words in a single cell, such as `(12 rows affected)`: what people and programs write below a list is part of no order. */
export function isRemark({ cells }: UnreadItem): boolean {
  return cells?.length === 1 && /\S\s+\S/.test(cells[0] ?? "");
}

/** The cells of each line of a text that could not be read, cut at the delimiters whatever the quotes say. */
export function cellsOf(raw: string, delimiter: string, quote: string): string[][] {
  return raw
    .split(/[\r\n]+/)
    .filter((line) => line !== "")
    .map((line) =>
      line.split(delimiter).map((cell) => (quote === "" ? cell : cell.replaceAll(quote, "")).trim()),
    );
}
