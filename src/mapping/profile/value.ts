import type { FailureCode } from "../../core/failures.ts";
import type { SourceDefinition, ValueDefinition } from "./schema.ts";
import { compileTransform, type Transform, type TransformSettings, tableTransform } from "./transforms.ts";

/** A value and where it was found, such as `PID-3[2].1` or `line 7, column subject_code`. */
export interface Found {
  readonly value: string;
  readonly place: string;
}

/**
 * What became of reading one value.
 * - `found`: the value after its transforms.
 * - `absent`: no place has one; `place` says where it was looked for.
 * - `deleted`: HL7's `""`.
 * - `bad`: something is there that does not do; `trouble` says why without repeating it.
 */
export type Reading =
  | { readonly status: "found"; readonly value: string; readonly place: string }
  | { readonly status: "absent" | "deleted"; readonly place: string }
  | {
      readonly status: "bad";
      readonly place: string;
      readonly code: FailureCode;
      readonly trouble: string;
      /** The code that no table knows, where codes may be quoted. */
      readonly value?: string | undefined;
    };

/** One place of a first-of list; `P` is a parsed field path or a column. */
export type Source<P> =
  | {
      readonly kind: "place";
      readonly path: P;
      readonly text: string;
      readonly isOnly: boolean;
      /** Places whose values follow that of the first, each after this text. */
      readonly joined?: { readonly paths: readonly P[]; readonly between: string } | undefined;
    }
  | { readonly kind: "constant"; readonly value: string };

/** How one value is read; made from a profile by {@link compileValue}. */
export interface ValueRule<P> {
  readonly sources: readonly Source<P>[];
  /** Where it looks, for people: `SAC-3.1 or SPM-2.1.1`. */
  readonly places: string;
  readonly pipeline: readonly Transform[];
  readonly fallback: string | undefined;
  /** Every place that has a value must have the same. */
  readonly mustAgree: boolean;
}

/** What keeps a value from being read where it stands. */
export interface Misfit {
  readonly place: string;
  readonly code: FailureCode;
  readonly trouble: string;
}

/**
 * Finds the value at a place of a scope, such as a message's segments or a row; `isOnly` asks for it only when its field
 * does not repeat.
 */
export type Finder<P, S> = (path: P, isOnly: boolean, scope: S) => Found | Misfit | undefined;

export interface CompileSettings<P> extends TransformSettings {
  /** Reads a path or column; throws a Failure that says what is wrong with it. */
  readonly parsePlace: (text: string) => P;
  /** Why no value may be one of several places; undefined where it may. */
  readonly whyNoJoin?: string | undefined;
}

/** The object form of a value of a profile: a bare path or list only says where to look. */
export function toValueObject(
  definition: ValueDefinition,
): Exclude<ValueDefinition, string | readonly unknown[]> {
  return typeof definition === "string" || Array.isArray(definition) ? { from: definition } : definition;
}

/** Compiles a value of a profile. Mistakes go to `settings.complain`. */
export function compileValue<P>(definition: ValueDefinition, settings: CompileSettings<P>): ValueRule<P> {
  const { from, value, as, table, default: fallback, agree } = toValueObject(definition);
  if (from === undefined && value === undefined) settings.complain("expected from or value");
  if (from !== undefined && value !== undefined) settings.complain("expected from or value, not both");
  const definitions: SourceDefinition[] = from === undefined ? [] : Array.isArray(from) ? from : [from];
  const places = definitions.flatMap((source) => compileSource(source, settings));
  const sources: readonly Source<P>[] = value === undefined ? places : [{ kind: "constant", value }];
  const pipeline = (as === undefined ? [] : [as].flat()).map((step) => compileTransform(step, settings));
  if (table !== undefined) pipeline.push(tableTransform(table, settings));
  return {
    sources,
    places: placesOf(sources),
    pipeline,
    fallback,
    mustAgree: agree ?? false,
  };
}

