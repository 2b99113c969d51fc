import type { FailureCode, Problem } from "../core/failures.ts";
import type { CsvRow } from "../core/intake.ts";
import { phi } from "../core/phi.ts";
import type { Wish } from "../core/wish.ts";
import { readRow } from "./order-csv.ts";
import { CANCEL_OPERATION, type CsvProfile } from "./profile.ts";
import { findUnfit } from "./unfit.ts";
import type { Reading } from "./value.ts";
import type { ReadWishes } from "./wish-hl7.ts";

/** The rows of one order number, apart by what they ask for. */
export interface SplitRows {
  readonly orders: readonly CsvRow[];
  readonly cancels: readonly CsvRow[];
}

/** Takes apart the rows that make up an order and those that cancel one (operation CANCEL). */
export function splitRows(rows: readonly CsvRow[], { rules }: CsvProfile): SplitRows {
  const isCancel = (row: CsvRow) => {
    const operation = readRow(rules.operation, row);
    return operation.status === "found" && operation.value === CANCEL_OPERATION;
  };
  const { orders = [], cancels = [] } = Object.groupBy(rows, (row) => (isCancel(row) ? "cancels" : "orders"));
  return { orders, cancels };
}

/**
 * Reads the wish of rows with the operation CANCEL. Of their other cells only the order number is needed; a subject
 * code is compared with the order's, and nothing else is read. In one file a wish stands below the order that it
 * cancels: the other way round nobody can say what is meant.
 */
export function readCancelRows({ orders, cancels }: SplitRows, { rules }: CsvProfile): ReadWishes {
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
  const wishByNumber = new Map<string, Wish>();
  for (const row of cancels) {
    const number = value(readRow(rules.placerOrderNumber, row), "the number of the order to cancel");
    const subject = value(readRow(rules.subject.code, row), undefined);
    if (number === undefined) continue;
    const before = wishByNumber.get(number)?.subjectCode?.reveal();
    if (before !== undefined && subject !== undefined && before !== subject) {
      const message = "the rows that cancel one order must have the same subject code";
      problems.push({ code: "MAPPING_VALUES_DISAGREE", place: `line ${row.line}`, message });
    }
    const subjectCode = subject ?? before;
    wishByNumber.set(number, {
      control: "cancel",
      placerOrderNumber: number,
      ...(subjectCode === undefined ? {} : { subjectCode: phi(subjectCode) }),
    });
  }
  const firstCancel = Math.min(...cancels.map(({ line }) => line));
  const later = orders.find(({ line }) => line > firstCancel);
  if (later) {
    const message = `asks for the order that line ${firstCancel} cancels; expected it above that line, or in a later file`;
    problems.push({ code: "MAPPING_VALUES_DISAGREE", place: `line ${later.line}`, message });
  }
  return { wishes: [...wishByNumber.values()], problems };
}
