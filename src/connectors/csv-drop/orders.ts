import type { Problem } from "../../core/failures.ts";
import type { IncomingMessage, RowIdentity } from "../../core/intake.ts";
import { namingAllRows } from "../../core/order-rows.ts";
import { phi } from "../../core/phi.ts";
import { atLine, type Place } from "../../core/place.ts";
import type { CsvReading } from "../../formats/csv/dialect.ts";
import type { CsvRecord } from "../../formats/csv/row.ts";

/** More rows or bytes are no order that a person made. */
const MOST_ROWS = 5_000;
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_LINES_NAMED = 10;

/**
 * Puts the rows of a file together to orders, wherever they stand. What rows want of an order is a message of its own behind it,
 * so that it is answered whatever becomes of the order.
 *
 * A row that lacks its number, as where the cells of a spreadsheet were merged, may be part of the order above and counts to it,
 * which is refused then: none is to go out without one of its rows.
 */
export class OrdersOfFile {
  /** Whether a row asks something of an earlier order. */
  hasControl = false;
  readonly #identify: CsvReading["identify"];
  /** By the order's number, or by the row where that is an order of its own; in the sequence of their last rows. */
  readonly #partsByOrder = new Map<string | CsvRecord, Parts>();
  #above: RowIdentity | undefined;
  /** The order of the row before. */
  #last: string | CsvRecord | undefined;

  constructor({ identify }: Pick<CsvReading, "identify">) {
    this.#identify = identify;
  }

