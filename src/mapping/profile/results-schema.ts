import { z } from "zod";
import { ORDER_STATES, type OrderState } from "../../core/order-state.ts";
import { ROW_OPERATIONS } from "./operations.ts";
import { joinSchema, pipelineSchema, placeOfPart, tableSchema } from "./transform-schema.ts";

/** The three answers to a message. */
export const ANSWERS = ["acknowledged", "refused", "waiting"] as const;

/** States of an order that the lab never hears of by themselves, only within an answer. */
const INTERNAL_STATES = ["received", "submitting"] as const satisfies readonly OrderState[];

const stateSchema = z.enum(ORDER_STATES).exclude(INTERNAL_STATES);
/** The states of an order that a result may report. */
export const REPORTED_STATES = stateSchema.options;
/** What can be sent to the lab. */
export const resultStateSchema = z.enum([...ANSWERS, ...stateSchema.options]);

/** The formats of results. */
export const formatSchema = z.enum(["oru", "orm", "ssu"]);
/** The message that reports how an order stands: a result, an order message, or a specimen status update. */
export type ResultFormat = z.infer<typeof formatSchema>;

/** What HL7's tables say of how an order stands, by the answer or state that is sent. */
export const statusMapSchema = z.partialRecord(
  resultStateSchema,
  z.strictObject({
    "ORC-1": z.string().min(1).max(2).optional(),
    "ORC-5": z.string().max(2).optional(),
    "OBR-25": z.string().max(1).optional(),
    "SAC-8": z.string().max(20).optional(),
  }),
);
export type StatusMap = z.infer<typeof statusMapSchema>;

/** What became of a request about an earlier order, where no state of an order says it (`cancelled`). */
export const CONTROL_ENDS = [
  "held",
  "released",
  "cancel_refused",
  "hold_refused",
  "release_refused",
  "status_refused",
] as const;
/** Of requests that only HL7 knows. */
const HL7_CONTROL_ENDS = ["changed", "replaced", "change_refused", "replace_refused"] as const;

const fieldStateSchema = z.enum([...resultStateSchema.options, ...CONTROL_ENDS, ...HL7_CONTROL_ENDS]);

/** What can be decided of a request. */
const DECISIONS = ["cancelled", ...CONTROL_ENDS, ...HL7_CONTROL_ENDS] as const;
export type ControlDecision = (typeof DECISIONS)[number];

/** What stands in a field of HL7 instead. */
export const fieldValueSchema = z.union([z.string(), z.partialRecord(fieldStateSchema, z.string())], {
  error: "expected a text, or a text for each state such as { rejected: … }",
});

/** What each column of a CSV results file holds, in the words of the documentation. */
export const WORDS_BY_COLUMN = {
  order_number: "the lab's number of the order; empty where another order has that number",
  operation: "what the order or the row asks for: `STORE`, `RETRIEVAL`, `CANCEL` and the like",
  subject_code: "the patient's number",
  container_label: "the container's label",
  status: "what is reported: the order's state, or the answer to a file, an order or a request",
  request_id: "the service's number of the procedure request; request surface",
  procedure_id: "the service's number of the procedure",
  procedure_code: "the service's code of the procedure",
  storage: "the name of the tank or other storage",
  canister: "the canister; external surface",
  cane: "the cane; external surface",
  position: "the place within the storage in the service's words, such as canister, cane and slot",
  stored_at: "when the container was stored, by the service",
  error: "why it was not done, with the line and column where that is known",
  updated_at: "when it happened",
  error_code: "the code of the first reason",
  facility: "the name of the facility under `facilities`",
  container_id: "the service's number of the container",
  container_description: "what is in the container, as the lab named it",
  input_file: "the name of the file of the order or row",
  line: "the line of the order's beginning, or of the row",
} as const;

export type ResultColumn = keyof typeof WORDS_BY_COLUMN;

/** What a column of a CSV results file can hold; a profile that names no columns gets the first fifteen. */
export const RESULT_COLUMNS = Object.keys(WORDS_BY_COLUMN) as readonly ResultColumn[];

/** The columns of a results file, in their order, where the profile names none. */
export const csvResultColumns = RESULT_COLUMNS.slice(0, RESULT_COLUMNS.indexOf("error_code"));

/** Columns that are about one container of an order. */
export const CONTAINER_COLUMNS: ReadonlySet<ResultColumn> = new Set<ResultColumn>([
  ...(["container_label", "container_id", "container_description"] as const),
  ...(["storage", "canister", "cane", "position", "stored_at"] as const),
]);

const columnSourceSchema = z.union([
  z.string(),
  joinSchema(z.string()).describe(
    "The values of several columns as one, with this text between; see `from` of a value for empty and named parts.",
  ),
]);

const formedColumnSchema = z.strictObject({
  from: z
    .union([columnSourceSchema, z.array(columnSourceSchema).min(1)])
    .describe("A column, several joined, or a list of such: the first that has a value counts."),
  as: pipelineSchema.optional(),
  table: tableSchema.optional(),
  caseSensitive: z.boolean().optional(),
  default: z.string().optional(),
  header: z.string().optional(),
});

