import type { FailureCode, Problem } from "../../core/failures.ts";
import type { CsvRow } from "../../core/intake.ts";
import type { Order } from "../../core/order.ts";
import type { Control, ControlRequest } from "../../core/order-control.ts";
import type { OrderAsRead } from "../../core/outcome.ts";
import { phi } from "../../core/phi.ts";
import { type ControlOperation, isControlOperation } from "../profile/message-type.ts";
import { viewCsv } from "../profile/module.ts";
import type { CsvProfile } from "../profile/profile.ts";
import type { Reading, ValueRule } from "../profile/value.ts";
import type { ReadControl } from "./control-hl7.ts";
import { columnsOf, readCode, readContainers, readDate, readName, readRow } from "./csv-codes.ts";
import { withCsvHint } from "./csv-hint.ts";
import { type Draft, LABELS_PER_ORDER } from "./draft.ts";
import { finishAll, type MappedMessage, type MapperSettings, refuse } from "./mapped-message.ts";
import { findUnfit, keptIfFit } from "./unfit.ts";

/** The rows of one order number: an order, requests about it, or the one after the other. */
export function mapRows(
  rows: readonly CsvRow[],
  profile: CsvProfile,
  settings: MapperSettings,
): MappedMessage {
  const mapped = mapAll(rows, profile, settings);
  if (mapped.problems.length === 0) return mapped;
  return { ...mapped, problems: mapped.problems.map((problem) => withCsvHint(problem, profile)) };
}

function mapAll(rows: readonly CsvRow[], profile: CsvProfile, settings: MapperSettings): MappedMessage {
  const split = splitRows(rows, profile);
  if (split.controlRequests.length === 0) return mapOrderRows(rows, profile, settings);
  const { controlRequests, problems } = readControlRows(split, profile);
  // Rows of an order and of a request about it are named by the order.
  const asRead = { operation: split.controlRequests[0]?.operation, labels: [] };
  const none: MappedMessage = { verdict: "accepted", orders: [], problems: [], asRead };
  const mapped = split.orders.length === 0 ? none : mapOrderRows(split.orders, profile, settings);
  const placerOrderNumber = mapped.placerOrderNumber ?? controlRequests[0]?.placerOrderNumber;
  const numbered = placerOrderNumber === undefined ? mapped : { ...mapped, placerOrderNumber };
  if (problems.length > 0) {
    const all = [...mapped.problems, ...problems];
    const refused = { ...refuse(all), subjectCodes: undefined, orderNumbers: undefined };
    // A row that wants something of an order is not that order: its line says which row is meant.
    return split.orders.length === 0 ? { ...refused, asRead } : { ...numbered, ...refused };
  }
  if (mapped.verdict !== "accepted") return numbered;
  const orderNumbers = controlRequests.flatMap((request) => request.placerOrderNumber ?? []);
  return { ...numbered, orderNumbers, controlRequests };
}

function mapOrderRows(rows: readonly CsvRow[], profile: CsvProfile, settings: MapperSettings): MappedMessage {
  const first = rows[0];
  if (first === undefined) return refuse([{ code: "MAPPING_NO_ORDER", place: "file", message: "no rows" }]);
  const missing = missingColumns(rows, profile);
  if (missing.length > 0) return refuse(missing);
  const draft = readRows(rows, profile);
  const finish = { ...settings, messagePlace: "" };
  const place = rows.length === 1 ? `line ${first.line}` : `lines ${first.line}-${rows.at(-1)?.line}`;
  const mapped = finishAll([draft], profile, () => viewCsv(rows), finish, place);
  const number = fitValue(draft.placerOrderNumber);
  const asRead = readAs(draft, mapped.orders, settings);
  return number === undefined ? { ...mapped, asRead } : { ...mapped, asRead, placerOrderNumber: number };
}

/**
 * What was read of an order, for the rows that say what becomes of it; labels are those that the site's module leaves. What
 * its rows disagree about is nobody's, and labels that are too many are a list that was taken for an order.
 */
function readAs(
  { operation, facility, subject, containers, problems }: Draft,
  orders: readonly Order[],
  { labelsPerOrder = LABELS_PER_ORDER }: MapperSettings,
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
  return reading.status === "found" ? keptIfFit(reading.value, "code") : undefined;
}

