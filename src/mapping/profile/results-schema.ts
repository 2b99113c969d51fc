import { z } from "zod";
import { FAILURES, type FailureCode } from "../../core/failures.ts";
import { ORDER_STATES, type OrderState } from "../../core/order-state.ts";
import { parseFileName, parseHl7FileName } from "../outbound/file-name.ts";
import { delimiterSchema } from "./delimiter.ts";
import { joinSchema, pipelineSchema, placeOfPart, tableSchema } from "./transform-schema.ts";

/** The three answers to a message. */
export const ANSWERS = ["acknowledged", "refused", "waiting"] as const;

/** States of an order that the lab never hears of by themselves, only within an answer. */
const INTERNAL_STATES = ["received", "submitting"] as const satisfies readonly OrderState[];

const stateSchema = z.enum(ORDER_STATES).exclude(INTERNAL_STATES);
/** The states of an order that a result may report. */
export const REPORTED_STATES = stateSchema.options;
const resultStateSchema = z.enum([...ANSWERS, ...stateSchema.options]);

const statusSchema = z.strictObject({
  "ORC-1": z.string().min(1).max(2).optional(),
  "ORC-5": z.string().max(2).optional(),
  "OBR-25": z.string().max(1).optional(),
  "SAC-8": z.string().max(20).optional(),
});

const formatSchema = z.enum(["oru", "orm", "ssu"]);

