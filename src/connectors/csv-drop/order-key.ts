import type { CsvItem } from "../../formats/csv/read.ts";

export type CsvRowItem = Exclude<CsvItem, { kind: "header" }>;

/** How rows are put together to orders. */
export interface Grouping {
  readonly columns: readonly string[];
  /** The column whose value the rows of one order share; undefined when each row is an order. */
  readonly groupBy: string | undefined;
  readonly delimiter: string;
  readonly quote: string;
}

/** A row and what tells its order from other orders; the key is empty when the row is an order of its own. */
export interface KeyedRow {
  readonly item: CsvRowItem;
  readonly key: string;
}

/** So many unreadable rows in a row are no part of anybody's order. */
const MOST_UNDECIDED = 100;

/**
 * Gives each row the key of its order. A row that could not be read is still looked through for its order number, cut
 * at the delimiters: an order must not go out while a row that names it is missing. Without a find it counts to the
 * order in whose middle it stands, if any.
 */
export class RowKeys {
  readonly #grouping: Grouping;
  #undecided: CsvRowItem[] = [];
  #lastKey = "";

  constructor(grouping: Grouping) {
    this.#grouping = grouping;
  }

  /** Takes the next row; gives the rows whose key is known by it. */
  add(item: CsvRowItem): KeyedRow[] {
    const key = orderKeyOf(item, this.#grouping);
    if (item.kind === "bad-row" && key === "" && this.#grouping.groupBy !== undefined) {
      this.#undecided.push(item);
      return this.#undecided.length > MOST_UNDECIDED ? this.end() : [];
    }
    const before = this.#decide(key === this.#lastKey ? key : "");
    this.#lastKey = key;
    return [...before, { item, key }];
  }

  /** The rows that nothing follows. */
  end(): KeyedRow[] {
    return this.#decide("");
  }

  #decide(key: string): KeyedRow[] {
    const rows = this.#undecided.map((item) => ({ item, key }));
    this.#undecided = [];
    return rows;
  }
}

function orderKeyOf(item: CsvRowItem, grouping: Grouping): string {
  if (grouping.groupBy === undefined) return "";
  if (item.kind === "row") return (item.row.values.get(grouping.groupBy) ?? "").trim();
  const position = grouping.columns.indexOf(grouping.groupBy);
  const cell = item.raw.split(grouping.delimiter, position + 1)[position]?.trim() ?? "";
  return grouping.quote === "" ? cell : cell.replaceAll(grouping.quote, "").trim();
}
