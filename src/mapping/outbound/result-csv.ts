import { Failure, type Problem } from "../../core/failures.ts";
import type { Control } from "../../core/order-control.ts";
import type { ControlAnswer, Outcome, OutcomeContainer, OutcomeOrder } from "../../core/outcome.ts";
import { encodeCsv } from "../../formats/csv/encode.ts";
import { type Encoding, encodeText, isEncodable, isWide, spellOut } from "../../formats/encoding.ts";
import type { ControlOperation } from "../profile/message-type.ts";
import { isReported, type Profile, type ResultSettings } from "../profile/profile.ts";
import { distinctName } from "./file-name.ts";

/** The columns of a result file, in their order. */
export const csvResultColumns = [
  "order_number",
  "operation",
  "subject_code",
  "container_label",
  "status",
  "request_id",
  "procedure_id",
  "procedure_code",
  "storage",
  "canister",
  "cane",
  "position",
  "stored_at",
  "error",
  "updated_at",
] as const;
export type CsvResultRow = Readonly<Record<(typeof csvResultColumns)[number], string>>;

/**
 * The rows that report an outcome to the lab: one per container, and one for an order or message without any. Empty when
 * the profile does not send it. `status` is the order's state, or `refused`, or `waiting` for one that no order
 * could be made of yet, or `duplicate` for a repeat that was recognised. Values are as they are; the file makes them safe
 * for spreadsheets. In `error`, which people read, characters that the file's character set doesn't have are spelled.
 *
 * @throws Failure RESULT_NOT_ENCODABLE where any other column holds one
 */
export function csvResultRows(outcome: Outcome, profile: Profile): CsvResultRow[] {
  return toRows(outcome, profile).map((row) => fitRow(row, profile.results));
}

function toRows(outcome: Outcome, profile: Profile): CsvResultRow[] {
  const updatedAt = outcome.occurredAt.toISOString();
  // A request about an earlier order is always answered.
  if (outcome.kind === "control") return outcome.answers.flatMap((answer) => controlRows(answer, updatedAt));
  if (!isReported(profile, outcome.kind === "changed" ? outcome.order.state : outcome.kind)) return [];
  switch (outcome.kind) {
    case "refused":
    case "waiting": {
      const error = reasonsOf(outcome.problems);
      return [
        {
          ...EMPTY,
          order_number: outcome.placerOrderNumber ?? "",
          status: outcome.kind,
          error,
          updated_at: updatedAt,
        },
      ];
    }
    case "acknowledged":
      return outcome.orders.flatMap((order) =>
        orderRows(order, outcome.isDuplicate ? "duplicate" : order.state, updatedAt),
      );
    case "changed":
      return orderRows(outcome.order, outcome.order.state, updatedAt);
  }
}

/**
 * A result file for an input file: `<input name>.results-<n>.csv`.
 *
 * @throws Failure RESULT_NOT_ENCODABLE for rows that {@link csvResultRows} of the same settings did not make
 */
export function csvResultFile(
  inputName: string,
  number: number,
  rows: readonly CsvResultRow[],
  settings: CsvWriting = {},
): { fileName: string; bytes: Buffer } {
  const cells = rows.map((row) => csvResultColumns.map((column) => row[column]));
  const encoding = encodingOf(settings);
  // In UTF-16 nothing else says what it is.
  const hasMark = isWide(encoding) || (encoding === "utf-8" && settings.byteOrderMark === true);
  const encoded = encodeText(`${hasMark ? "\ufeff" : ""}${encodeCsv(csvResultColumns, cells)}`, encoding);
  if (encoded.ok) {
    return { fileName: `${distinctName(inputName)}.results-${number}.csv`, bytes: encoded.bytes };
  }
  throw new Failure("RESULT_NOT_ENCODABLE", `a file holds a character that ${encoding} does not have`);
}

const EMPTY = Object.fromEntries(csvResultColumns.map((column) => [column, ""])) as CsvResultRow;

