import type { z } from "zod";
import { Failure, type Problem } from "../core/failures.ts";
import { valueAt } from "./schema-at.ts";
import type { Source } from "./source.ts";
import { type Leaf, leafIssues, wordsFor } from "./words.ts";

/** What a value of the file became: the schema's output, or the mistakes in it. */
export type Validation<T> =
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

/** A copy to correct. The reader's objects have no prototype, and the copy's have none either. */
function structuredCloneWithoutPrototypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structuredCloneWithoutPrototypes);
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, child] of Object.entries(value)) copy[key] = structuredCloneWithoutPrototypes(child);
  return copy;
}

/** A place in a configuration file, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The way to a value inside the file: keys and list positions (from 0). */
export type Path = readonly (string | number)[];

/** One mistake (or, among the warnings, one risk) in the configuration. */
export interface ConfigProblem extends Problem, Position {
  readonly code: "CONFIG_INVALID";
  /** The file as the caller named it, or a profile file beside it. */
  readonly file: string;
  /** The way to the value as people write it: `connectors[1].directory`; empty for the file as a whole. */
  readonly path: string;
}

/** A configuration that can't be used: a CONFIG_INVALID {@link Failure} that carries every mistake found. */
export type ConfigFailure = Failure & { readonly problems: readonly ConfigProblem[] };

/** One problem at one place. */
export function problemAt(file: string, position: Position, path: Path, message: string): ConfigProblem {
  const words = formatPath(path);
  const place = `${file}:${position.line}:${position.column}${words === "" ? "" : ` ${words}`}`;
  return { code: "CONFIG_INVALID", file, ...position, path: words, place, message };
}

/** The error for a list of mistakes; its message has one line for each, such as `config/cryobridge.yaml:6:3 service.timout: unknown key …`. */
export function configFailure(problems: readonly ConfigProblem[]): ConfigFailure {
  const sorted = [...problems].sort(
    (a, b) =>
      compareText(a.file, b.file) || a.line - b.line || a.column - b.column || compareText(a.path, b.path),
  );
  const failure = new Failure(
    "CONFIG_INVALID",
    sorted.map(({ place, message }) => `${place}: ${message}`).join("\n"),
  );
  return Object.assign(failure, { problems: sorted });
}

/** Whether an error is the one that {@link configFailure} makes. */
export function isConfigFailure(error: unknown): error is ConfigFailure {
  return error instanceof Failure && error.code === "CONFIG_INVALID" && "problems" in error;
}

/** `connectors[1].type`; keys that are no plain word stand in quotes: `facilities["NORTH 1"]`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    if (!/^[A-Za-z_][\w-]*$/.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
