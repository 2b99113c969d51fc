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

/** Several places as one value; {@link placeOfPart} and the like read its parts. */
export function joinSchema<T extends z.ZodType<string>>(place: T) {
  return z.strictObject({
    join: z
      .array(z.union([place, z.strictObject({ from: place, name: z.string().min(1).max(40) })]))
      .min(2, "expected two places at least"),
    with: z.string().max(10, "expected at most 10 characters"),
    empty: z.enum(["keep", "drop"]).optional(),
  });
}

/** One part of a joined value as a profile writes it. */
export type PartDefinition = string | { readonly from: string; readonly name: string };

/** Where a part is read. */
export function placeOfPart(part: PartDefinition): string {
  return typeof part === "string" ? part : part.from;
}

/** What stands before a part in the joined text; nothing unless the profile names it. */
export function nameOfPart(part: PartDefinition): string {
  return typeof part === "string" ? "" : part.name;
}

/** What becomes of parts without a value: each keeps its place, those at the end are left out, or all of them. */
export type EmptyParts = "keep" | "keepInner" | "drop";

/**
 * Parts as one text. An empty one keeps its separator and its name, so that nobody takes the next one for it. Empty where all
 * are.
 */
export function joinParts(
  values: readonly string[],
  {
    names,
    between,
    empty,
  }: { readonly names: readonly string[]; readonly between: string; readonly empty: EmptyParts },
): string {
  if (values.every((value) => value === "")) return "";
  const last = empty === "keepInner" ? values.findLastIndex((value) => value !== "") : values.length;
  return values
    .flatMap((value, at) =>
      at > last || (empty === "drop" && value === "") ? [] : [(names[at] ?? "") + value],
    )
    .join(between);
}
