import { z } from "zod";
import { readDelimiterSchema } from "./delimiter.ts";
import { CONTROL_CODES } from "./message-type.ts";
import { resultsSchema } from "./results-schema.ts";
import { joinSchema, pipelineSchema } from "./transform-schema.ts";

/** Null takes out a code of the profile below. */
const tableSchema = z.record(z.string(), z.string().nullable());

/** A field path (`PID-3[5=MR].1`) or, in a CSV profile, a column name. */
const placeSchema = z.string().trim().min(1, "expected a field path or a column name");

const sourceSchema = z.union(
  [
    placeSchema,
    z.strictObject({ value: z.string() }).describe("A constant, the same for every order."),
    z.strictObject({ only: placeSchema }).describe("The place counts only when its field does not repeat."),
    joinSchema(placeSchema).describe(
      "The values of several places as one, with this text between. An empty one keeps its place, so that the others don't move; with `empty: drop` it is left out. A part may have a name that stands before its value: { from: ZEM-3, name: cane }.",
    ),
  ],
  { error: "expected a field path or column name, { value: … }, { only: … } or { join: [ … ], with: … }" },
);

const sourcesSchema = z.union([sourceSchema, z.array(sourceSchema).min(1)], {
  error: "expected a field path or column name, or a list of them (the first that has a value counts)",
});

const splitterSchema = z.union(
  [z.enum(["lines", "repetitions"]), z.string().regex(/^[^\p{L}\p{N}]{1,3}$/u)],
  {
    error:
      'expected what stands between two values, such as "|" or ", " (1 to 3 characters, no letters or digits), or lines or repetitions',
  },
);

/**
 * Where a value comes from and what is done to it: places are tried in turn, the first value found goes through
 * `as`, then through `table`.
 */
const valueObjectSchema = z.strictObject({
  from: sourcesSchema
    .optional()
    .describe(
      "Where to look; the first place that has a value counts. For a label, number, subject code or date: the first whose segment or column is there, even if it is empty.",
    ),
  value: z.string().optional().describe("A constant instead of `from`."),
  as: pipelineSchema.optional().describe("Transforms, applied in turn."),
  table: tableSchema
    .optional()
    .describe(
      "Translates a code; one that is not listed is an error. Adds to the table of the profile below; null takes a code out.",
    ),
  caseSensitive: z
    .boolean()
    .optional()
    .describe("Whether `nord` and `NORD` are two codes of `table`; false unless set."),
  default: z
    .string()
    .optional()
    .describe(
      "Used as it is when no place has a value; for a label, number, subject code or date only when none of the places is there.",
    ),
  agree: z.boolean().optional().describe("All places that have a value must have the same one."),
  allow: z
    .array(z.enum(["words", "dates"]))
    .optional()
    .describe(
      "For the order number, subject codes, names and labels: what the lab's real ones may look like, though it is refused else: `words` for no value, such as NULL or None; `dates`, such as 01.02.2003 or 1-Mar.",
    ),
  required: z
    .boolean()
    .optional()
    .describe(
      "For `subject.firstName`, `lastName`, `dateOfBirth` and `containers.description`: an order without the value is refused; false unless set. A registration always needs the first three.",
    ),
  split: z
    .union([splitterSchema, z.array(splitterSchema).min(1)], {
      error:
        'expected what stands between two values, such as "|", or lines or repetitions; or a list of them',
    })
    .optional()
    .describe(
      "For `containers.label` and `containers.description`: several values stand in one cell or field, with this between them; `lines` for line ends, `repetitions` for those of an HL7 field.",
    ),
  every: z
    .boolean()
    .optional()
    .describe(
      "For `containers.label` and `containers.description`: every place of the list that has a value gives a container.",
    ),
});

const valueSchema = z.union([placeSchema, z.array(sourceSchema).min(1), valueObjectSchema], {
  error:
    "expected a field path or column name, a list of them, or an object with from, value, as, table, default, split",
});

