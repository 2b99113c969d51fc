import type { CsvRow, RowIdentity } from "../../core/intake.ts";
import { readCode, readRow } from "../inbound/csv-codes.ts";
import { isOperation, isWishOperation, type OrderRules } from "./profile.ts";

/**
 * Says which order a row belongs to, by the same rules by which the order is read: rows that are put together by anything
 * else could become two orders with one number, each with a part of the containers. Each answer is found when it is asked
 * for, since there may be a million rows.
 *
 * @param values by column name; a column that isn't there has no value
 */
export function identifyRow(values: ReadonlyMap<string, string>, rules: OrderRules<string>): RowIdentity {
  const row: CsvRow = { line: 0, values };
  const operation = () => {
    const reading = readRow(rules.operation, row);
    return reading.status === "found" ? reading.value : "";
  };
  return {
    get orderNumber() {
      const number = readCode(rules.placerOrderNumber, row);
      if (number.status === "bad") return withoutUnseen(asItStands(rules, values).replace(MARKS, ""));
      return number.status === "found" && isOfRow(number.place) ? withoutUnseen(number.value) : "";
    },
    get needsNumber() {
      if (operation() === "REGISTER") return false;
      const number = readCode(rules.placerOrderNumber, row);
      return number.status !== "found" || isOfRow(number.place);
    },
    get subjectCode() {
      const subject = readCode(rules.subject.code, row);
      return subject.status === "found" ? subject.value : "";
    },
    get isWish() {
      return isWishOperation(operation());
    },
    get hasOperation() {
      const word = operation();
      return isOperation(word) || isWishOperation(word);
    },
  };
}

/** A number that the profile itself brings doesn't say which rows belong together. */
function isOfRow(place: string): boolean {
  return place.startsWith("line ");
}

/** What a spreadsheet or an export puts around a number; the row is refused, and with it the order that it belongs to. */
const MARKS = /^[='"`´‘’‚‛“”„‟«»‹›\s]+|[.,]0+$|['"`´‘’‚‛“”„‟«»‹›\s]+$/gu;

/** So that a row whose number looks like that of others is taken for one of theirs, and refuses them. */
function withoutUnseen(number: string): string {
  return /^[!-~]*$/.test(number)
    ? number
    : number
        .replace(/[\p{Cf}\p{Cc}]/gu, "")
        .replace(/\p{Z}+/gu, " ")
        .trim();
}

function asItStands(rules: OrderRules<string>, values: ReadonlyMap<string, string>): string {
  for (const source of rules.placerOrderNumber.sources) {
    const value = source.kind === "place" ? (values.get(source.path)?.trim() ?? "") : "";
    if (value !== "") return value;
  }
  return "";
}
