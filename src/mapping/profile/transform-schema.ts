import { z } from "zod";

/** The transforms without settings. */
const plainSchema = z.enum(["trim", "upper", "lower", "collapse", "digits", "date"], {
  error: "expected trim, upper, lower, collapse, digits or date, or an object with one transform",
});

/**
 * One transform of a pipeline, as profiles write it.
 *
 * - `trim`, `upper`, `lower`; `collapse` makes one blank of each run of white space; `digits` keeps only 0-9.
 * - `date`: an HL7 or ISO date (in a CSV profile: one of `dateFormats`) to `YYYY-MM-DD`.
 * - `{ date: [ … ] }`: the formats that are tried, such as `dd.MM.yyyy`, `d-MMM-yyyy` or `excel` (a serial number).
 * - `{ pad: { length, with, side } }`: fills up to a length, with zeros on the left unless set otherwise.
 * - `{ regex: { match, replace, expected } }`: replaces the first match, `$1` for groups; no match is an error, which says what
 *   was `expected` in those words, and the pattern to operators alone.
 * - `{ table: { … } }`: translates; a value that is not listed is an error. Upper and lower case are the same unless
 *   `caseSensitive` is true, and blanks around a code don't count.
 * - `{ prefix: X }`, `{ suffix: X }`: put around the value unless they are there already.
 * - `{ decimal: "," }`: turns that decimal sign into a point and refuses what is no number.
 */
const transformSchema = z.union(
  [
    plainSchema,
    z.strictObject({ date: z.union([z.string(), z.array(z.string()).min(1)]) }),
    z.strictObject({
      pad: z.strictObject({
        length: z.int().min(1).max(200),
        with: z.string().length(1).optional(),
        side: z.enum(["left", "right"]).optional(),
      }),
    }),
    z.strictObject({
      regex: z.strictObject({
        match: z.string().min(1).max(200),
        replace: z.string().max(200),
        expected: z.string().min(1).max(200).optional(),
      }),
    }),
    z.strictObject({ table: z.record(z.string(), z.string()), caseSensitive: z.boolean().optional() }),
    z.strictObject({ prefix: z.string().min(1) }),
    z.strictObject({ suffix: z.string().min(1) }),
    z.strictObject({ decimal: z.enum([",", "."]) }),
  ],
  {
    error:
      "expected a transform: trim, upper, lower, collapse, digits, date, or { date | pad | regex | table | prefix | suffix | decimal: … }",
  },
);

export type TransformDefinition = z.infer<typeof transformSchema>;

/** Transforms that are applied in turn. */
export const pipelineSchema = z.union([transformSchema, z.array(transformSchema)], {
  error: "expected a transform such as trim, upper or date, or a list of transforms",
});

/** Codes with what each stands for. */
export const tableSchema = z.record(z.string(), z.string());
