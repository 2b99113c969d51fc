import { z } from "zod";

/*
 * A setting is defined once: the form in which people write it, what stands for it where it is left out, and what is made of it.
 * Each profile of a chain is held against the form alone; what is made of the settings, of all of them as one.
 */

/** Receives a mistake: its place inside the profile and what is wrong. */
export type Complain = (place: string, message: string) => void;

/** Settings as people write them; any may be left out. */
export type Written<Shape> = {
  [Key in keyof Shape]?:
    | (Shape[Key] extends z.ZodObject<infer Within> ? Written<Within> : z.input<Shape[Key]>)
    | undefined;
};

/** The form alone of settings, as people write them. */
export function asWritten<Shape extends z.ZodRawShape>(shape: Shape) {
  const forms = Object.entries(shape).map(([key, schema]) => [key, formOf(schema as z.ZodType)]);
  return z.strictObject(Object.fromEntries(forms)) as unknown as z.ZodType<Written<Shape>>;
}

/** It says its default in words. A description that the default was added to later is of several settings, and knows of theirs. */
function formOf(schema: z.ZodType): z.ZodType {
  const form = schema instanceof z.ZodObject ? asWritten(schema.shape) : withoutDefault(schema);
  const usual = defaultOf(schema);
  const isPlain = ["string", "number", "boolean"].includes(typeof usual);
  const tail = isPlain ? `; \`${usual}\` unless set.` : ".";
  const description = schema.description?.replace(/\.$/, tail) ?? form.description;
  return description === undefined
    ? form.optional()
    : form.optional().register(z.globalRegistry, { description });
}

function withoutDefault(schema: z.ZodType): z.ZodType {
  const { def } = (schema as z.core.$ZodType as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "pipe":
      return withoutDefault(def.in as z.ZodType);
    case "optional":
    case "default":
    case "prefault":
      return withoutDefault(def.innerType as z.ZodType);
    default:
      return schema;
  }
}

/** What is made of settings; a mistaken one is undefined. Sections in them are there, be they written or not. */
export function compileSettings<Shape extends z.ZodRawShape>(
  shape: Shape,
  given: Readonly<Record<string, unknown>> | undefined,
  complain: Complain,
): z.output<z.ZodObject<Shape>> {
  const compiled = Object.entries(shape).map(([key, schema]) => {
    const value = given?.[key];
    if (schema instanceof z.ZodObject) {
      const within: Complain = (place, message) => complain(`${key}.${place}`, message);
      return [key, compileSettings(schema.shape, value as typeof given | undefined, within)];
    }
    const { data, error } = (schema as z.ZodType).safeParse(value);
    for (const { path, message } of error?.issues ?? []) complain(placeOf([key, ...path]), message);
    return [key, data];
  });
  return Object.fromEntries(compiled);
}

function placeOf([first, ...path]: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (place, key) => (typeof key === "number" ? `${place}[${key}]` : `${place}.${String(key)}`),
    String(first),
  );
}

function defaultOf(schema: z.ZodType): unknown {
  const { def } = (schema as z.core.$ZodType as z.core.$ZodTypes)._zod;
  if (def.type === "pipe") return defaultOf(def.in as z.ZodType);
  return "defaultValue" in def ? def.defaultValue : undefined;
}

/** The defaults of some settings, as people would write them. */
export function defaultsOf<Shape extends z.ZodRawShape, Key extends keyof Shape & string>(
  shape: Shape,
  keys: readonly Key[],
): { [K in Key]: NonNullable<z.input<Shape[K]>> } {
  return Object.fromEntries(keys.map((key) => [key, defaultOf(shape[key] as unknown as z.ZodType)])) as {
    [K in Key]: NonNullable<z.input<Shape[K]>>;
  };
}

/** Complains of settings that only profiles of the other format have. */
export function refuseForeign(
  own: object,
  other: object,
  given: Readonly<Record<string, unknown>>,
  otherFormat: "HL7" | "CSV",
  complain: Complain,
): void {
  for (const key of Object.keys(other)) {
    if (!(key in own) && given[key] !== undefined) complain(key, `is for ${otherFormat} profiles`);
  }
}

/** Complains of a value within a transform, which goes on. */
export function complainOf(context: z.RefinementCtx, message: string, path: PropertyKey[] = []): void {
  context.addIssue({ code: "custom", message, path });
}

/** What a rule says of a value that has the form; looked at once the settings are one. */
export function holding<T extends z.ZodType>(
  schema: T,
  mistakeOf: (value: z.output<T>) => string | undefined,
) {
  return schema.transform((value, context) => {
    const mistake = mistakeOf(value);
    if (mistake !== undefined) complainOf(context, mistake);
    return value;
  });
}

const DELIMITERS = [",", ";", "|", "tab", "\t"] as const;

const EXPECTED = "expected a comma, semicolon or | in quotes, or the word tab";

/** What separates the columns of a table; `'\t'` in single quotes is two characters to YAML, and no tab. */
export const delimiter = z.enum(DELIMITERS, { error: EXPECTED }).transform(characterOf);

/** The same for a table that is read, whose first line may show it. */
export const readDelimiter = z
  .enum([...DELIMITERS, "auto"], { error: `${EXPECTED} or auto` })
  .default("auto")
  .transform(characterOf);

function characterOf<T extends string>(name: T): Exclude<T, "tab"> | "\t" {
  return name === "tab" ? "\t" : (name as Exclude<T, "tab">);
}