  /** Takes the next row. */
  add(row: CsvRecord): void {
    const identity = this.#identify(row.values);
    this.hasControl ||= identity.isControl;
    if (identity.orderNumber !== "") this.#above = identity;
    const isOfAbove = this.#above !== undefined && mayContinue(this.#above, identity, row);
    const order = identity.orderNumber || (isOfAbove ? this.#above?.orderNumber : undefined) || row;
    const parts = this.#partsByOrder.get(order) ?? { order: [] };
    if (identity.isControl) {
      parts.control ??= [];
      parts.control.push(row);
    } else parts.order.push(row);
    if (isOfAbove) {
      parts.withoutNumber ??= [];
      parts.withoutNumber.push(row);
    }
    if (order === this.#last) return;
    this.#last = order;
    this.#partsByOrder.delete(order);
    this.#partsByOrder.set(order, parts);
  }

  /**
   * The messages, each order behind those whose last row stands above its own. They are the same each time.
   *
   * @param header as it stands in the file, line end included
   */
  *messages(header: string): Generator<IncomingMessage> {
    let ordinal = 0;
    for (const [order, parts] of this.#partsByOrder) {
      const orderNumber = typeof order === "string" ? order : "";
      if (parts.order.length > 0)
        yield toMessage({ header, ordinal: ++ordinal, orderNumber }, parts.order, problemsOf(parts));
      if (parts.control) yield toMessage({ header, ordinal: ++ordinal, orderNumber }, parts.control, []);
    }
  }
}

/** The rows of one order number. A file has hundreds of thousands: what few have is not kept for each. */
interface Parts {
  readonly order: CsvRecord[];
  /** Those that want something of the order or of an earlier one. */
  control?: CsvRecord[];
  /** Those of the order that may be part of it, and lack its number. */
  withoutNumber?: CsvRecord[];
}

function problemsOf({ order, control: [wanting] = [], withoutNumber = [] }: Parts): Problem[] {
  const problems = withoutNumber.slice(0, MOST_LINES_NAMED).map(
    ({ line }): Problem => ({
      code: "CSV_ORDER_INCOMPLETE",
      place: atLine(line),
      message:
        "has no order number and stands below an order that it may be part of, so none of that was taken; write the number into each row",
    }),
  );
  const below = wanting && order.find(({ line }) => line > wanting.line);
  if (below === undefined) return problems;
  // Nobody can say whether the order is meant that stands above the request or the one below it.
  const message = `asks for the order that line ${wanting?.line} wants something of; expected it above that line, or in a later file`;
  const hint = "Have the lab write a row that asks something of an order below the rows of that order.";
  return [...problems, { code: "MAPPING_VALUES_DISAGREE", place: atLine(below.line), message, hint }];
}

/**
 * Whether a row may belong to the order above though it has no number: not where it needs none, or names another subject; but in
 * any case where the number stands in another of its columns.
 */
function mayContinue(above: RowIdentity, row: RowIdentity, { values }: CsvRecord): boolean {
  if (row.orderNumber !== "" || !row.needsNumber || row.isControl || above.isControl) return false;
  const isSameSubject =
    row.subjectCode === "" || above.subjectCode === "" || row.subjectCode === above.subjectCode;
  return isSameSubject || [...values.values()].includes(above.orderNumber);
}

function toMessage(
  {
    header,
    ordinal,
    orderNumber,
  }: { readonly header: string; readonly ordinal: number; readonly orderNumber: string },
  rows: readonly CsvRecord[],
  found: readonly Problem[],
): IncomingMessage {
  const kept = fitting(rows);
  const place = placeOf(kept, rows.length);
  const text = header + kept.map(({ raw }) => withLineEnd(raw)).join("");
  const message = { ordinal, place, raw: phi(Buffer.from(text)) };
  const isTooLarge = kept.length < rows.length;
  // Taken apart once: what is mapped is looked at again and again, row by row.
  const plain = phi(kept.map(({ line, values }) => ({ line, values })));
  const problems = isTooLarge ? [tooLarge(rows, place)] : namingAllRows(found, rows);
  if (problems.length === 0) return { ...message, content: { kind: "csv", rows: plain } };
  const number = orderNumber === "" ? {} : { placerOrderNumber: orderNumber };
  // Of an order that is too large not all rows are kept.
  const known = isTooLarge ? {} : { rows: plain };
  return { ...message, content: { kind: "unreadable", problems, ...number, ...known } };
}

/** The rows that are kept of an order: one at least, and no more than the limits. */
function fitting(rows: readonly CsvRecord[]): readonly CsvRecord[] {
  let bytes = 0;
  const most = rows.findIndex((row, i) => {
    bytes += row.byteLength;
    return i > 0 && (i === MOST_ROWS || bytes > MOST_BYTES);
  });
  return most === -1 ? rows : rows.slice(0, most);
}

function tooLarge(rows: readonly CsvRecord[], place: Place): Problem {
  const bytes = rows.reduce((sum, row) => sum + row.byteLength, 0);
  const message = `expected at most ${MOST_ROWS} rows and ${MOST_BYTES} bytes in one order, found ${rows.length} rows and ${bytes} bytes`;
  return { code: "CSV_ORDER_TOO_LARGE", place, message };
}

/** The last row of a file may lack its line end, and in a scattered order it need not be the last. */
function withLineEnd(raw: string): string {
  return /[\r\n]$/.test(raw) ? raw : `${raw}\n`;
}

/** `line 12`, `lines 12-14`, or `lines 3, 9, 27` when they don't stand together. */
function placeOf(rows: readonly CsvRecord[], rowCount: number): Place {
  const lines = rows.map(({ line }) => line);
  const first = lines[0] ?? 0;
  const last = lines.at(-1) ?? first;
  if (rowCount === 1) return atLine(first);
  // Quoted line ends make rows longer than a line: only clearly scattered rows are named one by one.
  const isTogether = lines.every((line, i) => i === 0 || line - (lines[i - 1] ?? 0) <= 1);
  if (isTogether) return { lines: { at: [first, last], by: "to" } };
  const isMore = lines.length > MOST_LINES_NAMED;
  return { lines: { at: lines.slice(0, MOST_LINES_NAMED), by: ",", ...(isMore ? { isMore } : {}) } };
}
