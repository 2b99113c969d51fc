import type { Problem } from "../../core/failures.ts";
import type { IncomingMessage, RowIdentity } from "../../core/intake.ts";
import { namingAllRows } from "../../core/order-rows.ts";
import { phi } from "../../core/phi.ts";
import type { CsvReading } from "../../formats/csv/dialect.ts";
import type { CsvRecord } from "../../formats/csv/read.ts";
import { orderDigest, type ScatteredOrders } from "./scattered-orders.ts";

/** More rows or bytes are no order that a person made. */
const MOST_ROWS = 5_000;
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_LINES_NAMED = 10;

/** A row and what distinguishes its order from others; the key is empty when the row is an order of its own. */
interface KeyedRow {
  readonly row: CsvRecord;
  readonly key: string;
  readonly identity: RowIdentity;
  /** A row without a number of its own, below the rows of an order that it may be part of. */
  readonly isContinuation: boolean;
}

/**
 * Gives each row the key of its order. A row that lacks its number, as where the cells of a spreadsheet were merged, may be
 * part of the order above and counts to it, which is refused then: none is to go out without one of its rows.
 */
export class RowKeys {
  readonly #identify: CsvReading["identify"];
  #above: RowIdentity | undefined;

  constructor(identify: CsvReading["identify"]) {
    this.#identify = identify;
  }

  /** The key of the next row. */
  add(row: CsvRecord): KeyedRow {
    const identity = this.#identify(row.values);
    const key = identity.orderNumber;
    if (key === "" && this.#above && mayContinue(this.#above, identity, row)) {
      return { row, key: this.#above.orderNumber, identity, isContinuation: true };
    }
    if (key !== "") this.#above = identity;
    return { row, key, identity, isContinuation: false };
  }
}

/**
 * Whether a row without a number may belong to the order above: not where it needs none, or names another subject; but in
 * any case where the number stands in another of its columns.
 */
function mayContinue(above: RowIdentity, row: RowIdentity, { values }: CsvRecord): boolean {
  if (!row.needsNumber || row.isControl || above.isControl) return false;
  const isSameSubject =
    row.subjectCode === "" || above.subjectCode === "" || row.subjectCode === above.subjectCode;
  return isSameSubject || [...values.values()].includes(above.orderNumber);
}

/** Rows of one number that become a message, while they are collected. */
interface Rows {
  readonly rows: CsvRecord[];
  rowCount: number;
  bytes: number;
}

/** The rows of one order number: those of the order, and those that want something of it or of an earlier one. */
interface OrderRows {
  readonly key: string;
  readonly order: Rows;
  readonly control: Rows;
  /** Lines of rows without a number that may be part of the order. */
  readonly continuations: number[];
  /** The first line of the order that stands below a row which wants something of it. */
  below: number | undefined;
}

/**
 * Puts rows together to orders as they stream by. Orders whose rows stand together come out one after the other; a
 * scattered one comes out with its last row. What rows want of an order is a message of its own behind it, so that it is
 * answered whatever becomes of the order. Ordinals are the same each time the file is read.
 */
export class OrderAssembler {
  readonly #header: string;
  readonly #scattered: ScatteredOrders;
  /** Scattered orders so far, by the digest of their key: one, unless two numbers meet in a digest. */
  readonly #gathered = new Map<number, OrderRows[]>();
  #current: OrderRows | undefined;
  #row = 0;
  #ordinal = 0;

