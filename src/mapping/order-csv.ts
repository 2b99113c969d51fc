import type { Problem } from "../core/failures.ts";
import type { CsvRow } from "../core/intake.ts";
import type { Draft } from "./draft.ts";
import type { CsvProfile } from "./profile.ts";
import { type Found, type Misfit, type Reading, readValue, type ValueRule } from "./value.ts";

/** Reads the one order that a group of rows makes up; every row is a container. */
export function readRows(rows: readonly CsvRow[], { rules }: CsvProfile): Draft {
  const problems: Problem[] = [];
  const read = (rule: ValueRule<string>, readOne = readRow): Reading => {
    const readings = rows.map((row) => readOne(rule, row));
    const first = readings[0] ?? { status: "absent", place: "file" };
    const odd = readings.findIndex((reading) => !isSame(first, reading));
    const [firstRow, oddRow] = [rows[0], rows[odd]];
    if (firstRow && oddRow && first.status !== "bad" && readings[odd]?.status !== "bad") {
      problems.push({
        code: "MAPPING_VALUES_DISAGREE",
        place: `lines ${firstRow.line} and ${oddRow.line}, column ${rule.places}`,
        message: "the rows of one order must have the same value",
      });
    }
    return readings.find(({ status }) => status === "bad") ?? first;
  };
  const draft = {
    operation: read(rules.operation),
    facility: read(rules.facility),
    placerOrderNumber: read(rules.placerOrderNumber, readCode),
    subject: {
      code: read(rules.subject.code, readCode),
      firstName: read(rules.subject.firstName),
      lastName: read(rules.subject.lastName),
      dateOfBirth: read(rules.subject.dateOfBirth),
    },
  };
  const containers = rows.map((row) => ({
    label: readCode(rules.label, row),
    description: readRow(rules.description, row),
  }));
  // A registration has no containers. One that names some is told so, hence only those rows are listed.
  const isRegistration = draft.operation.status === "found" && draft.operation.value === "REGISTER";
  return {
    ...draft,
    containers: isRegistration ? containers.filter(({ label }) => label.status === "found") : containers,
    containerPlace: `column ${rules.label.places}`,
    problems,
  };
}

/** The needed columns that the file does not have. Where one is missing, that is all there is to tell about its rows. */
export function missingColumns(rows: readonly CsvRow[], { reading }: CsvProfile): Problem[] {
  const first = rows[0];
  if (first === undefined) return [];
  return reading.requiredColumns.flatMap((alternatives): Problem[] => {
    if (alternatives.some((name) => first.values.has(name))) return [];
    const message = `the file has no column ${alternatives.join(" or ")}`;
    return [{ code: "CSV_COLUMN_MISSING", place: `line ${first.line}`, message }];
  });
}

/** One value of one row, with its place. */
export function readRow(rule: ValueRule<string>, row: CsvRow, find = findColumn): Reading {
  const reading = readValue(rule, find, row);
  if (reading.status !== "absent" || reading.place.startsWith("line ")) return reading;
  return { status: "absent", place: `line ${row.line}, column ${rule.places}` };
}

/** A code of one row that things are found by: an order number, a subject code, a label. */
export function readCode(rule: ValueRule<string>, row: CsvRow): Reading {
  return readRow(rule, row, findCode);
}

/** A spreadsheet writes a long number so, and has dropped its last digits: two codes may have become one. */
const SHORTENED = /^\s*-?\d(?:[.,]\d+)?E\+\d+\s*$/i;

function findCode(column: string, isOnly: boolean, row: CsvRow): Found | Misfit | undefined {
  const found = findColumn(column, isOnly, row);
  if (found === undefined || "code" in found || !SHORTENED.test(found.value)) return found;
  return {
    place: found.place,
    code: "MAPPING_VALUE_INVALID",
    trouble:
      "is a number that a spreadsheet has shortened, like 1.23E+05, expected the whole code; give the column the format Text, enter the codes anew and save the file again",
  };
}

function findColumn(column: string, _isOnly: boolean, { line, values }: CsvRow): Found | Misfit | undefined {
  const value = values.get(column);
  return value === undefined ? undefined : { value, place: `line ${line}, column ${column}` };
}

function isSame(one: Reading, other: Reading): boolean {
  const [a, b] = [one, other].map((reading) => (reading.status === "found" ? reading.value : reading.status));
  return a === b;
}
