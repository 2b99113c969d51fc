import { z } from "zod";
import { asFailure, LAB_FAILURES } from "../../core/failures.ts";
import { findEncoding, isWide } from "../../formats/encoding.ts";
import type { ResultEncoding } from "../../formats/hl7/charset.ts";
import type { AckWants } from "../../formats/hl7/sent-segments.ts";
import { compileOverride, type FieldOverride } from "../outbound/field-overrides.ts";
import { parseFileName, parseHl7FileName } from "../outbound/file-name.ts";
import { dateFormatMistake, isTimeZone } from "../outbound/timestamp.ts";
import {
  ANSWERS,
  columnEntrySchema,
  csvResultColumns,
  type FormedColumn,
  fieldValueSchema,
  formatSchema,
  isFormed,
  REASON_WORDS,
  REPORTED_STATES,
  RESULT_COLUMNS,
  type ResultColumn,
  resultStateSchema,
  statusMapSchema,
  wordSchema,
  wordsSchema,
} from "./results-schema.ts";
import { complainOf, delimiter, holding } from "./settings.ts";
import { type EmptyParts, nameOfPart, placeOfPart } from "./transform-schema.ts";
import { compilePipeline, type Transform } from "./transforms.ts";

/** A zone that this machine knows. */
function mistakeOfZone(timeZone: string): string | undefined {
  return isTimeZone(timeZone)
    ? undefined
    : `${timeZone} is no time zone; expected a name such as Europe/Vienna or an offset such as +02:00`;
}

const party = z.strictObject({ application: z.string().optional(), facility: z.string().optional() });

/** Failures whose words may have the code in them that no table knows. */
const UNKNOWN_CODES: readonly string[] = [
  "MAPPING_FACILITY_UNKNOWN",
  "MAPPING_OPERATION_UNKNOWN",
  "MAPPING_EARLIER_WAITS",
];

const reasonsSchema = z
  .partialRecord(z.enum([...LAB_FAILURES, ...REASON_WORDS]), wordSchema)
  .describe(
    `The lab's words for reasons, by failure code (docs/errors.md), and for what else is said in words: ${REASON_WORDS.join(", ")}. {code} inserts an unknown facility or operation code; in CSV_, HL7_ and MAPPING_ codes {column} and {expected} the column and what was expected there; a clause in brackets ([, expected {expected}]) is left out where there is none. An answer with a reason without words here is in English.`,
  );
type Reasons = z.output<typeof reasonsSchema>;

/** A clause that is left out where there is nothing to put in. */
const CLAUSE = /\[[^[\]]*\]/g;

function checkReasons(reasons: Reasons, context: z.RefinementCtx): Reasons {
  for (const [name, words = ""] of Object.entries(reasons)) {
    if (/[[\]]/.test(words.replace(CLAUSE, "")))
      complainOf(context, "expected each [ with its ] after it, and none within another pair", [name]);
    const [field] = words.match(/\{\w+\}/g)?.filter((each) => !mayHave(name, each)) ?? [];
    if (field === undefined) continue;
    const own = ["{code}", "{column}", "{expected}"].filter((each) => mayHave(name, each));
    const those = own.length === 0 ? "" : `; expected ${own.join(", ")} or none`;
    complainOf(context, `${field} stands for nothing here${those}`, [name]);
  }
  return reasons;
}

/** Whether words may have something put in. */
function mayHave(name: string, field: string): boolean {
  if (name === "fileRefused") return field === "{file}";
  if (field === "{code}") return UNKNOWN_CODES.includes(name);
  return (field === "{column}" || field === "{expected}") && /^(?:CSV|HL7|MAPPING)_/.test(name);
}

/**
 * An answer to an HL7 message that waits begins with a sentence of its own, which no other language may follow; and the failures
 * with a code are those of messages that wait, too.
 */
function checkHl7Reasons(reasons: Reasons, context: z.RefinementCtx): Reasons {
  checkReasons(reasons, context);
  const given: Readonly<Record<string, unknown>> = reasons;
  const unworded = UNKNOWN_CODES.find((code) => given[code] !== undefined);
  if (unworded !== undefined && reasons.onHold === undefined) {
    const what = `is missing, which stands before ${unworded} in the answer to a message that waits`;
    complainOf(context, what, ["onHold"]);
  }
  return reasons;
}

