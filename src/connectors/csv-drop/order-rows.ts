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
  /** Lines of rows without a number that may be part of it. */
  readonly continuations: number[];
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
  readonly #doubtful: ReadonlyMap<string, number>;
  readonly #held = new Map<string, Map<string, OrderRows>>();
  #current: OrderRows | undefined;
  #row = 0;
  #ordinal = 0;

  /**
   * @param doubtful by the key's digest, the line of an unreadable row that may hold a row of the order
   */
  constructor(header: string, scattered: ScatteredOrders, doubtful: ReadonlyMap<string, number> = new Map()) {
    this.#header = header;
    this.#scattered = scattered;
    this.#doubtful = doubtful;
  }

  /** Takes the next row; gives the orders that are complete by it. */
  add(row: KeyedRow): IncomingMessage[] {
    const { key } = row;
    this.#row += 1;
    if (key !== "" && this.#current?.key === key) {
      append(this.#current, row);
      return [];
    }
    const digest = orderDigest(key);
    const lastRow = key === "" ? undefined : this.#scattered.lastRowByDigest.get(digest);
    if (lastRow !== undefined) return [...this.#endCurrent(), ...this.#hold(row, digest, lastRow)];
    const done = this.#endCurrent();
    this.#current = begin(row);
    return done;
  }

  /** The orders that only the end of the file completes. */
  end(): IncomingMessage[] {
    return this.#endCurrent();
  }

  #hold(row: KeyedRow, digest: string, lastRow: number): IncomingMessage[] {
    const { key } = row;
    const ordersByKey = this.#held.get(digest) ?? new Map<string, OrderRows>();
    this.#held.set(digest, ordersByKey);
    const rows = ordersByKey.get(key);
    if (rows) append(rows, row);
    else ordersByKey.set(key, begin(row));
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
    const doubt = order.key === "" ? undefined : this.#doubtful.get(orderDigest(order.key));
    const problems = problemsOf(order, place, doubt);
    if (problems.length > 0) {
      // What stands in an unreadable row alone may be anything.
      const isNumber = order.key !== "" && order.items.some(({ kind }) => kind === "row");
      const number = isNumber ? { placerOrderNumber: order.key } : {};
      return { ...message, content: { kind: "unreadable", problems, ...number } };
    }
    const rows: CsvRow[] = order.items.flatMap((item) =>
      item.kind === "row" ? [{ line: item.row.line, values: item.row.values }] : [],
    );
    return { ...message, content: { kind: "csv", rows: phi(rows) } };
  }
}

function problemsOf(order: OrderRows, place: string, doubt: number | undefined): Problem[] {
  if (order.rowCount > order.items.length) {
    const message = `expected at most ${MOST_ROWS} rows and ${MOST_BYTES} bytes in one order, found ${order.rowCount} rows and ${order.bytes} bytes`;
    return [{ code: "CSV_ORDER_TOO_LARGE", place, message }];
  }
  const unread = order.items.flatMap((item) => (item.kind === "bad-row" ? [item.problem] : []));
  if (unread.length === order.items.length) return unread;
  const problems = [...unread, ...order.continuations.map(continuationProblem)];
  if (unread.length > 0) {
    const message = `the order has ${order.items.length} rows, of which ${unread.length} could not be read; none was taken`;
    problems.push({ code: "CSV_ORDER_INCOMPLETE", place, message });
  } else if (doubt !== undefined) {
    const message = `line ${doubt} and what belongs to it could not be read, and may hold a row of this order; none was taken`;
    problems.push({ code: "CSV_ORDER_INCOMPLETE", place, message });
  }
  return problems;
}

function continuationProblem(line: number): Problem {
  const message =
    "has no order number and stands below an order that it may be part of, so none of that was taken; write the number into each row";
  return { code: "CSV_ORDER_INCOMPLETE", place: `line ${line}`, message };
}

function begin(row: KeyedRow): OrderRows {
  const rows = { key: row.key, items: [], continuations: [], rowCount: 0, bytes: 0 };
  append(rows, row);
  return rows;
}

/** Past the limits rows are only counted: the order will be refused, and the file itself is kept whole. */
function append(order: OrderRows, { item, isContinuation }: KeyedRow): void {
  order.rowCount += 1;
  if (isContinuation && order.continuations.length < MOST_LINES_NAMED) order.continuations.push(lineOf(item));
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
