import { Failure, type Problem } from "../../core/failures.ts";
import type { FileDialect } from "../../core/intake.ts";
import { asItIs, inSequence, type LabText } from "../../core/lab-text.ts";
import type { ControlAnswer, Outcome, OutcomeContainer, OutcomeOrder } from "../../core/outcome.ts";
import { lineOf, type Place } from "../../core/place.ts";
import { encodeCsv } from "../../formats/csv/encode.ts";
import { type Encoding, encodeText, isEncodable, spellOut } from "../../formats/encoding.ts";
import { CONTROL_FORMS, controlOfRow } from "../profile/message-type.ts";
import { type CsvProfile, isReported } from "../profile/profile.ts";
import type { CsvColumn, CsvResults } from "../profile/results.ts";
import { CONTAINER_COLUMNS, RESULT_COLUMNS, type ResultColumn } from "../profile/results-schema.ts";
import { cellOf, csvFormOf, mayHold } from "./csv-cells.ts";
import { fileNameOf } from "./file-name.ts";
import { controlEnd, inOneLanguage, labPhrase, labPlace, problemInWords, reasonInWords } from "./reasons.ts";

/** A row by its headings, written as the lab has it. */
export type CsvResultRow = Readonly<Record<string, string>>;

/**
 * The rows that report an outcome to the lab: one per container, or per order where the profile has them joined, and one for
 * an order, a message or a file without any.
 * Empty when the profile does not send it. `status` is the order's state, or `refused`, or `waiting` for one that no order
 * could be made of yet, or `duplicate` for a repeat that was recognised; all of it in the profile's words. The file makes
 * values safe for spreadsheets. In `error`, which people read, characters that the file's character set doesn't have are
 * spelled.
 *
 * @param noteUntaken is given the heading of each value that the column's transforms don't take, which stands as it came
 * @throws Failure RESULT_NOT_ENCODABLE where any other column or heading holds one
 */
export function csvResultRows(
  outcome: Outcome,
  profile: CsvProfile,
  noteUntaken: (heading: string) => void = () => {},
): CsvResultRow[] {
  const { results } = inOneLanguage(outcome, profile);
  const { joinContainers: between, columns } = results;
  const { encoding } = csvFormOf(results, outcome.message.dialect);
  return toOrders(outcome, results).flatMap((order) => {
    const rows = order.map((row) => fitRow(row, results, encoding, noteUntaken));
    return between === undefined ? rows : [joinRows(rows, between, columns)];
  });
}

/** The rows of an order as one: what is about a container has a value of each, in their sequence, or none where none has one. */
function joinRows(
  rows: readonly CsvResultRow[],
  between: string,
  columns: readonly CsvColumn[],
): CsvResultRow {
  const cells = columns.map((column) => {
    const { header } = column;
    const values = rows.map((row) => row[header] ?? "");
    const isJoined = mayHold(column, CONTAINER_COLUMNS) && values.some((value) => value !== "");
    return [header, isJoined ? values.join(between) : (values[0] ?? "")];
  });
  return Object.fromEntries(cells);
}

/** A row before any of it is put into the lab's words. */
type PlainRow = Readonly<Record<Exclude<ResultColumn, "error">, string>> & { readonly error: LabText };

/** The rows of each order, message, request or file. */
function toOrders(outcome: Outcome, results: CsvResults): PlainRow[][] {
  const common = {
    ...EMPTY,
    input_file: outcome.message.fileName ?? "",
    line: lineIn(outcome.message.place),
    updated_at: outcome.occurredAt.toISOString(),
  };
  // A request about an earlier order is always answered.
  if (outcome.kind === "control")
    return outcome.answers.map((answer) => controlRows(answer, common, results));
  if (!isReported({ results }, outcome.kind === "changed" ? outcome.order.state : outcome.kind)) return [];
  switch (outcome.kind) {
    case "refused":
    case "waiting":
      return [outcome.isFile ? [fileRow(outcome, common, results)] : unmadeRows(outcome, common, results)];
    case "acknowledged":
      return outcome.orders.map((order) =>
        orderRows(order, outcome.isDuplicate ? "duplicate" : order.state, common, results),
      );
    case "changed":
      return [orderRows(outcome.order, outcome.order.state, common, results)];
  }
}

/** What a file of results is about. */
export interface CsvResultTarget {
  readonly inputName: string;
  readonly dialect: FileDialect | undefined;
  readonly connector: string;
  /** When the first of its rows happened. */
  readonly at: Date;
}