/** The operation of the row that is answered, and `status` when it is done as requested, and when not. */
const WORDS: Readonly<
  Partial<Record<Control, readonly [ControlOperation, granted: string, refused: string]>>
> = {
  cancel: ["CANCEL", "cancelled", "cancel_refused"],
  hold: ["HOLD", "held", "hold_refused"],
  release: ["RELEASE", "released", "release_refused"],
  status: ["STATUS", "", "status_refused"],
};

/** An order may have thousands of bad rows, and many readers take no more than 32,000 characters in a cell. */
const MOST_REASONS = 50;

function reasonsOf(problems: readonly Problem[]): string {
  const listed = problems.slice(0, MOST_REASONS).map(({ place, message }) => `${place}: ${message}`);
  const more = problems.length - listed.length;
  return [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** One row a request, such as `cancelled`, or `cancel_refused` with the reason; a question for the state gets the order's rows. */
function controlRows(
  { control, placerOrderNumber, refusal, order }: ControlAnswer,
  updatedAt: string,
): CsvResultRow[] {
  const words = WORDS[control];
  if (words === undefined) throw new TypeError(`no row of a CSV file asks to ${control} an order`);
  const [operation, granted, refused] = words;
  if (control === "status" && order !== undefined && refusal === undefined) {
    const status = order.isHeld === true ? "held" : order.state;
    return orderRows(order, status, updatedAt).map((row) => ({ ...row, operation }));
  }
  return [
    {
      ...EMPTY,
      order_number: placerOrderNumber ?? order?.placerOrderNumber ?? "",
      operation,
      subject_code: order?.subjectCode.reveal() ?? "",
      status: refusal ? refused : granted,
      ...(order && idsOf(order)),
      error: refusal?.text ?? "",
      updated_at: updatedAt,
    },
  ];
}

function orderRows(order: OutcomeOrder, status: string, updatedAt: string): CsvResultRow[] {
  const containers: readonly (OutcomeContainer | undefined)[] =
    order.containers.length === 0 ? [undefined] : order.containers;
  return containers.map((container) => ({
    order_number: order.sharesNumber ? "" : (order.placerOrderNumber ?? ""),
    operation: order.operation,
    subject_code: order.subjectCode.reveal(),
    container_label: container?.label ?? "",
    status,
    ...idsOf(order),
    storage: container?.location?.storageName ?? "",
    canister: container?.location?.canister ?? "",
    cane: container?.location?.cane ?? "",
    position: container?.location?.position ?? "",
    stored_at: container?.location?.storedAt ?? "",
    error: errorOf(order),
    updated_at: updatedAt,
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
function errorOf({ sharesNumber, numberPlace, reason }: OutcomeOrder): string {
  const place = numberPlace === undefined ? "" : `${numberPlace}: `;
  const shared = sharesNumber ? `${place}another order with this number exists` : undefined;
  return [shared, reason?.text].filter((part) => part !== undefined).join("; ");
}

/** How a CSV file is written. */
type CsvWriting = Pick<ResultSettings, "encoding" | "byteOrderMark">;

/** What CSV files are written in: a profile for CSV has no other character set to go by. */
function encodingOf({ encoding = "utf-8" }: CsvWriting): Encoding {
  return encoding === "as-received" ? "utf-8" : encoding;
}

/**
 * A row that a file can hold: characters that its character set doesn't have are spelled in `error`, which people read.
 *
 * @throws Failure RESULT_NOT_ENCODABLE where any other column has one
 */
function fitRow(row: CsvResultRow, writing: CsvWriting): CsvResultRow {
  const encoding = encodingOf(writing);
  const unfit = csvResultColumns.find((column) => column !== "error" && !isEncodable(row[column], encoding));
  if (unfit !== undefined) {
    throw new Failure(
      "RESULT_NOT_ENCODABLE",
      `column ${unfit} holds a character that ${encoding} does not have`,
    );
  }
  return isEncodable(row.error, encoding) ? row : { ...row, error: spellOut(row.error, encoding) };
}