/** Reads the one order that a group of rows makes up; every row is a container, or several. */
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
        place: `lines ${firstRow.line} and ${oddRow.line}, ${columnsOf(rule)}`,
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
      firstName: read(rules.subject.firstName, readName),
      lastName: read(rules.subject.lastName, readName),
      dateOfBirth: read(rules.subject.dateOfBirth, readDate),
    },
  };
  const containers = rows.flatMap((row) => readContainers(rules, row));
  // A registration has no containers. One that names some is refused, hence only those rows are listed.
  const isRegistration = draft.operation.status === "found" && draft.operation.value === "REGISTER";
  return {
    ...draft,
    containers: isRegistration ? containers.filter(({ label }) => label.status === "found") : containers,
    containerPlace: columnsOf(rules.label),
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
    return [{ code: "CSV_COLUMN_MISSING", place: `line ${first.line}`, message }];
  });
}

type ReadOne = (rule: ValueRule<string>, row: CsvRow) => Reading;

function isSame(one: Reading, other: Reading): boolean {
  const [a, b] = [one, other].map((reading) => (reading.status === "found" ? reading.value : reading.status));
  return a === b;
}

/** What each operation wants of the order. */
const CONTROL_BY_OPERATION = {
  CANCEL: "cancel",
  HOLD: "hold",
  RELEASE: "release",
  STATUS: "status",
} as const satisfies Record<ControlOperation, Control>;

/** A row that wants something of an earlier order. */
interface ControlRow {
  readonly row: CsvRow;
  readonly operation: ControlOperation;
  readonly control: Control;
}

/** The rows of one order number, apart by what they ask for. */
interface SplitRows {
  readonly orders: readonly CsvRow[];
  readonly controlRequests: readonly ControlRow[];
}

/** Takes apart the rows that make up an order and those that want something of an earlier one. */
function splitRows(rows: readonly CsvRow[], { rules }: CsvProfile): SplitRows {
  const orders: CsvRow[] = [];
  const controlRequests: ControlRow[] = [];
  for (const row of rows) {
    const operation = readRow(rules.operation, row);
    if (operation.status === "found" && isControlOperation(operation.value)) {
      const { value } = operation;
      controlRequests.push({ row, operation: value, control: CONTROL_BY_OPERATION[value] });
    } else {
      orders.push(row);
    }
  }
  return { orders, controlRequests };
}

/**
 * Reads what rows want of an earlier order, in the order of the rows. Of their other cells only the order number is
 * needed; a subject code is compared with the order's, and nothing else is read. In one file a request stands below the order
 * that it is about: the other way round nobody can say what is meant.
 */
function readControlRows({ orders, controlRequests: rows }: SplitRows, { rules }: CsvProfile): ReadControl {
  const problems: Problem[] = [];
  const value = (reading: Reading, needed: string | undefined): string | undefined => {
    const complain = (code: FailureCode, message: string): undefined => {
      problems.push({ code, place: reading.place, message });
    };
    if (reading.status === "bad") return complain(reading.code, reading.trouble);
    if (reading.status !== "found") {
      return needed === undefined
        ? undefined
        : complain("MAPPING_VALUE_MISSING", `is empty; ${needed} is expected`);
    }
    const unfit = findUnfit(reading.value, "code");
    return unfit ? complain(unfit.code, unfit.trouble) : reading.value;
  };
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
      problems.push({ code: "MAPPING_VALUES_DISAGREE", place: `line ${row.line}`, message, hint });
    }
    if (subject !== undefined) subjectByNumber.set(number, subject);
    const last = controlRequests.at(-1);
    // Each container of an order may have a row that says the same.
    if (last?.control === control && last.placerOrderNumber === number) continue;
    controlRequests.push({ control, placerOrderNumber: number });
  }
  const firstLine = Math.min(...rows.map(({ row }) => row.line));
  const later = orders.find(({ line }) => line > firstLine);
  if (later) {
    const message = `asks for the order that line ${firstLine} wants something of; expected it above that line, or in a later file`;
    const hint = "Have the lab write a row that asks something of an order below the rows of that order.";
    problems.push({ code: "MAPPING_VALUES_DISAGREE", place: `line ${later.line}`, message, hint });
  }
  const withSubject = (request: ControlRequest): ControlRequest => {
    const subject = subjectByNumber.get(request.placerOrderNumber ?? "");
    return subject === undefined ? request : { ...request, subjectCode: phi(subject) };
  };
  return { controlRequests: controlRequests.map(withSubject), problems };
}
