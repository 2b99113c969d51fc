import type { Problem } from "../../core/failures.ts";
import type { CsvRow, IncomingMessage } from "../../core/intake.ts";
import { phi } from "../../core/phi.ts";
import type { CsvRowItem, KeyedRow } from "./order-key.ts";
import { orderDigest, type ScatteredOrders } from "./order-survey.ts";

/** More rows or bytes are no order that a person made. */
const MOST_ROWS = 5_000;
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_LINES_NAMED = 10;

/** The rows of one order while they are collected. */
interface OrderRows {
  readonly key: string;
  readonly items: CsvRowItem[];
  rowCount: number;
  bytes: number;
}

/**
 * Puts rows together to orders as they stream by. Orders whose rows stand together come out one after the other; a
 * scattered one comes out with its last row. Numbers are the same each time the file is read.
 */
export class OrderAssembler {
  readonly #header: string;
  readonly #scattered: ScatteredOrders;
  readonly #held = new Map<string, Map<string, OrderRows>>();
  #current: OrderRows | undefined;
  #row = 0;
  #ordinal = 0;

  constructor(header: string, scattered: ScatteredOrders) {
    this.#header = header;
    this.#scattered = scattered;
  }

  /** Takes the next row; gives the orders that are complete by it. */
  add({ item, key }: KeyedRow): IncomingMessage[] {
    this.#row += 1;
    if (key !== "" && this.#current?.key === key) {
      append(this.#current, item);
      return [];
    }
    const digest = orderDigest(key);
    const lastRow = key === "" ? undefined : this.#scattered.lastRowByDigest.get(digest);
    if (lastRow !== undefined) return [...this.#endCurrent(), ...this.#hold(item, key, digest, lastRow)];
    const done = this.#endCurrent();
    this.#current = begin(key, item);
    return done;
  }

  /** The orders that only the end of the file completes. */
  end(): IncomingMessage[] {
    return this.#endCurrent();
  }

  #hold(item: CsvRowItem, key: string, digest: string, lastRow: number): IncomingMessage[] {
    const ordersByKey = this.#held.get(digest) ?? new Map<string, OrderRows>();
    this.#held.set(digest, ordersByKey);
    const rows = ordersByKey.get(key);
    if (rows) append(rows, item);
    else ordersByKey.set(key, begin(key, item));
    if (this.#row < lastRow) return [];
    this.#held.delete(digest);
    return [...ordersByKey.values()].map((order) => this.#toMessage(order));
  }

  #endCurrent(): IncomingMessage[] {
    const rows = this.#current;
    this.#current = undefined;
    return rows ? [this.#toMessage(rows)] : [];
  }

  #toMessage(order: OrderRows): IncomingMessage {
    this.#ordinal += 1;
    const place = placeOf(order.items.map(lineOf), order.rowCount);
    const text = this.#header + order.items.map((item) => withLineEnd(rawOf(item))).join("");
    const message = { ordinal: this.#ordinal, place, raw: phi(Buffer.from(text)) };
    const problems = problemsOf(order, place);
    if (problems.length > 0) return { ...message, content: { kind: "unreadable", problems } };
    const rows: CsvRow[] = order.items.flatMap((item) =>
      item.kind === "row" ? [{ line: item.row.line, values: item.row.values }] : [],
    );
    return { ...message, content: { kind: "csv", rows: phi(rows) } };
  }
}

function problemsOf(order: OrderRows, place: string): Problem[] {
  if (order.rowCount > order.items.length) {
    const message = `expected at most ${MOST_ROWS} rows and ${MOST_BYTES} bytes in one order, found ${order.rowCount} rows and ${order.bytes} bytes`;
    return [{ code: "CSV_ORDER_TOO_LARGE", place, message }];
  }
  const problems = order.items.flatMap((item) => (item.kind === "bad-row" ? [item.problem] : []));
  if (problems.length === 0 || problems.length === order.items.length) return problems;
  const message = `the order has ${order.items.length} rows, of which ${problems.length} could not be read; none was taken`;
  return [...problems, { code: "CSV_ORDER_INCOMPLETE", place, message }];
}

function begin(key: string, item: CsvRowItem): OrderRows {
  const rows = { key, items: [], rowCount: 0, bytes: 0 };
  append(rows, item);
  return rows;
}

/** Past the limits rows are only counted: the order will be refused, and the file itself is kept whole. */
function append(order: OrderRows, item: CsvRowItem): void {
  order.rowCount += 1;
  order.bytes += Buffer.byteLength(rawOf(item));
  const isFirst = order.items.length === 0;
  const fits = order.items.length + 1 === order.rowCount && order.rowCount <= MOST_ROWS;
  if (isFirst || (fits && order.bytes <= MOST_BYTES)) order.items.push(item);
}

function rawOf(item: CsvRowItem): string {
  return item.kind === "row" ? item.row.raw : item.raw;
}

function lineOf(item: CsvRowItem): number {
  return item.kind === "row" ? item.row.line : item.line;
}

/** The last row of a file may lack its line end, and in a scattered order it need not be the last. */
function withLineEnd(raw: string): string {
  return /[\r\n]$/.test(raw) ? raw : `${raw}\n`;
}

/** `line 12`, `lines 12-14`, or `lines 3, 9, 27` when they don't stand together. */
function placeOf(lines: readonly number[], rowCount: number): string {
  const first = lines[0] ?? 0;
  const last = lines.at(-1) ?? first;
  if (rowCount === 1) return `line ${first}`;
  // Quoted line ends make rows longer than a line: only clearly scattered rows are told one by one.
  const isTogether = lines.every((line, i) => i === 0 || line - (lines[i - 1] ?? 0) <= 1);
  if (isTogether) return `lines ${first}-${last}`;
  const named = lines.slice(0, MOST_LINES_NAMED).join(", ");
  return lines.length > MOST_LINES_NAMED ? `lines ${named}, …` : `lines ${named}`;
}
