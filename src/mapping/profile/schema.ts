import { z } from "zod";
import { asFailure, type FailureCode } from "../../core/failures.ts";
import { headingOf } from "../../formats/csv/headings.ts";
import { findEncoding } from "../../formats/encoding.ts";
import { type PathSelector, parsePath } from "../../formats/hl7/path.ts";
import { compileBoundedRegex } from "./bounded-regex.ts";
import { CANCEL_CODES, CONTROL_CODES, parseMessageTypes } from "./message-type.ts";
import { ALLOWED, type GuardedKind } from "./misread.ts";
import { csvResults, hl7Results } from "./results.ts";
import { asWritten, complainOf, holding, readDelimiter } from "./settings.ts";
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
      "Where to look; the first place that has a value counts, for a label, number, subject code or date the first whose segment or column is there, even if it is empty.",
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
  default: z.string().optional().describe("Used as it is where no place counts."),
  agree: z.boolean().optional().describe("All places that have a value must have the same one."),
  allow: z
    .array(z.enum(ALLOWED))
    .optional()
    .describe(
      "For order number, subject codes, names and labels: real ones that are refused else: `words` for no value, such as NULL or None; `dates`, such as 01.02.2003 or 1-Mar.",
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
      "For `containers.label` and `containers.description`: what stands between several values in one cell or field; `lines` for line ends, `repetitions` for those of an HL7 field.",
    ),
  every: z
    .boolean()
    .optional()
    .describe(
      "For `containers.label` and `containers.description`: every place that has a value gives a container.",
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

const messageTypes = z.array(messageTypeSchema).default([]).transform(parseMessageTypes);

/** What a profile has of those it extends, unless it says so itself. */
function brought<List extends z.ZodType<string | string[]>>(list: List) {
  return list.optional().transform((given, context): readonly string[] => {
    const all = given === undefined ? [] : [given as string | string[]].flat();
    if (all.length === 0) complainOf(context, "is missing; builtin/hl7-orders brings it");
    return all;
  });
}

const containerSegment = z
  .string()
  .regex(
    /^(?!MSH|PID|ORC|MRG)[A-Z][A-Z0-9]{2}(?:\[.+\])?$/,
    "expected SAC, SPM, OBR, OBX or another segment of an order such as ZCR, with a condition such as OBX[3.1=CONTAINER] or NTE[3^=LABEL]",
  );

/** One entry of `containers.each`; the selector narrows which segments of the name count. */
export interface ContainerKind {
  readonly segment: string;
  readonly which?: PathSelector | undefined;
}

function compileEach(texts: readonly string[], context: z.RefinementCtx): ContainerKind[] {
  return texts.flatMap((text) => {
    const segment = text.slice(0, 3);
    if (text.length === 3) return [{ segment }];
    try {
      const which = parsePath(`${text}-1`).whichSegment;
      if (which?.kind === "where") return [{ segment, which }];
      complainOf(context, `${text}: expected a condition in brackets, such as OBX[3.1=CONTAINER]`);
    } catch (error) {
      complainOf(context, asFailure(error).message);
    }
    return [];
  });
}

const encoding = z
  .string()
  .describe("Overrides what the input says of itself, such as windows-1252; auto for CSV.");

function mistakeOfEncoding(name: string): string | undefined {
  return findEncoding(name) ? undefined : `${name} is no encoding that Cryobridge knows`;
}

/** What HL7 profiles say besides the values of an order. */
export const hl7Settings = {
  accept: brought(z.array(messageTypeSchema))
    .transform(parseMessageTypes)
    .describe("HL7: the message types that are taken."),
  ignore: messageTypes.describe("HL7: types that are acknowledged and otherwise left alone."),
  register: messageTypes.describe("HL7: those of `accept` that only make the subject known."),
  update: messageTypes.describe(
    "HL7: those of `accept` that bring news about a subject; what the service has is compared, and never changed.",
  ),
  merge: messageTypes.describe(
    "HL7: those of `accept` that merge identifiers of a subject, one pair of PID and MRG or several.",
  ),
  cancel: z
    .array(
      z.string().regex(/^(?!NW$)[A-Z]{2}$/, "expected an order control code such as CA or DC, other than NW"),
    )
    .default([...CANCEL_CODES])
    .describe(
      `HL7: the order control codes (ORC-1) that cancel an order; ${CANCEL_CODES.join(" and ")} unless set.`,
    ),
  control: z
    .array(z.enum(CONTROL_CODES))
    .default([...CONTROL_CODES])
    .describe(
      "HL7: which other order control codes are taken: HD and RL (hold, release), XO and RP (change, replace), SS (status); all unless set.",
    ),
  versions: brought(
    z.array(z.string().regex(/^2(?:\.\d+){1,2}$/, "expected an HL7 version such as 2.5 or 2.5.1")),
  ).describe("HL7: versions taken; 2.3 stands for 2.3.1 too, 2.5 for 2.5.1."),
  processingId: z
    .enum(["P", "T", "D"])
    .optional()
    .describe("HL7: MSH-11 must say this: P (production), T (training) or D (debugging)."),
  controlId: z
    .enum(["required", "optional"])
    .default("required")
    .describe("HL7: whether a message without a control id (MSH-10) is refused."),
  processingModes: z
    .array(z.enum(["A", "R", "I"]))
    .default([])
    .describe(
      "HL7: which messages of an archive (A), a restore (R) or an initial load (I) are accepted (MSH-11.2); none unless set.",
    ),
  encoding: holding(encoding, mistakeOfEncoding).optional(),
  orders: z
    .strictObject({
      each: z
        .enum(["ORC", "OBR"])
        .default("ORC")
        .describe(
          "HL7: what is an order: an ORC with all OBRs below it, or each OBR with the values of its ORC.",
        ),
      sameNumber: z
        .enum(["join", "refuse"])
        .default("join")
        .describe(
          "HL7: two orders of a message with one number are one order with the containers of both, or are refused.",
        ),
    })
    .describe("HL7: how a message is taken apart into orders."),
  containers: z.strictObject({
    each: brought(
      z.union([containerSegment, z.array(containerSegment).min(1)], {
        error: "expected SAC, SPM, OBR, OBX or another segment of an order such as ZCR, or a list of them",
      }),
    )
      .transform(compileEach)
      .describe(
        "HL7: the segment that stands for one container: SAC or SPM of a specimen; in an order without specimens OBX or any other segment below its OBR, or OBR. With a condition: `OBX[3.1=VIAL]`, `OBX[3.1!=NOTE]`, `NTE[3^=LABEL]`.",
      ),
  }),
};

/** A pattern has to match a whole line: a part of one stands in many a row. */
function compileLine(source: string, context: z.RefinementCtx, path: PropertyKey[] = []): RegExp | undefined {
  const pattern = compileBoundedRegex(`^(?:${source})$`);
  if (typeof pattern !== "string") return pattern;
  complainOf(context, pattern, path);
  return undefined;
}

const trailerSchema = z.strictObject({
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
      "The column whose values the line adds up, also as { from: COLUMN, as: digits }. The total is the group that `count` does not name, or without one what the line has in that column, also with a decimal comma and separators of thousands. Not checked unless set.",
    ),
  required: z.boolean().optional().describe("Whether a file without the line is refused; true unless set."),
});