  /** @param header as it stands in the file, line end included */
  constructor(header: string, scattered: ScatteredOrders) {
    this.#header = header;
    this.#scattered = scattered;
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
    const done = this.end();
    if (lastRow !== undefined) return [...done, ...this.#gather(row, digest, lastRow)];
    this.#current = begin(row);
    return done;
  }

  /** The order that only the end of the file completes. */
  end(): IncomingMessage[] {
    const order = this.#current;
    this.#current = undefined;
    return order ? this.#toMessages(order) : [];
  }

  #gather(row: KeyedRow, digest: number, lastRow: number): IncomingMessage[] {
    const orders = this.#gathered.get(digest) ?? [];
    this.#gathered.set(digest, orders);
    const order = orders.find(({ key }) => key === row.key);
    if (order) append(order, row);
    else orders.push(begin(row));
    if (this.#row < lastRow) return [];
    this.#gathered.delete(digest);
    return orders.flatMap((each) => this.#toMessages(each));
  }

  #toMessages(order: OrderRows): IncomingMessage[] {
    const message = (part: Rows, problems: readonly Problem[]) =>
      part.rowCount === 0 ? [] : [this.#toMessage(order.key, part, problems)];
    return [...message(order.order, problemsOf(order)), ...message(order.control, [])];
  }

  #toMessage(key: string, part: Rows, found: readonly Problem[]): IncomingMessage {
    this.#ordinal += 1;
    const place = placeOf(
      part.rows.map(({ line }) => line),
      part.rowCount,
    );
    const text = this.#header + part.rows.map(({ raw }) => withLineEnd(raw)).join("");
    const message = { ordinal: this.#ordinal, place, raw: phi(Buffer.from(text)) };
    const isTooLarge = part.rowCount > part.rows.length;
    const problems = isTooLarge ? [tooLarge(part, place)] : namingAllRows(found, part.rows);
    const rows = part.rows.map(({ line, values }) => ({ line, values }));
    if (problems.length > 0) {
      const number = key === "" ? {} : { placerOrderNumber: key };
      // Of an order that is too large not all rows were kept.
      const known = isTooLarge ? {} : { rows: phi(rows) };
      return { ...message, content: { kind: "unreadable", problems, ...number, ...known } };
    }
    return { ...message, content: { kind: "csv", rows: phi(rows) } };
  }
}

function tooLarge({ rowCount, bytes }: Rows, place: string): Problem {
  const message = `expected at most ${MOST_ROWS} rows and ${MOST_BYTES} bytes in one order, found ${rowCount} rows and ${bytes} bytes`;
  return { code: "CSV_ORDER_TOO_LARGE", place, message };
}

function problemsOf({ control, continuations, below }: OrderRows): Problem[] {
  const problems = continuations.map(
    (line): Problem => ({
      code: "CSV_ORDER_INCOMPLETE",
      place: `line ${line}`,
      message:
        "has no order number and stands below an order that it may be part of, so none of that was taken; write the number into each row",
    }),
  );
  if (below === undefined) return problems;
  // Nobody can say whether the order is meant that stands above the request or the one below it.
  const message = `asks for the order that line ${control.rows[0]?.line} wants something of; expected it above that line, or in a later file`;
  const hint = "Have the lab write a row that asks something of an order below the rows of that order.";
  return [...problems, { code: "MAPPING_VALUES_DISAGREE", place: `line ${below}`, message, hint }];
}

function begin(row: KeyedRow): OrderRows {
  const none = (): Rows => ({ rows: [], rowCount: 0, bytes: 0 });
  const order = { key: row.key, order: none(), control: none(), continuations: [], below: undefined };
  append(order, row);
  return order;
}

/** Past the limits rows are only counted: the order will be refused, and the file itself is kept whole. */
function append(order: OrderRows, { row, identity, isContinuation }: KeyedRow): void {
  const part = identity.isControl ? order.control : order.order;
  if (part === order.order && order.control.rowCount > 0) order.below ??= row.line;
  part.rowCount += 1;
  if (isContinuation && order.continuations.length < MOST_LINES_NAMED) order.continuations.push(row.line);
  part.bytes += Buffer.byteLength(row.raw);
  const isFirst = part.rows.length === 0;
  const fits = part.rows.length + 1 === part.rowCount && part.rowCount <= MOST_ROWS;
  if (isFirst || (fits && part.bytes <= MOST_BYTES)) part.rows.push(row);
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
  // Quoted line ends make rows longer than a line: only clearly scattered rows are named one by one.
  const isTogether = lines.every((line, i) => i === 0 || line - (lines[i - 1] ?? 0) <= 1);
  if (isTogether) return `lines ${first}-${last}`;
  const named = lines.slice(0, MOST_LINES_NAMED).join(", ");
  return lines.length > MOST_LINES_NAMED ? `lines ${named}, …` : `lines ${named}`;
}