/** A column that is formed of others, as a value of an order is of what came. */
export type FormedColumn = z.infer<typeof formedColumnSchema>;

/** Whether an entry of `columns` says of what it is formed. */
export function isFormed(entry: FormedColumn | Readonly<Record<string, string>>): entry is FormedColumn {
  return "from" in entry;
}

/** A column's name, or one with its heading; what is made of it says more of a wrong one than a union could. */
const namedColumnSchema = z.record(z.string(), z.string()).refine((entry) => !("from" in entry));
/** An entry of `columns`. */
export const columnEntrySchema = z.union([z.string(), formedColumnSchema, namedColumnSchema], {
  error:
    "expected the name of a column, { COLUMN: its heading }, or { from: COLUMN, header: its heading } with as, table, caseSensitive or default",
});

/** The columns, by our names, that a results file is made of. */
export function columnsUsed({
  columns = csvResultColumns,
}: {
  readonly columns?: readonly z.infer<typeof columnEntrySchema>[] | undefined;
}): Set<string> {
  return new Set(
    columns.flatMap((entry): readonly string[] => {
      if (typeof entry === "string") return [entry];
      if (!isFormed(entry)) return Object.keys(entry);
      return [entry.from]
        .flat()
        .flatMap((source) => (typeof source === "string" ? source : source.join.map(placeOfPart)));
    }),
  );
}

/** The words of the column `status`. */
const CSV_STATUSES = [...ORDER_STATES, "refused", "waiting", "duplicate", ...CONTROL_ENDS] as const;

export type CsvStatus = (typeof CSV_STATUSES)[number];

/** A word or sentence of the lab. */
export const wordSchema = z.string().min(1);

/** A word of a status: one for all, or one by the operation, where `*` stands for those that are not named. */
const statusWordSchema = z.union(
  [wordSchema, z.partialRecord(z.enum([...ROW_OPERATIONS, "UPDATE", "MERGE", "*"]), wordSchema)],
  { error: 'expected a word, or a word for each operation such as { STORE: …, RETRIEVAL: …, "*": … }' },
);

/** The lab's words in results. */
export const wordsSchema = z.strictObject({
  status: z
    .partialRecord(z.enum(CSV_STATUSES), statusWordSchema)
    .optional()
    .describe(
      'Words of the column status, such as { completed: erledigt }; also by operation, such as { completed: { STORE: eingelagert, RETRIEVAL: entnommen, "*": erledigt } }.',
    ),
  operation: z
    .partialRecord(z.enum(ROW_OPERATIONS), wordSchema)
    .optional()
    .describe("Words of the column operation, such as { STORE: Einlagern }."),
  facility: z
    .record(z.string(), wordSchema)
    .optional()
    .describe("Words of the column facility by the name under `facilities`, such as { NORTH: Nord }."),
});

type Format = "csv" | "hl7";
const csv: readonly Format[] = ["csv"];
const hl7: readonly Format[] = ["hl7"];
const both: readonly Format[] = ["csv", "hl7"];
const ofEach = <Name extends string>(names: readonly Name[], formats: readonly Format[]) =>
  Object.fromEntries(names.map((name) => [name, formats])) as Readonly<Record<Name, readonly Format[]>>;

/**
 * What stands before reasons in English, or beside them, and in answers of which format: words of places, names of what a request
 * is about, and whole sentences. In our words there, it makes two languages of an answer.
 */
const FORMATS_BY_WORD = {
  ...{ ...ofEach(["message"], hl7), ...ofEach(["line", "lines"], both), ...ofEach(["column"], csv) },
  ...{ ...ofEach(["part", "and", "or"], both), ...ofEach(["header"], csv) },
  ...{ ...ofEach(["file", "with"], both), ...ofEach(["to", "byte", "ofMessage"], hl7) },
  ...{ ...ofEach(["order"], both), ...ofEach(["request", "procedure", "onHold"], hl7) },
  ...ofEach(["otherOrder", "otherWaits", "repeated", "recorded", "answerFollows"], hl7),
  ...{ ...ofEach(["fileRefused"], csv), ...ofEach(DECISIONS, hl7) },
  ...ofEach(["takenOut", "noPlace", "stored", "canister", "cane", "since"], hl7),
};
export type ReasonWord = keyof typeof FORMATS_BY_WORD;
export const REASON_WORDS = Object.keys(FORMATS_BY_WORD) as ReasonWord[];

/** The words that an answer in this format may have. */
export function reasonWordsOf(format: Format): readonly ReasonWord[] {
  return REASON_WORDS.filter((word) => FORMATS_BY_WORD[word].includes(format));
}

export type ResultWords = z.infer<typeof wordsSchema>;
/** What can be sent to the lab: an answer to a message, or a state that an order reached. */
export type ResultState = z.infer<typeof resultStateSchema>;