/** What the names of files of results about such an input have in common: files of one series are numbered. */
export function csvResultSeries(target: CsvResultTarget, { fileName, timeZone }: CsvResults): string {
  return fileNameOf(fileName, { ...target, timeZone });
}

/**
 * A file of results about an input file: `<input name>.results-<n>.csv` unless the profile names it otherwise.
 *
 * @throws Failure RESULT_NOT_ENCODABLE for rows that {@link csvResultRows} of the same settings did not make
 */
export function csvResultFile(
  target: CsvResultTarget,
  number: number,
  rows: readonly CsvResultRow[],
  results: CsvResults,
): { fileName: string; bytes: Buffer } {
  const { columns, quote, timeZone } = results;
  const { delimiter, encoding, hasByteOrderMark } = csvFormOf(results, target.dialect);
  const headers = columns.map(({ header }) => header);
  const cells = rows.map((row) => headers.map((header) => row[header]));
  const text = encodeCsv(results.header ? headers : undefined, cells, { delimiter, quote });
  const encoded = encodeText(`${hasByteOrderMark ? "\ufeff" : ""}${text}`, encoding);
  if (encoded.ok) {
    return { fileName: fileNameOf(results.fileName, { ...target, timeZone }, number), bytes: encoded.bytes };
  }
  throw new Failure("RESULT_NOT_ENCODABLE", `a file holds a character that ${encoding} does not have`);
}

const NOTHING = asItIs("");
const EMPTY = Object.fromEntries(RESULT_COLUMNS.map((column) => [column, ""])) as PlainRow;

/**
 * Of an order, among all of its rows: it may have thousands of bad ones, and many readers take no more than 32,000 characters
 * in a cell.
 */
const MOST_REASONS = 50;

/** A refused request is no refused order, though it may have the number of one. */
function statusOfUnmade(kind: Unmade["kind"], operation = ""): string {
  const control = controlOfRow(operation);
  return kind === "refused" && control !== undefined ? CONTROL_FORMS[control].decided[1] : kind;
}

/** The line on which a place begins, as a cell. */
function lineIn(place: Place = {}): string {
  return lineOf(place)?.toString() ?? "";
}

/** What no order is made of, for good or for now: a row for each label that was read, or one where none was. */
function unmadeRows(
  { kind, problems, placerOrderNumber = "", asRead }: Unmade,
  common: PlainRow,
  { reasons }: CsvResults,
): PlainRow[] {
  const read = (asRead?.rows ?? [asRead]).flatMap((row) => {
    const labels = row === undefined || row.labels.length === 0 ? [""] : row.labels;
    return labels.map((label) => ({ row, label }));
  });
  const error = reasonsOf(problems, reasons, Math.max(1, Math.floor(MOST_REASONS / read.length)));
  return read.map(({ row, label }) => ({
    ...common,
    line: row !== undefined && "line" in row ? String(row.line) : common.line,
    order_number: row !== undefined && "line" in row ? (row.placerOrderNumber ?? "") : placerOrderNumber,
    operation: row?.operation ?? "",
    facility: row?.facilityCode ?? "",
    subject_code: row?.subjectCode?.reveal() ?? "",
    container_label: label,
    status: statusOfUnmade(kind, row?.operation),
    error,
    error_code: problems[0]?.code ?? "",
  }));
}

/** A file of which nothing was taken: the lab hears of none of its orders otherwise. */
function fileRow({ kind, problems }: Unmade, common: PlainRow, { reasons }: CsvResults): PlainRow {
  const lines = problems.map(({ place }) => lineIn(place));
  const refused = labPhrase(reasons, "fileRefused").replaceAll("{file}", () => common.input_file);
  return {
    ...common,
    line: lines.find((line) => line !== "") ?? "",
    status: kind,
    error: inSequence([asItIs(refused), reasonsOf(problems, reasons, MOST_REASONS)], ": "),
    error_code: problems[0]?.code ?? "",
  };
}

type Unmade = Extract<Outcome, { kind: "refused" } | { kind: "waiting" }>;

function reasonsOf(problems: readonly Problem[], reasons: CsvResults["reasons"], most: number): LabText {
  const listed = problems.slice(0, most).map((problem) => problemInWords(problem, reasons));
  const more = problems.length - listed.length;
  return inSequence([...listed, ...(more > 0 ? [asItIs(`… +${more}`)] : [])], "; ");
}