const messageTypeSchema = z
  .string()
  .regex(
    /^[A-Z][A-Z0-9]{2}\^(?:[A-Z][A-Z0-9]{2}|\*)$/,
    "expected a message type such as ORM^O01, or ADT^* for all of ADT",
  );

const subjectSchema = z.strictObject({
  code: valueSchema.optional(),
  priorCode: valueSchema
    .optional()
    .describe("HL7: the prior identifier of a merge (ADT^A40), such as MRG-1.1."),
  firstName: valueSchema.optional(),
  lastName: valueSchema.optional(),
  dateOfBirth: valueSchema.optional(),
});

const containerSegment = z
  .string()
  .regex(
    /^(?!MSH|PID|ORC|MRG)[A-Z][A-Z0-9]{2}(?:\[.+\])?$/,
    "expected SAC, SPM, OBR, OBX or another segment of an order such as ZCR, with a condition such as OBX[3.1=CONTAINER] or NTE[3^=LABEL]",
  );

const containersSchema = z.strictObject({
  each: z
    .union([containerSegment, z.array(containerSegment).min(1)], {
      error: "expected SAC, SPM, OBR, OBX or another segment of an order such as ZCR, or a list of them",
    })
    .optional()
    .describe(
      "HL7: the segment that stands for one container: SAC or SPM of a specimen; in an order without specimens OBX or any other segment below its OBR, or OBR. With a condition: `OBX[3.1=VIAL]`, `OBX[3.1!=NOTE]`, `NTE[3^=LABEL]`.",
    ),
  label: valueSchema.optional(),
  description: valueSchema.optional(),
});

/**
 * A mapping profile as people write it. Every key may be left out where `extends` brings it; which keys must be there
 * in the end, and which fit HL7 or CSV only, {@link compileProfile} says. Unknown keys are refused.
 */