const words = wordsSchema
  .default({})
  .describe(
    "The lab's words: in CSV for the columns status, operation and facility; in HL7 for the status, in the OBX CRYO-STATUS.",
  );

/** HL7 has codes for operations and facilities, and a text for the status of an order alone. */
function checkHl7Words(given: z.output<typeof words>, context: z.RefinementCtx): typeof given {
  const { status = {}, ...others } = given;
  for (const name of Object.keys(others)) complainOf(context, "is for CSV profiles", [name]);
  const known: readonly string[] = ["received", "refused", "waiting", ...REPORTED_STATES];
  for (const name of Object.keys(status)) {
    if (known.includes(name)) continue;
    complainOf(context, `is for CSV profiles; HL7 results have ${known.join(", ")}`, ["status", name]);
  }
  return given;
}

const fileName = z
  .string()
  .superRefine((pattern, context) => {
    // Which of the two it must be, the format of the profile says.
    const isHl7 = /\{(?:controlId|status|time)\b/.test(pattern);
    const mistake = isHl7 ? parseHl7FileName(pattern) : parseFileName(pattern);
    if (typeof mistake === "string") complainOf(context, mistake);
  })
  .describe(
    "The name of a file of results. HL7: of {number} (of the order), {status}, {time:yyyyMMddHHmmss} and {controlId}, which must be there; {number}_{controlId}.hl7 unless set. CSV: of {input} (the dropped file), {stem} (without its ending), {connector}, {date} (yyyyMMdd) and {number} or {number:4}, which must be there; {input}.results-{number}.csv unless set.",
  );

/** Parses a pattern for one format. */
function parsedBy<T extends object>(parse: (pattern: string) => T | string) {
  return (pattern: string, context: z.RefinementCtx): T => {
    const parsed = parse(pattern);
    if (typeof parsed !== "string") return parsed;
    complainOf(context, parsed);
    return z.NEVER;
  };
}

const encoding = z
  .string()
  .describe(
    "Character set of what is sent, such as windows-1252; as-received for that of the message or file it is about. Unless set utf-8 for HL7 and as-received for CSV.",
  );

function findResultEncoding(name: string, context: z.RefinementCtx): ResultEncoding {
  if (name === "as-received") return name;
  const found = findEncoding(name);
  if (found !== undefined) return found;
  complainOf(context, `${name} is no encoding that Cryobridge knows`);
  return z.NEVER;
}

function findHl7Encoding(name: string, context: z.RefinementCtx): ResultEncoding {
  const found = findResultEncoding(name, context);
  if (found === z.NEVER || found === "as-received" || !isWide(found)) return found;
  complainOf(context, `${found} is for CSV profiles: the header of an HL7 message is read byte by byte`);
  return z.NEVER;
}

function compileFields(
  fields: Readonly<Record<string, z.output<typeof fieldValueSchema>>>,
  context: z.RefinementCtx,
): FieldOverride[] {
  return Object.entries(fields).flatMap(([place, text]) => {
    try {
      return [compileOverride(place, text)];
    } catch (error) {
      complainOf(context, asFailure(error).message, [place]);
      return [];
    }
  });
}

/** Where a cell's value comes from: one column, or several with a text between. */
export interface CsvSource {
  readonly columns: readonly ResultColumn[];
  readonly between: string;
  /** What stands before the value of each. */
  readonly names: readonly string[];
  /** What becomes of those without a value. */
  readonly empty: EmptyParts;
}

/** One column of a file: the first of its sources that has a value after the transforms, else a constant. */
export interface CsvColumn {
  readonly header: string;
  readonly from: readonly CsvSource[];
  readonly transforms: readonly Transform[];
  /** Where no source has a value; empty unless the profile gives one. */
  readonly fallback: string;
}

type Entry = z.output<typeof columnEntrySchema>;

/** The columns that are named; each has its own name for its heading unless it has another. */
export function compileColumns(entries: readonly Entry[], context: z.RefinementCtx): CsvColumn[] {
  const columns = entries.flatMap((entry, index): CsvColumn[] => {
    const refuse = (message: string): CsvColumn[] => {
      complainOf(context, message, [index]);
      return [];
    };
    if (typeof entry !== "string" && isFormed(entry)) return compileFormed(entry, refuse);
    const { value, header: heading, ...named } = typeof entry === "string" ? { [entry]: entry } : entry;
    if (value !== undefined && heading !== undefined && Object.keys(named).length === 0)
      return [{ header: heading, from: [], transforms: [], fallback: value }];
    const [[name, header] = [], ...more] = Object.entries(named);
    if (name === undefined || value !== undefined || heading !== undefined || more.length > 0)
      return refuse(
        "expected a column, { COLUMN: its heading }, { from: COLUMN, header: its heading }, or { value: a constant, header: its heading }",
      );
    return compileFormed({ from: name, header }, refuse);
  });
  const headers = columns.map(({ header }) => header);
  const twice = headers.find((header, index) => headers.indexOf(header) < index);
  if (twice !== undefined)
    complainOf(context, `two columns have the heading ${twice}; expected each heading once`);
  return columns;
}

/** One column of others; mistakes go to `refuse`. */
function compileFormed(
  { from, as, table, caseSensitive, default: fallback = "", header = "" }: FormedColumn,
  refuse: (message: string) => CsvColumn[],
): CsvColumn[] {
  const sources = [from]
    .flat()
    .map((source) => (typeof source === "string" ? { join: [source], with: "" } : source));
  const names = sources.flatMap((source) => source.join.map(placeOfPart));
  const unknown = names.find((name) => !isResultColumn(name));
  if (unknown !== undefined)
    return refuse(`there is no column ${unknown}; expected one of ${RESULT_COLUMNS.join(", ")}`);
  if (header.trim() === "") return refuse(`${names.join(", ")}: expected the words of its heading`);
  const transforms = compilePipeline({ as, table, caseSensitive }, { mayQuote: false, complain: refuse });
  const compiled = sources.map((source) => ({
    columns: source.join.map(placeOfPart).filter(isResultColumn),
    between: source.with,
    names: source.join.map(nameOfPart),
    empty: ("empty" in source ? source.empty : undefined) ?? "keep",
  }));
  return [{ header: header.trim(), from: compiled, transforms, fallback }];
}

function isResultColumn(name: string): name is ResultColumn {
  return RESULT_COLUMNS.some((known) => known === name);
}

/** What of a column the profile writes into files by itself. */
export function columnText(entry: Entry): string {
  if (typeof entry === "string") return entry;
  if (!isFormed(entry)) return Object.values(entry).join("");
  const between = [entry.from]
    .flat()
    .flatMap((source) => (typeof source === "string" ? [] : [source.with, ...source.join.map(nameOfPart)]));
  return [entry.header, entry.default, ...Object.values(entry.table ?? {}), ...between].join("");
}

/** What results of both formats say. */
const ofBoth = {
  send: z
    .array(resultStateSchema)
    .default([])
    .transform((states) => new Set(states))
    .describe("Which answers and which changes of an order's state are sent to the lab."),
  timeZone: holding(z.string().default("UTC"), mistakeOfZone).describe(
    "IANA zone or offset such as +02:00 of the timestamps.",
  ),
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
};

/** The part `results` of an HL7 profile. */
export const hl7Results = {
  format: formatSchema
    .default("oru")
    .describe(
      "HL7: ORU^R01 (what every lab system can file), ORM^O01 with ORC-1, or SSU^U03 with the places of containers.",
    ),
  formats: z
    .partialRecord(resultStateSchema, formatSchema)
    .transform((formats, context) => {
      for (const answer of ANSWERS) {
        if (formats[answer] !== "ssu") continue;
        complainOf(context, "ssu is about containers, and an answer has none; expected oru or orm", [answer]);
      }
      return formats;
    })
    .optional()
    .describe(
      "HL7: the format for single states, over `format`; for acknowledged, refused and waiting oru or orm instead of ORR, ORL or ACK, over connections besides.",
    ),
  controlAnswers: z
    .enum(["response", "result", "none"])
    .default("response")
    .describe(
      "HL7: how requests about earlier orders (ORC-1 CA, HD, SS …) are answered: by an order response (ORR, ORL), a result, or nothing.",
    ),
  fields: z
    .record(z.string(), fieldValueSchema)
    .default({})
    .transform(compileFields)
    .describe("HL7: fields of what is sent, by path, with another text; {name} inserts a value."),
  batchResponse: z
    .enum(["all", "errors", "none"])
    .optional()
    .describe(
      "HL7: whether a batch (BHS) is answered by a batch with all answers, one with errors only, or single answers (none). Unless set none for files and all for connections.",
    ),
  namespace: z
    .string()
    .min(1)
    .max(20)
    .default("CRYOBRIDGE")
    .describe("HL7: Second component of our filler order number (ORC-3, OBR-3)."),
  ...ofBoth,
  reasons: reasonsSchema.transform(checkHl7Reasons).optional(),
  suffix: z
    .string()
    .regex(/^\.[A-Za-z0-9][A-Za-z0-9._-]{0,19}$/, "expected an ending such as .hl7 or .txt")
    .default(".hl7")
    .describe("HL7: what the names of files of results end in."),
  words: words.transform(checkHl7Words),
  fileName: fileName.transform(parsedBy(parseHl7FileName)).optional(),
  encoding: encoding.default("utf-8").transform(findHl7Encoding),
  version: z
    .string()
    .regex(/^2\.[3-8](?:\.\d)?$/, "expected an HL7 version such as 2.5.1")
    .optional()
    .describe("HL7: MSH-12 of what is sent; the version of the message that is answered unless set."),
  sender: party
    .optional()
    .describe("HL7: MSH-3 and MSH-4 of what is sent; the original's receiver unless set."),
  receiver: party
    .optional()
    .describe("HL7: MSH-5 and MSH-6 of what is sent; the original's sender unless set."),
  statusMap: statusMapSchema
    .optional()
    .describe("HL7: ORC-1, ORC-5, OBR-25 and SAC-8 by the answer or state that is sent."),
};

/** The part `results` of a CSV profile. */
export const csvResults = {
  ...ofBoth,
  reasons: reasonsSchema.transform(checkReasons).optional(),
  delimiter: delimiter
    .optional()
    .describe(
      "CSV: what separates the columns: a comma, semicolon, | or the word tab; that of the input file unless set.",
    ),
  quote: z
    .string()
    .regex(/^[!-+\--/:<-@[-`{}~]$/, "expected one punctuation mark that separates no columns")
    .default('"')
    .describe("CSV: the quote character."),
  columns: z
    .array(columnEntrySchema)
    .min(1)
    .default([...csvResultColumns])
    .transform(compileColumns)
    .describe(
      "CSV: the columns in their order, each by its name; { order_number: Auftrag } with a heading; { value: LAB-7, header: Quelle } for a constant; or formed: { from: [stored_at, updated_at], header: Datum }, { from: { join: [storage, position], with: / }, header: Platz }, also with `as`, `table`, `caseSensitive` and `default`.",
    ),
  joinContainers: z
    .string()
    .min(1)
    .max(10, "expected at most 10 characters")
    .optional()
    .describe(
      "CSV: one row for an order, with this text between the values of its containers, such as |; a row for each container unless set.",
    ),
  header: z.boolean().default(true).describe("CSV: whether the first line has the headings."),
  words,
  dateFormat: holding(z.string(), dateFormatMistake)
    .optional()
    .describe(
      "CSV: how stored_at and updated_at are written, such as dd.MM.yyyy HH:mm, in `timeZone`; ISO 8601 unless set.",
    ),
  decimal: z
    .enum([".", ","])
    .default(".")
    .describe("CSV: the decimal mark of a canister, cane or position: with a comma 1.5 is written 1,5."),
  fileName: fileName.default("{input}.results-{number}.csv").transform(parsedBy(parseFileName)),
  encoding: encoding.default("as-received").transform(findResultEncoding),
  byteOrderMark: z
    .boolean()
    .optional()
    .describe(
      "CSV: whether files in UTF-8 begin with a byte order mark; with `encoding: as-received` as the input file does, unless set.",
    ),
};

type Output<Shape extends z.ZodRawShape> = Readonly<z.output<z.ZodObject<Shape>>>;

/** How and when results are sent to a lab that reads HL7. */
export interface Hl7Results extends Output<typeof hl7Results> {
  /** MSH-15 and MSH-16 of what is sent to the lab without being an acknowledgement; both empty when absent. */
  readonly wants?: AckWants | undefined;
}

/** The same for one that reads tables; `byteOrderMark` is undefined where it is as the input file's. */
export type CsvResults = Output<typeof csvResults>;
