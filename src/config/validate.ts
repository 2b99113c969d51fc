import type { z } from "zod";
import { type ConfigProblem, type Path, problemAt } from "./problems.ts";
import { valueAt } from "./schema-at.ts";
import type { Source } from "./source.ts";
import { type Leaf, leafIssues, wordsFor } from "./words.ts";

/** What a value of the file became: the schema's output, or the mistakes in it. */
type Validation<T> =
  | { readonly isValid: true; readonly value: T }
  | { readonly isValid: false; readonly problems: readonly ConfigProblem[] };

/**
 * Holds a value against a schema and reports every mistake with its place. `above` is the way from the top of the file
 * to the value. Two things are corrected on the way, because YAML and the environment can't say them: a key without a
 * value counts as absent, and `${PORT}` may stand where a number or true/false is wanted.
 */
export function validate<T>(
  schema: z.ZodType<T>,
  value: unknown,
  source: Source,
  above: Path = [],
): Validation<T> {
  const root = structuredCloneWithoutPrototypes(value);
  // Correcting a section can uncover what was beneath it, never more often than the file is deep.
  for (let round = 0; ; round++) {
    const result = schema.safeParse(root, { error: () => "" });
    if (result.success) return { isValid: true, value: result.data };
    const leaves = leafIssues(result.error.issues);
    const isCorrected = round < 20 && leaves.map((leaf) => correct(leaf, root, source, above)).includes(true);
    if (!isCorrected) return { isValid: false, problems: report(leaves, schema, root, source, above) };
  }
}

function report(
  leaves: readonly Leaf[],
  schema: z.core.$ZodType,
  root: unknown,
  source: Source,
  above: Path,
): ConfigProblem[] {
  return leaves.flatMap((leaf) => {
    const path = [...above, ...leaf.path] as Path;
    const value = valueAt(root, leaf.path);
    const mayQuote = !source.isFromEnvironment(path);
    return wordsFor(leaf, { schema, root, value, mayQuote }).map(({ key, message }) => {
      if (key === undefined) return problemAt(source.file, source.positionOf(path, "value"), path, message);
      const keyPath = [...path, key];
      return problemAt(source.file, source.positionOf(keyPath, "key"), keyPath, message);
    });
  });
}

/** Whether the value that broke a rule could be brought into the form the rule wants; `root` is changed in place. */
function correct(leaf: Leaf, root: unknown, source: Source, above: Path): boolean {
  const key = leaf.path.at(-1);
  const parent = valueAt(root, leaf.path.slice(0, -1));
  if (key === undefined || typeof parent !== "object" || parent === null) return false;
  const holder = parent as Record<PropertyKey, unknown>;
  const value = holder[key];
  if (value === null && !Array.isArray(parent)) {
    delete holder[key];
    return true;
  }
  if (leaf.code !== "invalid_type" || typeof value !== "string") return false;
  if (!source.isFromEnvironment([...above, ...leaf.path] as Path)) return false;
  const converted = convert(value, leaf.expected);
  if (converted === undefined) return false;
  holder[key] = converted;
  return true;
}

function convert(text: string, expected: string): number | boolean | undefined {
  if (expected === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  if (expected !== "number" && expected !== "int") return undefined;
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}

/**
 * Compares as no number. The schema compares the `length` of what should be a list, also of an object that has such a key; one
 * without any prototype cannot be compared at all.
 */
const NO_NUMBER = Object.freeze(
  Object.assign(Object.create(null), { [Symbol.toPrimitive]: () => Number.NaN }),
);

/** A copy to correct. The reader's objects have no prototype, and the copy's have none either. */
function structuredCloneWithoutPrototypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structuredCloneWithoutPrototypes);
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = Object.create(NO_NUMBER);
  for (const [key, child] of Object.entries(value)) copy[key] = structuredCloneWithoutPrototypes(child);
  return copy;
}