export const profileSchema = z.strictObject({
  extends: z
    .string()
    .optional()
    .describe("builtin/hl7-orders, builtin/csv-orders or another profile's name."),
  format: z.enum(["hl7", "csv"]).optional(),
  // HL7
  accept: z.array(messageTypeSchema).optional().describe("HL7: the message types that are taken."),
  ignore: z
    .array(messageTypeSchema)
    .optional()
    .describe("HL7: types that are acknowledged and otherwise left alone."),
  register: z
    .array(messageTypeSchema)
    .optional()
    .describe("HL7: those of `accept` that only make the subject known."),
  update: z
    .array(messageTypeSchema)
    .optional()
    .describe(
      "HL7: those of `accept` that bring news about a subject; what the service has is compared, and never changed.",
    ),
  merge: z
    .array(messageTypeSchema)
    .optional()
    .describe(
      "HL7: those of `accept` that merge identifiers of a subject, one pair of PID and MRG or several.",
    ),
  cancel: z
    .array(
      z.string().regex(/^(?!NW$)[A-Z]{2}$/, "expected an order control code such as CA or DC, other than NW"),
    )
    .optional()
    .describe("HL7: the order control codes (ORC-1) that cancel an order; CA and DC unless set."),
  control: z
    .array(z.enum(CONTROL_CODES))
    .optional()
    .describe(
      "HL7: which other order control codes are taken: HD and RL (hold, release), XO and RP (change, replace), SS (status); all unless set.",
    ),
  versions: z
    .array(z.string().regex(/^2(?:\.\d+){1,2}$/, "expected an HL7 version such as 2.5 or 2.5.1"))
    .optional()
    .describe("HL7: versions taken; 2.3 stands for 2.3.1 too, 2.5 for 2.5.1."),
  processingId: z
    .enum(["P", "T", "D"])
    .optional()
    .describe("HL7: MSH-11 must say this: P (production), T (training) or D (debugging)."),
  controlId: z
    .enum(["required", "optional"])
    .optional()
    .describe("HL7: whether a message without a control id (MSH-10) is refused; required unless set."),
  processingModes: z
    .array(z.enum(["A", "R", "I"]))
    .optional()
    .describe(
      "HL7: which messages of an archive (A), a restore (R) or an initial load (I) are accepted (MSH-11.2); none unless set.",
    ),
  // CSV
  delimiter: readDelimiterSchema
    .optional()
    .describe(
      "CSV: what separates the columns: a comma, semicolon, | or the word tab; auto finds it in the first line.",
    ),
  quote: z
    .string()
    .regex(/^[!-/:-@[-`{-~]?$/, "expected one punctuation mark, or nothing")
    .optional()
    .describe("CSV: the quote character; empty for none."),
  header: z
    .union([z.boolean(), z.array(z.string().min(1)).min(1)], {
      error: "expected true, false or a list of column names",
    })
    .optional()
    .describe(
      "CSV: whether the first line names the columns; or a list of their names, for a file without such a line.",
    ),
  dateFormats: z
    .array(z.string())
    .min(1)
    .optional()
    .describe("CSV: how dates are written, such as dd.MM.yyyy."),
  groupBy: z
    .string()
    .min(1)
    .optional()
    .describe(
      "CSV: the column with the order number; a reminder for readers, which has to be one that placerOrderNumber is read from.",
    ),
  wholeFile: z.boolean().optional().describe("CSV: one bad row refuses the whole file."),
  skipLines: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .describe("CSV: how many lines stand above the headings; 0 unless set."),
  shortRows: z
    .enum(["refuse", "fill"])
    .optional()
    .describe(
      "CSV: what becomes of a row with fewer values than headings, as Excel writes one whose last cells are empty: it refuses the file, or is filled with empty values where it has all columns that every row needs. Refused unless set.",
    ),
  noRow: z
    .array(z.string().min(1))
    .optional()
    .describe(
      "CSV: regexes for whole lines of at most 100 characters that are passed over, such as [-,]+; never a row that has both an order number and an operation.",
    ),
  trailer: z
    .strictObject({
      line: z
        .string()
        .min(1)
        .describe("A regex for the whole line, of at most 100 characters, such as 'FIN;(\\d+)'."),
      count: z
        .int()
        .min(1)
        .max(9)
        .optional()
        .describe("Which group in parentheses is the number of rows above. Not checked unless set."),
      sum: valueSchema
        .optional()
        .describe(
          "The column whose values the line adds up, also as { from: COLUMN, as: digits }. The total is the group in parentheses that `count` does not name, or without one what the line has in that column. Decimal commas or points, and separators of thousands, are understood. Not checked unless set.",
        ),
      required: z
        .boolean()
        .optional()
        .describe("Whether a file without the line is refused; true unless set."),
    })
    .optional()
    .describe("CSV: the last line of each file, where that is no row."),
  lastLineEnd: z
    .enum(["required", "optional"])
    .optional()
    .describe(
      "CSV: whether a last line without a line end is refused where the file may be cut short; required unless set.",
    ),
  // Both
  encoding: z
    .string()
    .optional()
    .describe("Overrides what the input says of itself, such as windows-1252; auto for CSV."),
  operation: valueSchema.optional(),
  facility: valueSchema.optional(),
  placerOrderNumber: valueSchema.optional(),
  subject: subjectSchema.optional(),
  orders: z
    .strictObject({
      each: z
        .enum(["ORC", "OBR"])
        .optional()
        .describe(
          "HL7: what is an order: an ORC with all OBRs below it, or each OBR with the values of its ORC; ORC unless set.",
        ),
      sameNumber: z
        .enum(["join", "refuse"])
        .optional()
        .describe(
          "HL7: two orders of a message with one number are one order with the containers of both, or are refused; join unless set.",
        ),
    })
    .optional()
    .describe("HL7: how a message is taken apart into orders."),
  containers: containersSchema.optional(),
  module: z
    .string()
    .min(1)
    .optional()
    .describe("A TypeScript or JavaScript file that exports order(order, message)."),
  results: resultsSchema.optional(),
});

export type ProfileDefinition = z.infer<typeof profileSchema>;
export type ValueDefinition = z.infer<typeof valueSchema>;
export type SourceDefinition = z.infer<typeof sourceSchema>;
export type SplitterDefinition = z.infer<typeof splitterSchema>;
