import type { Problem } from "../../core/failures.ts";
import type { CsvRow } from "../../core/intake.ts";
import { readCode, readDate, readLabel, readName, readRow } from "./csv-codes.ts";
import type { Draft } from "./draft.ts";
import type { CsvProfile } from "../profile/profile.ts";
import type { Reading, ValueRule } from "../profile/value.ts";

/** Reads the one order that a group of rows makes up; every row is a container. */
export function readRows(rows: readonly CsvRow[], { rules }: CsvProfile): Draft {
  const problems: Problem[] = [];
  const read = (rule: ValueRule<string>, readOne: ReadOne = readRow): Reading => {
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
      firstName: read(rules.subject.firstName, readName),
      lastName: read(rules.subject.lastName, readName),
      dateOfBirth: read(rules.subject.dateOfBirth, readDate),
    },
  };
  const containers = rows.map((row) => ({
    label: readLabel(rules.label, row),
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

type ReadOne = (rule: ValueRule<string>, row: CsvRow) => Reading;

function isSame(one: Reading, other: Reading): boolean {
  const [a, b] = [one, other].map((reading) => (reading.status === "found" ? reading.value : reading.status));
  return a === b;
}