/** What became of a request about an earlier order, where no state of an order says it (`cancelled`). */
const CONTROL_ENDS = [
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
export type Decision = (typeof DECISIONS)[number];

const fieldValueSchema = z.union([z.string(), z.partialRecord(fieldStateSchema, z.string())], {
  error: "expected a text, or a text for each state such as { rejected: … }",
});

const partySchema = z.strictObject({ application: z.string().optional(), facility: z.string().optional() });

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
  position: "the place within the storage as a text of the service, which may name canister, cane and slot",
  stored_at: "when the container was stored, by the service",
  error: "why it was not done, with the line and column where that is known",
  updated_at: "when it happened",
  error_code: "the code of the first reason",
  facility: "the name of the facility under `facilities`",
  container_id: "the service's number of the container",
  container_description: "what is in the container, as the lab named it",
  input_file: "the name of the file that the order or row came in",
  line: "the line of that file on which the order begins, or the row",
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

/** A column's name, or one with its heading; {@link compileResults} says more of a wrong one than a union could. */
const namedColumnSchema = z.record(z.string(), z.string()).refine((entry) => !("from" in entry));
const columnEntrySchema = z.union([z.string(), formedColumnSchema, namedColumnSchema], {
  error:
    "expected the name of a column, { COLUMN: its heading }, or { from: COLUMN, header: its heading } with as, table, caseSensitive or default",
});

/** The columns, by our names, that a results file is made of. */
export function columnsUsed({ columns = csvResultColumns }: Pick<ResultsDefinition, "columns">): Set<string> {
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

/** The words of the column `operation`. */
const CSV_OPERATIONS = ["STORE", "RETRIEVAL", "REGISTER", "CANCEL", "HOLD", "RELEASE", "STATUS"] as const;

/** The words of the column `status`. */
const CSV_STATUSES = [...ORDER_STATES, "refused", "waiting", "duplicate", ...CONTROL_ENDS] as const;

export type CsvStatus = (typeof CSV_STATUSES)[number];

const wordSchema = z.string().min(1);

/** A word of a status: one for all, or one by the operation, where `*` stands for those that are not named. */
const statusWordSchema = z.union(
  [wordSchema, z.partialRecord(z.enum([...CSV_OPERATIONS, "UPDATE", "MERGE", "*"]), wordSchema)],
  { error: 'expected a word, or a word for each operation such as { STORE: …, RETRIEVAL: …, "*": … }' },
);

const wordsSchema = z.strictObject({
  status: z
    .partialRecord(z.enum(CSV_STATUSES), statusWordSchema)
    .optional()
    .describe(
      'Words of the column status, such as { completed: erledigt }; also by operation, such as { completed: { STORE: eingelagert, RETRIEVAL: entnommen, "*": erledigt } }.',
    ),
  operation: z
    .partialRecord(z.enum(CSV_OPERATIONS), wordSchema)
    .optional()
    .describe("Words of the column operation, such as { STORE: Einlagern }."),
  facility: z
    .record(z.string(), wordSchema)
    .optional()
    .describe("Words of the column facility by the name under `facilities`, such as { NORTH: Nord }."),
});

/** Failures of these areas stay on this side, but for the named ones, which refuse a message or a file. */
const INTERNAL_FAILURES =
  /^(?:CLI|CONFIG|CONSOLE|LEDGER|QUEUE|MLLP|DELIVERY|RESULT|FILE)_(?!VALUE_UNSTORABLE|FRAME_UNENDED|WHOLE_REFUSED|TOO_LARGE|UNREADABLE|NOT_REGULAR|DUPLICATE)/;

/** Failures that can reach a lab by their code. */
export const LAB_FAILURES = (Object.keys(FAILURES) as FailureCode[]).filter(
  (code) => !INTERNAL_FAILURES.test(code),
);

/** What stands before reasons in English: words of places, names of what a request is about, and whole sentences. */
export const REASON_WORDS = [
  ...(["message", "line", "lines", "column", "part", "and", "or", "header", "file"] as const),
  ...(["with", "to", "byte", "ofMessage"] as const),
  ...(["order", "request", "procedure", "onHold", "otherOrder", "otherWaits"] as const),
  ...(["repeated", "recorded", "fileRefused"] as const),
  ...DECISIONS,
] as const;
export type ReasonWord = (typeof REASON_WORDS)[number];

/** How results are written back: the part `results` of a profile. */
export const resultsSchema = z.strictObject({
  format: formatSchema
    .optional()
    .describe(
      "ORU^R01 (what every lab system can file), ORM^O01 with ORC-1, or SSU^U03 with the places of containers.",
    ),
  formats: z
    .partialRecord(resultStateSchema, formatSchema)
    .optional()
    .describe(
      "HL7: the format for single states, over `format`; for acknowledged, refused and waiting oru or orm instead of ORR, ORL or ACK, over connections besides.",
    ),
  controlAnswers: z
    .enum(["response", "result", "none"])
    .optional()
    .describe(
      "HL7: how requests about earlier orders (ORC-1 CA, HD, SS …) are answered: by an order response (ORR, ORL), a result, or not at all; response unless set.",
    ),
  fields: z
    .record(z.string(), fieldValueSchema)
    .optional()
    .describe(
      "HL7: fields of what is sent, by path, with the text to stand there instead; {name} inserts a value.",
    ),
  batchResponse: z
    .enum(["all", "errors", "none"])
    .optional()
    .describe(
      "HL7: how a batch (BHS) is answered: by one batch with all answers, by one with errors only, or by single answers. Unless set none for files and all for connections.",
    ),
  namespace: z
    .string()
    .min(1)
    .max(20)
    .optional()
    .describe("Second component of our filler order number (ORC-3, OBR-3)."),
  send: z
    .array(resultStateSchema)
    .optional()
    .describe("Which answers and which changes of an order's state are sent to the lab."),
  timeZone: z
    .string()
    .optional()
    .describe("IANA zone or offset such as +02:00 of the timestamps; UTC unless set."),
  marker: z
    .string()
    .regex(
      /^(?:\{stem\})?\.[A-Za-z0-9][A-Za-z0-9._-]{0,19}$/,
      "expected an ending such as .ok for NAME.csv.ok, or {stem}.ok for NAME.ok",
    )
    .optional()
    .describe(
      "An empty file that is written once a file of results is whole: .ok for NAME.csv.ok, {stem}.ok for NAME.ok; none unless set.",
    ),
  reasons: z
    .partialRecord(z.enum([...LAB_FAILURES, ...REASON_WORDS]), wordSchema)
    .optional()
    .describe(
      `The lab's words for reasons, by failure code (docs/errors.md), and for what stands before them: ${REASON_WORDS.join(", ")}. {code} inserts an unknown facility or operation code; in CSV_ and MAPPING_ codes {column} and {expected} insert the column and what was expected there, and a clause in brackets ([, expected {expected}]) is left out where there is none. An answer with a reason that has no words here is in English.`,
    ),
  suffix: z
    .string()
    .regex(/^\.[A-Za-z0-9][A-Za-z0-9._-]{0,19}$/, "expected an ending such as .hl7 or .txt")
    .optional()
    .describe("HL7: what the names of files of results end in; .hl7 unless set."),
  delimiter: delimiterSchema
    .optional()
    .describe(
      "CSV: what separates the columns: a comma, semicolon, | or the word tab; that of the input file unless set.",
    ),
  quote: z
    .string()
    .regex(/^[!-+\--/:<-@[-`{}~]$/, "expected one punctuation mark that separates no columns")
    .optional()
    .describe("CSV: the quote character; a double quote unless set."),
  columns: z
    .array(columnEntrySchema)
    .min(1)
    .optional()
    .describe(
      "CSV: the columns in their order, each by its name; as { order_number: Auftrag } with a heading, as { value: LAB-7, header: Quelle } for a constant, or formed: { from: [stored_at, updated_at], header: Datum }, { from: { join: [storage, position], with: / }, header: Platz }, also with `as`, `table`, `caseSensitive` and `default`.",
    ),
  joinContainers: z
    .string()
    .min(1)
    .max(10, "expected at most 10 characters")
    .optional()
    .describe(
      "CSV: one row for an order, with this text between the values of its containers, such as |; a row for each container unless set.",
    ),
  header: z.boolean().optional().describe("CSV: whether the first line has the headings; true unless set."),
  words: wordsSchema
    .optional()
    .describe(
      "The lab's words: in CSV for the columns status, operation and facility; in HL7 for the status, in the OBX CRYO-STATUS.",
    ),
  dateFormat: z
    .string()
    .optional()
    .describe(
      "CSV: how stored_at and updated_at are written, such as dd.MM.yyyy HH:mm, in `timeZone`; ISO 8601 unless set.",
    ),
  decimal: z
    .enum([".", ","])
    .optional()
    .describe("CSV: the decimal mark of a canister, cane or position: with a comma 1.5 is written 1,5."),
  fileName: z
    .string()
    .superRefine((pattern, context) => {
      // Which of the two it must be, the format of the profile says.
      const isHl7 = /\{(?:controlId|status|time)\b/.test(pattern);
      const mistake = isHl7 ? parseHl7FileName(pattern) : parseFileName(pattern);
      if (typeof mistake === "string") context.addIssue({ code: "custom", message: mistake });
    })
    .optional()
    .describe(
      "The name of a file of results. HL7: of {number} (of the order), {status}, {time:yyyyMMddHHmmss} and {controlId}, which must be there; {number}_{controlId}.hl7 unless set. CSV: of {input} (the dropped file), {stem} (without its ending), {connector}, {date} (yyyyMMdd) and {number} or {number:4}, which must be there; {input}.results-{number}.csv unless set.",
    ),
  encoding: z
    .string()
    .optional()
    .describe(
      "Character set of what is sent, such as windows-1252; as-received for that of the message or file it is about. Unless set utf-8 for HL7 and as-received for CSV.",
    ),
  byteOrderMark: z
    .boolean()
    .optional()
    .describe(
      "CSV: whether files in UTF-8 begin with a byte order mark; with `encoding: as-received` as the input file does, unless set.",
    ),
  version: z
    .string()
    .regex(/^2\.[3-8](?:\.\d)?$/, "expected an HL7 version such as 2.5.1")
    .optional()
    .describe("MSH-12 of what is sent; the version of the message that is answered unless set."),
  sender: partySchema
    .optional()
    .describe("MSH-3 and MSH-4 of what is sent; the original's receiver unless set."),
  receiver: partySchema
    .optional()
    .describe("MSH-5 and MSH-6 of what is sent; the original's sender unless set."),
  statusMap: z
    .partialRecord(resultStateSchema, statusSchema)
    .optional()
    .describe("ORC-1, ORC-5, OBR-25 and SAC-8 by the answer or state that is sent."),
});

export type ResultsDefinition = z.infer<typeof resultsSchema>;
export type ResultWords = z.infer<typeof wordsSchema>;
/** What can be sent to the lab: an answer to a message, or a state that an order reached. */
export type ResultState = z.infer<typeof resultStateSchema>;