/** Where sources look, for people. */
export function placesOf(sources: readonly Source<unknown>[]): string {
  return sources.flatMap((source) => (source.kind === "place" ? [source.text] : [])).join(" or ");
}

function compileSource<P>(source: SourceDefinition, settings: CompileSettings<P>): Source<P>[] {
  if (typeof source === "object" && "value" in source) return [{ kind: "constant", value: source.value }];
  if (typeof source === "object" && "join" in source) return compileJoin(source, settings);
  const text = typeof source === "string" ? source : source.only;
  try {
    return [{ kind: "place", path: settings.parsePlace(text), text, isOnly: typeof source !== "string" }];
  } catch (error) {
    settings.complain(error instanceof Error ? error.message : `cannot read ${text}`);
    return [];
  }
}

function compileJoin<P>(
  { join, with: between }: { readonly join: readonly string[]; readonly with: string },
  settings: CompileSettings<P>,
): Source<P>[] {
  if (settings.whyNoJoin !== undefined) {
    settings.complain(settings.whyNoJoin);
    return [];
  }
  const parts = join.flatMap((text) => compileSource(text, settings));
  const [path, ...paths] = parts.flatMap((part) => (part.kind === "place" ? [part.path] : []));
  if (path === undefined || parts.length < join.length) return [];
  return [{ kind: "place", path, text: join.join(" with "), isOnly: false, joined: { paths, between } }];
}

/** The value of the first place, followed by those of the others that have one; none without the first. */
function findJoined<P, S>(
  path: P,
  { paths, between }: { readonly paths: readonly P[]; readonly between: string },
  find: Finder<P, S>,
  scope: S,
): Found | Misfit | undefined {
  const first = find(path, false, scope);
  if (first === undefined || "code" in first || isNothing(first.value)) return first;
  const found = [first];
  for (const part of paths) {
    const next = find(part, false, scope);
    if (next === undefined) continue;
    if ("code" in next) return next;
    if (!isNothing(next.value)) found.push(next);
  }
  return {
    value: found.map(({ value }) => value.trim()).join(between),
    place: found.map(({ place }) => place).join(" and "),
  };
}

function isNothing(value: string): boolean {
  return value.trim() === "" || value.trim() === '""';
}

/** Reads a value: the first source that has one, then its transforms. A value of white space alone counts as none. */
export function readValue<P, S>(rule: ValueRule<P>, find: Finder<P, S>, scope: S): Reading {
  let first: Found | undefined;
  for (const source of rule.sources) {
    if (source.kind === "constant") {
      first ??= { value: source.value, place: "constant of the profile" };
      break;
    }
    const { path, joined } = source;
    const found = joined ? findJoined(path, joined, find, scope) : find(path, source.isOnly, scope);
    if (found === undefined) continue;
    if ("code" in found) return { status: "bad", ...found };
    if (found.value.trim() === "") continue;
    if (first === undefined) first = found;
    else if (first.value.trim() !== found.value.trim()) {
      return {
        status: "bad",
        place: `${first.place} and ${found.place}`,
        code: "MAPPING_VALUES_DISAGREE",
        trouble: "must have the same value",
      };
    }
    if (!rule.mustAgree) break;
  }
  if (first === undefined) {
    if (rule.fallback === undefined) return { status: "absent", place: rule.places };
    return { status: "found", value: rule.fallback, place: "default of the profile" };
  }
  if (first.value.trim() === '""') return { status: "deleted", place: first.place };
  return applyPipeline(rule.pipeline, first);
}

function applyPipeline(pipeline: readonly Transform[], found: Found): Reading {
  let value = found.value;
  for (const transform of pipeline) {
    const result = transform(value);
    if (typeof result !== "string") {
      return { status: "bad", place: found.place, code: result.code, trouble: result.trouble, value };
    }
    value = result;
  }
  if (value.trim() === "") return { status: "absent", place: found.place };
  return { status: "found", value, place: found.place };
}