function compileTrailer(
  { line: source, count: countGroup, sum, required: isRequired = true }: z.output<typeof trailerSchema>,
  context: z.RefinementCtx,
) {
  const line = compileLine(source, context, ["line"]);
  if (line === undefined) return z.NEVER;
  // With an empty alternative the pattern matches, and gives as many groups as it has.
  const groups = (new RegExp(`${line.source}|`, "u").exec("")?.length ?? 1) - 1;
  if (countGroup !== undefined && countGroup > groups) {
    const words = groups === 0 ? "has no group in parentheses" : `has only ${groups} groups in parentheses`;
    const expected = "expected one around the number of rows, as in 'FIN;(\\d+)'";
    complainOf(context, `trailer.line ${words}; ${expected}`, ["count"]);
  }
  const free = Array.from({ length: groups }, (_, i) => i + 1).filter((group) => group !== countGroup);
  if (sum !== undefined && free.length > 1) {
    const words = `has ${free.length} groups in parentheses that may be the total`;
    complainOf(context, `trailer.line ${words}; write the others as (?:…)`, ["sum"]);
  }
  return { line, countGroup, isRequired, sum, sumGroup: free[0] };
}

/** What CSV profiles say besides the values of an order. */
export const csvSettings = {
  delimiter: readDelimiter.describe(
    "CSV: what separates the columns: a comma, semicolon, | or the word tab; auto finds it in the first line.",
  ),
  quote: z
    .string()
    .regex(/^[!-/:-@[-`{-~]?$/, "expected one punctuation mark, or nothing")
    .default('"')
    .describe("CSV: the quote character; empty for none."),
  header: z
    .union([z.boolean(), z.array(z.string().min(1)).min(1)], {
      error: "expected true, false or a list of column names",
    })
    .default(true)
    .transform((given) => (typeof given === "boolean" ? given : given.map(headingOf)))
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
  wholeFile: z.boolean().default(false).describe("CSV: one bad row refuses the whole file."),
  skipLines: z.int().min(0).max(100).default(0).describe("CSV: how many lines stand above the headings."),
  shortRows: z
    .enum(["refuse", "fill"])
    .default("refuse")
    .describe(
      "CSV: whether a row with fewer values than headings, as Excel writes one whose last cells are empty, refuses the file, or is filled where it has all columns that every row needs.",
    ),
  noRow: z
    .array(z.string().min(1))
    .default([])
    .transform((lines, context) => lines.flatMap((line) => compileLine(line, context) ?? []))
    .describe(
      "CSV: regexes for whole lines of at most 100 characters that are passed over, such as [-,]+; never a row that has both an order number and an operation.",
    ),
  trailer: trailerSchema
    .transform(compileTrailer)
    .optional()
    .describe("CSV: the last line of each file, where that is no row."),
  lastLineEnd: z
    .enum(["required", "optional"])
    .default("required")
    .describe("CSV: whether a last line without a line end is refused where the file may be cut short."),
  encoding: holding(encoding.default("auto"), (name) =>
    name === "auto" ? undefined : mistakeOfEncoding(name),
  ),
};

/** What sets one value of an order apart from the others. */
export interface ValueTraits {
  /** What is looked for among its values that stands there by mistake. */
  readonly kind?: GuardedKind;
  /** What a code is that its table does not know; `MAPPING_CODE_UNKNOWN` unless given. */
  readonly unknown?: FailureCode;
  /** Whether an error may quote it: codes, and nothing that may be a patient's. */
  readonly mayQuote?: true;
  /** Whether there is no order without a place for it. */
  readonly isNeeded?: true;
  /** Whether an order to store or retrieve can do without the value, so that a profile may require it. */
  readonly mayLack?: true;
  /** Whether it may be several. */
  readonly maySplit?: true;
}

const traitsOf = z.registry<ValueTraits>();

function value(traits: ValueTraits, description?: string) {
  const schema = valueSchema.optional();
  const described = description === undefined ? schema : schema.describe(description);
  traitsOf.add(described, traits);
  return described;
}

/** The values that every order is made of. */
export const orderValues = {
  operation: value({ isNeeded: true, mayQuote: true, unknown: "MAPPING_OPERATION_UNKNOWN" }),
  facility: value({ isNeeded: true, mayQuote: true, unknown: "MAPPING_FACILITY_UNKNOWN" }),
  placerOrderNumber: value({ isNeeded: true, mayQuote: true, kind: "code" }),
  subject: z.strictObject({
    code: value({ isNeeded: true, kind: "code" }),
    /** The identifier that a merge does away with. */
    priorCode: value({ kind: "code" }, "HL7: the prior identifier of a merge (ADT^A40), such as MRG-1.1."),
    firstName: value({ mayLack: true, kind: "name" }),
    lastName: value({ mayLack: true, kind: "name" }),
    dateOfBirth: value({ mayLack: true }),
  }),
  containers: z.strictObject({
    label: value({ isNeeded: true, maySplit: true, kind: "code" }),
    description: value({ mayLack: true, maySplit: true }),
  }),
};

/** Each of them by its name, such as `subject.code`. */
export const VALUES: ReadonlyMap<string, ValueTraits> = new Map(listValues(orderValues));

function listValues(shape: z.ZodRawShape, prefix = ""): [string, ValueTraits][] {
  return Object.entries(shape).flatMap(([key, schema]): [string, ValueTraits][] =>
    schema instanceof z.ZodObject
      ? listValues(schema.shape, `${prefix}${key}.`)
      : [[prefix + key, traitsOf.get(schema) ?? {}]],
  );
}

const settings = {
  extends: z
    .string()
    .optional()
    .describe("builtin/hl7-orders, builtin/csv-orders or another profile's name."),
  format: z.enum(["hl7", "csv"]).optional(),
  ...hl7Settings,
  ...csvSettings,
  ...orderValues,
  containers: hl7Settings.containers.extend(orderValues.containers.shape),
  module: z
    .string()
    .min(1)
    .optional()
    .describe("A TypeScript or JavaScript file that exports order(order, message)."),
  results: z.strictObject({ ...hl7Results, ...csvResults }),
};

/**
 * A mapping profile as people write it. Every key may be left out where `extends` brings it; which keys must be there
 * in the end, and which fit HL7 or CSV only, `compileProfile` says. Unknown keys are refused.
 */
export const profileSchema = asWritten(settings);

export type ProfileDefinition = z.output<typeof profileSchema>;
export type ValueDefinition = z.infer<typeof valueSchema>;
export type SourceDefinition = z.infer<typeof sourceSchema>;
export type SplitterDefinition = z.infer<typeof splitterSchema>;
