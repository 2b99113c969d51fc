import type { FailureCode, Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import type { CsvRow } from "../../core/intake.ts";
import type { MappedMessage } from "../../core/mapped-message.ts";
import type { Order } from "../../core/order.ts";
import type { Control, ControlRequest } from "../../core/order-control.ts";
import { namingAllRows } from "../../core/order-rows.ts";
import type { OrderAsRead } from "../../core/outcome.ts";
import { phi } from "../../core/phi.ts";
import { atLine, FILE, type Place } from "../../core/place.ts";
import { CONTROL_FORMS, controlOfRow } from "../profile/message-type.ts";
import { viewCsv } from "../profile/module.ts";
import type { CsvProfile, Profile } from "../profile/profile.ts";
import { placesOf, type Reading, type ValueRule } from "../profile/value.ts";
import { nameProfile } from "./code-hint.ts";
import type { ReadControl } from "./control-hl7.ts";
import { readCode, readContainers, readDate, readRow } from "./csv-values.ts";
import { type Draft, judge, LABELS_PER_ORDER, listRequired } from "./draft.ts";
import { finishAll, type MapperSettings, refuse } from "./mapped-message.ts";
import { keptIfFit } from "./unfit.ts";

/** Rows of one order number: those of an order, or those that want something of one. */
export function mapRows(
  rows: readonly CsvRow[],
  profile: CsvProfile,
  settings: MapperSettings,
): MappedMessage {
  const controlRows = listControlRows(rows, profile);
  const isControl = new Set(controlRows.map(({ row }) => row));
  const orderRows = rows.filter((row) => !isControl.has(row));
  const mapped =
    controlRows.length === 0
      ? mapOrderRows(rows, profile, settings)
      : mapControlRows(controlRows, orderRows, profile);
  if (mapped.problems.length === 0) return mapped;
  return { ...mapped, problems: mapped.problems.map((problem) => withCsvHint(problem, profile)) };
}

function mapControlRows(
  rows: readonly ControlRow[],
  orderRows: readonly CsvRow[],
  profile: CsvProfile,
): MappedMessage {
  const { controlRequests, problems } = readControlRows(rows, profile);
  const orderNumbers = controlRequests.flatMap((request) => request.placerOrderNumber ?? []);
  const [placerOrderNumber] = orderNumbers;
  const [first] = rows;
  const [order] = orderRows;
  // They came together while the word of one of them was in no table, and waited.
  if (order !== undefined) {
    const place: Place = { lines: { at: [order.line, first?.row.line ?? 0], by: "and" } };
    const message =
      "one asks for an order and one wants something of it, and they waited together for a word";
    const hint = "Have the lab send both rows again, the order first.";
    const problem: Problem = { code: "MAPPING_VALUES_DISAGREE", place, message, hint };
    return { ...refuse([problem, ...problems]), placerOrderNumber };
  }
  const common = {
    placerOrderNumber,
    asRead: { operation: first && CONTROL_FORMS[first.control].operation, labels: [] },
  };
  if (problems.length > 0) return { ...refuse(problems), ...common };
  return { verdict: "accepted", orders: [], problems: [], ...common, orderNumbers, controlRequests };
}

function mapOrderRows(rows: readonly CsvRow[], profile: CsvProfile, settings: MapperSettings): MappedMessage {
  const first = rows[0];
  if (first === undefined) return refuse([{ code: "MAPPING_NO_ORDER", place: FILE, message: "no rows" }]);
  const missing = missingColumns(rows, profile);
  if (missing.length > 0) return refuse(missing);
  const draft = readRows(rows, profile);
  const finish = { ...settings, messagePlace: {} };
  const last = rows.at(-1)?.line ?? first.line;
  const place: Place =
    rows.length === 1 ? atLine(first.line) : { lines: { at: [first.line, last], by: "to" } };
  const mapped = finishAll([draft], profile, () => viewCsv(rows), finish, place);
  const isRefused = mapped.verdict === "refused";
  const each = isRefused ? listRows(rows, profile, settings) : undefined;
  const number =
    fitValue(draft.placerOrderNumber) ??
    each?.find(({ placerOrderNumber }) => placerOrderNumber !== undefined)?.placerOrderNumber;
  const asRead = {
    ...readAs(draft, mapped.orders, settings),
    ...(each === undefined ? {} : { rows: each }),
  };
  const problems = isRefused ? namingAllRows(mapped.problems, rows) : mapped.problems;
  return { ...mapped, problems, asRead, ...(number === undefined ? {} : { placerOrderNumber: number }) };
}

/** What rows say of which no order could be made, before they were mapped. */
export function readUnmade(rows: readonly CsvRow[], profile: CsvProfile): OrderAsRead {
  const each = listRows(rows, profile, {});
  return { ...readAs(readRows(rows, profile), [], {}), ...(each === undefined ? {} : { rows: each }) };
}

/** What each of several rows says; undefined where what they agree about says it all. */
function listRows(
  rows: readonly CsvRow[],
  profile: CsvProfile,
  { labelsPerOrder = LABELS_PER_ORDER }: Pick<MapperSettings, "labelsPerOrder">,
): OrderAsRead["rows"] {
  if (rows.length < 2 || rows.length > labelsPerOrder) return undefined;
  return rows.map((row) => {
    const draft = readRows([row], profile);
    return {
      ...readAs(draft, [], { labelsPerOrder }),
      line: row.line,
      placerOrderNumber: fitValue(draft.placerOrderNumber),
    };
  });
}

/**
 * What was read of an order, for the rows that say what becomes of it; labels are those that the site's module leaves. What
 * its rows disagree about is nobody's, and labels that are too many are a list that was taken for an order.
 */
function readAs(
  { operation, facility, subject, containers, problems }: Draft,
  orders: readonly Order[],
  { labelsPerOrder = LABELS_PER_ORDER }: Pick<MapperSettings, "labelsPerOrder">,
): OrderAsRead {
  const agreed = (reading: Reading) => (problems.length === 0 ? fitValue(reading) : undefined);
  const code = agreed(subject.code);
  const taken = orders.flatMap((order) => order.containers.map(({ label }) => label));
  const read = containers.length > labelsPerOrder ? [] : containers.map(({ label }) => fitValue(label));
  const labels = (orders.length > 0 ? taken : read).filter((label) => label !== undefined);
  return {
    operation: agreed(operation),
    facilityCode: agreed(facility),
    subjectCode: code === undefined ? undefined : phi(code),
    labels: [...new Set(labels)],
  };
}

/** A value as it was read, where one was found that can be kept. */
function fitValue(reading: Reading): string | undefined {
  return reading.status === "found" ? keptIfFit(reading.value) : undefined;
}

/** Reads the one order that a group of rows makes up; every row is a container, or several. */
function readRows(rows: readonly CsvRow[], { rules }: CsvProfile): Draft {
  const problems: Problem[] = [];
  const read = (rule: ValueRule<string>, readOne: ReadOne = readRow): Reading => {
    const readings = rows.map((row) => readOne(rule, row));
    const first = readings[0] ?? { status: "absent", place: FILE };
    const odd = readings.findIndex((reading) => !isSame(first, reading));
    const [firstRow, oddRow] = [rows[0], rows[odd]];
    if (firstRow && oddRow && first.status !== "bad" && readings[odd]?.status !== "bad") {
      problems.push({
        code: "MAPPING_VALUES_DISAGREE",
        place: { lines: { at: [firstRow.line, oddRow.line], by: "and" }, ...placesOf(rule.sources) },
        message: "the rows of one order must have the same value",
        hint: "Rows with one order number are one order: correct the row that differs, or give it an order number of its own.",
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
      dateOfBirth: read(rules.subject.dateOfBirth, readDate),
    },
  };
  const containers = rows.flatMap((row) => readContainers(rules.containers, row));
  // A registration has no containers. One that names some is refused, hence only those rows are listed.
  const isRegistration = draft.operation.status === "found" && draft.operation.value === "REGISTER";
  return {
    ...draft,
    containers: isRegistration ? containers.filter(({ label }) => label.status === "found") : containers,
    containerPlace: placesOf(rules.containers.label.sources),
    required: listRequired(rules),
    problems,
  };
}

/** The needed columns that the file does not have. Where one is missing, that is all there is to say about its rows. */
function missingColumns(rows: readonly CsvRow[], { reading }: CsvProfile): Problem[] {
  const first = rows[0];
  if (first === undefined) return [];
  return reading.requiredColumns.flatMap((alternatives): Problem[] => {
    if (alternatives.some((name) => first.values.has(name))) return [];
    const message = `the file has no column ${alternatives.join(" or ")}`;
    return [{ code: "CSV_COLUMN_MISSING", place: atLine(first.line), message, columns: alternatives }];
  });
}

type ReadOne = (rule: ValueRule<string>, row: CsvRow) => Reading;

function isSame(one: Reading, other: Reading): boolean {
  const [a, b] = [one, other].map((reading) => (reading.status === "found" ? reading.value : reading.status));
  return a === b;
}

/** A row that wants something of an earlier order. */
interface ControlRow {
  readonly row: CsvRow;
  readonly control: Control;
}

/** The rows that want something of an order: all of those that the file has of one number are one message. */
function listControlRows(rows: readonly CsvRow[], { rules }: CsvProfile): ControlRow[] {
  return rows.flatMap((row): ControlRow[] => {
    const operation = readRow(rules.operation, row);
    const control = operation.status === "found" ? controlOfRow(operation.value) : undefined;
    return control === undefined ? [] : [{ row, control }];
  });
}

/**
 * Reads what rows want of an earlier order, in the order of the rows. Of their other cells only the order number is
 * needed; a subject code is compared with the order's, and nothing else is read.
 */
function readControlRows(rows: readonly ControlRow[], { rules }: CsvProfile): ReadControl {
  const problems: Problem[] = [];
  const value = (reading: Reading, needed: string | undefined) =>
    judge(reading, needed, (problem) => problems.push(problem));
  const controlRequests: ControlRequest[] = [];
  const subjectByNumber = new Map<string, string>();
  for (const { row, control } of rows) {
    const number = value(readCode(rules.placerOrderNumber, row), "the number of the order that is meant");
    const subject = value(readCode(rules.subject.code, row), undefined);
    if (number === undefined) continue;
    const before = subjectByNumber.get(number);
    if (before !== undefined && subject !== undefined && before !== subject) {
      const message = "the rows about one order must have the same subject code";
      const hint = "Correct the row that differs, or leave its subject code empty.";
      problems.push({ code: "MAPPING_VALUES_DISAGREE", place: atLine(row.line), message, hint });
    }
    if (subject !== undefined) subjectByNumber.set(number, subject);
    const last = controlRequests.at(-1);
    // Each container of an order may have a row that says the same.
    if (last?.control === control && last.placerOrderNumber === number) continue;
    controlRequests.push({ control, placerOrderNumber: number });
  }
  const withSubject = (request: ControlRequest): ControlRequest => {
    const subject = subjectByNumber.get(request.placerOrderNumber ?? "");
    return subject === undefined ? request : { ...request, subjectCode: phi(subject) };
  };
  return { controlRequests: controlRequests.map(withSubject), problems };
}

/** What to do about a mistake of a row, where the hint of its code is about HL7 too; {profile} is where it is corrected. */
const HINTS: Readonly<Partial<Record<FailureCode, string>>> = {
  MAPPING_NO_CONTAINER: byReload(
    "Have the lab write the container's label into the cell, or correct which column `containers.label` of {profile} reads.",
  ),
  MAPPING_VALUE_MISSING: byReload(
    "Have the lab fill in the cell that is named, or correct in {profile} which column is read.",
  ),
  MAPPING_DATE_INVALID: byReload(
    "Have the lab write a day that exists in the form that is named, or set the form that the lab uses in {profile}, such as `dateFormats: [dd.MM.yyyy]`.",
  ),
  MAPPING_CONTAINER_UNEXPECTED:
    "Leave the label of a registration empty, or have the lab write its word for STORE or RETRIEVAL as the operation.",
};

/** A mistake of rows with what to do about it in a table: the cell, and the setting of the profile. */
function withCsvHint(problem: Problem, profile: Pick<Profile, "name" | "declaredIn">): Problem {
  const hint = problem.hint ?? HINTS[problem.code]?.replace("{profile}", () => nameProfile(profile));
  return hint === undefined ? problem : { ...problem, hint };
}