/** One row a request, such as `cancelled`, or `cancel_refused` with the reason; a question for the state gets the order's rows. */
function controlRows(answer: ControlAnswer, common: PlainRow, results: CsvResults): PlainRow[] {
  const { control, placerOrderNumber, refusal, order } = answer;
  const { operation } = CONTROL_FORMS[control];
  if (operation === undefined) throw new TypeError(`no row of a CSV file asks to ${control} an order`);
  const status = controlEnd(answer);
  if (control === "status" && order !== undefined && refusal === undefined) {
    return orderRows(order, status, common, results).map((row) => ({ ...row, operation }));
  }
  return [
    {
      ...common,
      order_number: placerOrderNumber ?? order?.placerOrderNumber ?? "",
      operation,
      facility: order?.facilityCode ?? "",
      subject_code: order?.subjectCode.reveal() ?? "",
      status,
      ...(order && idsOf(order)),
      error: refusal === undefined ? NOTHING : reasonInWords(refusal, results.reasons),
      error_code: refusal?.code ?? "",
    },
  ];
}

function orderRows(
  order: OutcomeOrder,
  status: string,
  common: PlainRow,
  { reasons }: CsvResults,
): PlainRow[] {
  const containers: readonly (OutcomeContainer | undefined)[] =
    order.containers.length === 0 ? [undefined] : order.containers;
  return containers.map((container) => ({
    ...common,
    order_number: order.sharesNumber ? "" : (order.placerOrderNumber ?? ""),
    operation: order.operation,
    facility: order.facilityCode,
    subject_code: order.subjectCode.reveal(),
    container_label: container?.label ?? "",
    container_description: container?.description ?? "",
    container_id: container?.containerId?.toString() ?? "",
    status,
    ...idsOf(order),
    storage: container?.location?.storageName ?? "",
    canister: container?.location?.canister ?? "",
    cane: container?.location?.cane ?? "",
    position: container?.location?.position ?? "",
    stored_at: container?.location?.storedAt ?? "",
    error: errorOf(order, reasons),
    error_code: order.reason?.code ?? "",
  }));
}

/** What the service calls its work on the order. */
function idsOf({ requestId, procedureId, procedureCode }: OutcomeOrder) {
  return {
    request_id: requestId?.toString() ?? "",
    procedure_id: procedureId?.toString() ?? "",
    procedure_code: procedureCode ?? "",
  };
}

/** Why it isn't done; and which rows it is of, where another order has the number that would say so. */
function errorOf(
  { sharesNumber, numberPlace, reason, state }: OutcomeOrder,
  reasons: CsvResults["reasons"],
): LabText {
  const place = numberPlace && labPlace(numberPlace, reasons);
  const why = reason && reasonInWords(reason, reasons);
  if (state === "discarded") return inSequence([place, why], ": ");
  const shared = sharesNumber ? inSequence([place, reasonInWords(SHARED_NUMBER, reasons)], ": ") : undefined;
  return inSequence([shared, why], "; ");
}

const SHARED_NUMBER = {
  code: "ORDER_NUMBER_REUSED",
  text: "another order with this number exists",
} as const;

/**
 * A row that a file can hold, in the lab's words: characters that its character set doesn't have are spelled in `error`,
 * which people read.
 *
 * @throws Failure RESULT_NOT_ENCODABLE where any other column has one
 */
function fitRow(
  row: PlainRow,
  results: CsvResults,
  encoding: Encoding,
  noteUntaken: (heading: string) => void,
): CsvResultRow {
  const cells = results.columns.map((column) => {
    const { header } = column;
    if (results.header && !isEncodable(header, encoding)) throw unfit(`the heading ${header}`, encoding);
    const { value, source, isUntaken } = cellOf(column, row, results);
    if (isUntaken) noteUntaken(header);
    if (isEncodable(value, encoding)) return [header, value];
    if (source?.columns.includes("error") === true) return [header, spellOut(value, encoding)];
    const place =
      source === undefined ? `the constant of ${header}` : `column ${source.columns.join(" with ")}`;
    throw unfit(place, encoding);
  });
  return Object.fromEntries(cells);
}

function unfit(place: string, encoding: Encoding): Failure {
  return new Failure("RESULT_NOT_ENCODABLE", `${place} holds a character that ${encoding} does not have`);
}
