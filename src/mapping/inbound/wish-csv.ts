import type { FailureCode, Problem } from "../../core/failures.ts";
import type { CsvRow } from "../../core/intake.ts";
import type { Control, ControlRequest } from "../../core/order-control.ts";
import { phi } from "../../core/phi.ts";
import { readCode, readRow } from "./csv-codes.ts";
import { type CsvProfile, isWishOperation, type WishOperation } from "../profile/profile.ts";
import { findUnfit } from "./unfit.ts";
import type { Reading } from "../profile/value.ts";
import type { ReadWishes } from "./wish-hl7.ts";

/** What each operation wants of the order. */
const CONTROL_BY_OPERATION = {
  CANCEL: "cancel",
  HOLD: "hold",
  RELEASE: "release",
  STATUS: "status",
} as const satisfies Record<WishOperation, Control>;

/** A row that wants something of an earlier order. */
interface WishRow {
  readonly row: CsvRow;
  readonly control: Control;
}

/** The rows of one order number, apart by what they ask for. */
export interface SplitRows {
  readonly orders: readonly CsvRow[];
  readonly wishes: readonly WishRow[];
}

/** Takes apart the rows that make up an order and those that want something of an earlier one. */
export function splitRows(rows: readonly CsvRow[], { rules }: CsvProfile): SplitRows {
  const orders: CsvRow[] = [];
  const wishes: WishRow[] = [];
  for (const row of rows) {
    const operation = readRow(rules.operation, row);
    if (operation.status === "found" && isWishOperation(operation.value)) {
      wishes.push({ row, control: CONTROL_BY_OPERATION[operation.value] });
    } else {
      orders.push(row);
    }
  }
  return { orders, wishes };
}

/**
 * Reads what rows want of an earlier order, in the order of the rows. Of their other cells only the order number is
 * needed; a subject code is compared with the order's, and nothing else is read. In one file a wish stands below the order
 * that it is about: the other way round nobody can say what is meant.
 */
export function readWishRows({ orders, wishes: rows }: SplitRows, { rules }: CsvProfile): ReadWishes {
  const problems: Problem[] = [];
  const value = (reading: Reading, needed: string | undefined): string | undefined => {
    const complain = (code: FailureCode, message: string): undefined => {
      problems.push({ code, place: reading.place, message });
    };
    if (reading.status === "bad") return complain(reading.code, reading.trouble);
    if (reading.status !== "found") {
      return needed === undefined
        ? undefined
        : complain("MAPPING_VALUE_MISSING", `is empty, expected ${needed}`);
    }
    const unfit = findUnfit(reading.value, "code");
    return unfit ? complain(unfit.code, unfit.trouble) : reading.value;
  };
  const wishes: ControlRequest[] = [];
  const subjectByNumber = new Map<string, string>();
  for (const { row, control } of rows) {
    const number = value(readCode(rules.placerOrderNumber, row), "the number of the order that is meant");
    const subject = value(readCode(rules.subject.code, row), undefined);
    if (number === undefined) continue;
    const before = subjectByNumber.get(number);
    if (before !== undefined && subject !== undefined && before !== subject) {
      const message = "the rows about one order must have the same subject code";
      problems.push({ code: "MAPPING_VALUES_DISAGREE", place: `line ${row.line}`, message });
    }
    if (subject !== undefined) subjectByNumber.set(number, subject);
    const last = wishes.at(-1);
    // Each container of an order may have a row that says the same.
    if (last?.control === control && last.placerOrderNumber === number) continue;
    wishes.push({ control, placerOrderNumber: number });
  }
  const firstLine = Math.min(...rows.map(({ row }) => row.line));
  const later = orders.find(({ line }) => line > firstLine);
  if (later) {
    const message = `asks for the order that line ${firstLine} wants something of; expected it above that line, or in a later file`;
    problems.push({ code: "MAPPING_VALUES_DISAGREE", place: `line ${later.line}`, message });
  }
  const withSubject = (wish: ControlRequest): ControlRequest => {
    const subject = subjectByNumber.get(wish.placerOrderNumber ?? "");
    return subject === undefined ? wish : { ...wish, subjectCode: phi(subject) };
  };
  return { wishes: wishes.map(withSubject), problems };
}
