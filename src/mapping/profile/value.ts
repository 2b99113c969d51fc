import type { FailureCode, Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import {
  atNamed,
  joined as joinedPlaces,
  joinedSpots,
  type Place,
  placeText,
  type Spot,
} from "../../core/place.ts";
import { type Allowed, findMisread, type GuardedKind, settingOf } from "./misread.ts";
import type { SourceDefinition, SplitterDefinition, ValueDefinition, ValueTraits } from "./schema.ts";
import { type EmptyParts, joinParts, nameOfPart, placeOfPart } from "./transform-schema.ts";
import { compilePipeline, type Transform, type TransformSettings } from "./transforms.ts";

/** A value and where it was found. */
export interface Found {
  readonly value: string;
  readonly place: Place;
}

/**
 * What became of reading one value.
 * - `found`: the value after its transforms.
 * - `absent`: no place has one; `place` says where it was looked for.
 * - `deleted`: HL7's `""`.
 * - `bad`: something is there that does not do, or what is found disagrees.
 */
export type Reading =
  | { readonly status: "found"; readonly value: string; readonly place: Place }
  | { readonly status: "absent" | "deleted"; readonly place: Place }
  | ({ readonly status: "bad" } & Problem);

/** One place of a first-of list; `P` is a parsed field path or a column. */
export type Source<P> =
  | {
      readonly kind: "place";
      readonly path: P;
      readonly text: string;
      /** The same as where its values stand. */
      readonly spots: readonly Spot[];
      readonly isOnly: boolean;
      /** Places whose values follow that of the first, each after this text. */
      readonly joined?: Joined<P> | undefined;
    }
  | { readonly kind: "constant"; readonly value: string };

interface Joined<P> {
  readonly paths: readonly P[];
  readonly between: string;
  /** What stands before the value of each, that of the first included. */
  readonly names: readonly string[];
  readonly empty: EmptyParts;
  /** Whether it is a code, which is none without its first part. */
  readonly isCode: boolean;
  /** Whether none of them may be empty. */
  readonly isWhole: boolean;
}

/** How one value is read; made from a profile by {@link compileValue}. */
export interface ValueRule<P> {
  readonly sources: readonly Source<P>[];
  /** Where it looks: `SAC-3.1 or SPM-2.1.1`. */
  readonly places: Place;
  readonly pipeline: readonly Transform[];
  /** Which value of the profile it is, such as `operation`. */
  readonly name?: string | undefined;
  /** What a code is that its table does not know, where that has a failure of its own: messages may wait for it. */
  readonly unknown?: FailureCode | undefined;
  /** Whether its `table` is the last of the pipeline. */
  readonly hasTable?: boolean | undefined;
  /** What is looked for among its values that stands there by mistake; nothing unless given. */
  readonly kind?: GuardedKind | undefined;
  readonly allow?: readonly Allowed[] | undefined;
  readonly fallback: string | undefined;
  /** Every place that has a value must have the same. */
  readonly mustAgree: boolean;
  /** An order to store or retrieve is refused without it. Values that every order needs say nothing. */
  readonly isRequired?: boolean | undefined;
  /** How several values stand in one place. */
  readonly split?: Split | undefined;
  /** Every place that has a value counts, not the first one only. */
  readonly every?: boolean | undefined;
}

/** What stands between several values in one place. */
export interface Split {
  /** HL7: the repetitions of a field are values of their own. */
  readonly repetitions: boolean;
  /** What the profile says that stands between them. */
  readonly texts: readonly string[];
  readonly between: RegExp | undefined;
}

/**
 * Finds the value at a place of a scope, such as a message's segments or a row; `isOnly` asks for it only when its field
 * does not repeat.
 */
export type Finder<P, S> = (path: P, isOnly: boolean, scope: S) => Found | Problem | undefined;

/** Finds the values at a place that may hold several; see {@link splitFound}. */
export type FinderOfSeveral<P, S> = (
  path: P,
  isOnly: boolean,
  scope: S,
) => readonly Found[] | Problem | undefined;

export interface CompileSettings<P> extends TransformSettings, Omit<ValueTraits, "isNeeded" | "mayQuote"> {
  /** Reads a path or column; throws a Failure that says what is wrong with it. */
  readonly parsePlace: (text: string) => P;
  /** Where the values of such stand, for what is not found. */
  readonly spotOf: (path: P) => Spot;
  /** Which value of the profile it is, such as `operation`. */
  readonly name?: string | undefined;
  /** Whether a code that is joined of several places needs a value in each: an empty cell is a mistake, not a part that is missing. */
  readonly areAllPartsNeeded?: boolean | undefined;
}

/** The object form of a value of a profile: a bare path or list only says where to look. */
export function toValueObject(
  definition: ValueDefinition,
): Exclude<ValueDefinition, string | readonly unknown[]> {
  return typeof definition === "string" || Array.isArray(definition) ? { from: definition } : definition;
}

/** Compiles a value of a profile. Mistakes go to `settings.complain`. */
export function compileValue<P>(definition: ValueDefinition, settings: CompileSettings<P>): ValueRule<P> {
  const object = toValueObject(definition);
  const { from, value, table, default: fallback, agree, split, every } = object;
  if (from === undefined && value === undefined) settings.complain("expected from or value");
  if (from !== undefined && value !== undefined) settings.complain("expected from or value, not both");
  const definitions: SourceDefinition[] = from === undefined ? [] : Array.isArray(from) ? from : [from];
  const places = definitions.flatMap((source) => compileSource(source, settings));
  const sources: readonly Source<P>[] = value === undefined ? places : [{ kind: "constant", value }];
  const left = table && withoutRemoved(table, settings.complain);
  const pipeline = compilePipeline({ ...object, table: left }, settings);
  checkSeveral(definition, settings);
  if (object.allow !== undefined && settings.kind === undefined)
    settings.complain("allow is for the order number, subject codes, names and labels");
  if (object.required !== undefined && settings.mayLack !== true)
    settings.complain(
      "required is for the names and the date of birth of subject, and for containers.description; of other values it is fixed",
    );
  return {
    sources,
    places: placesOf(sources),
    pipeline,
    name: settings.name,
    unknown: settings.unknown,
    hasTable: table !== undefined,
    kind: settings.kind,
    allow: object.allow,
    fallback,
    mustAgree: agree ?? false,
    isRequired: object.required === true ? true : undefined,
    split: split === undefined ? undefined : compileSplit([split].flat()),
    every: every === true ? true : undefined,
  };
}

/** A table after `extends`: what is null still was in no table below. */
function withoutRemoved(
  table: Readonly<Record<string, string | null>>,
  complain: (trouble: string) => void,
): Readonly<Record<string, string>> {
  const left = Object.entries(table).filter((entry): entry is [string, string] => entry[1] !== null);
  for (const [code, value] of Object.entries(table)) {
    if (value === null)
      complain(
        `table.${code} is null, which takes a code out of the profile below; that has none of this name`,
      );
  }
  if (left.length === 0) complain("the table has no code left; expected one at least");
  return Object.fromEntries(left);
}

/** Several values can stand for several containers only; anything else of an order is one value. */
function checkSeveral(
  definition: ValueDefinition,
  { maySplit, complain }: Pick<CompileSettings<unknown>, "maySplit" | "complain">,
): void {
  const { from, agree, split, every } = toValueObject(definition);
  for (const [key, value] of Object.entries({ split, every })) {
    if (value === undefined || value === false) continue;
    if (maySplit !== true) complain(`${key} is for containers.label and containers.description`);
    if (from === undefined) complain(`${key} is for values that are read from somewhere; expected from`);
    if (agree === true) complain(`expected ${key} or agree, not both`);
    if ([from].flat().some((source) => typeof source === "object" && !("only" in source)))
      complain(`${key} is for paths and columns; expected neither join nor value in from`);
  }
}

function compileSplit(splitters: readonly SplitterDefinition[]): Split {
  const texts = splitters.filter((splitter) => splitter !== "repetitions");
  const patterns = texts
    .map((text) => (text === "lines" ? "\\r\\n|\\r|\\n" : text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")))
    // The longer one first, or a part of it would be found.
    .sort((one, other) => other.length - one.length);
  return {
    repetitions: splitters.includes("repetitions"),
    texts,
    between: patterns.length === 0 ? undefined : new RegExp(patterns.join("|")),
  };
}

/** Where sources look. */
export function placesOf(sources: readonly Source<unknown>[]): Place {
  const spots = sources.flatMap((source) => (source.kind === "place" ? [source.spots] : []));
  return { spots: joinedSpots(spots, "or") };
}

function compileSource<P>(source: SourceDefinition, settings: CompileSettings<P>): Source<P>[] {
  if (typeof source === "object" && "value" in source) return [{ kind: "constant", value: source.value }];
  if (typeof source === "object" && "join" in source) return compileJoin(source, settings);
  const text = typeof source === "string" ? source : source.only;
  try {
    const path = settings.parsePlace(text);
    return [
      { kind: "place", path, text, spots: [settings.spotOf(path)], isOnly: typeof source !== "string" },
    ];
  } catch (error) {
    settings.complain(error instanceof Error ? error.message : `cannot read ${text}`);
    return [];
  }
}

function compileJoin<P>(
  { join, with: between, empty }: Extract<SourceDefinition, { join: unknown }>,
  settings: CompileSettings<P>,
): Source<P>[] {
  const parts = join.flatMap((part) => compileSource(placeOfPart(part), settings));
  const [path, ...paths] = parts.flatMap((part) => (part.kind === "place" ? [part.path] : []));
  if (path === undefined || parts.length < join.length) return [];
  const isCode = settings.kind === "code" || settings.mayQuote;
  const isWhole = settings.areAllPartsNeeded === true && settings.kind === "code";
  // What a name has not is no gap in it.
  const usual: EmptyParts = isCode ? "keepInner" : settings.kind === "name" ? "drop" : "keep";
  const joined = { paths, between, names: join.map(nameOfPart), empty: empty ?? usual, isCode, isWhole };
  const text = join.map(placeOfPart).join(" with ");
  const spots = joinedSpots(
    [path, ...paths].map((each) => [settings.spotOf(each)]),
    "with",
  );
  return [{ kind: "place", path, text, spots, isOnly: false, joined }];
}

/** The values of all places as one, none where none has any, or of a code the first. */
function findJoined<P, S>(
  path: P,
  joined: Joined<P>,
  find: Finder<P, S>,
  scope: S,
): Found | Problem | undefined {
  const { paths, isCode, isWhole } = joined;
  const found: (Found | undefined)[] = [];
  for (const part of [path, ...paths]) {
    const next = find(part, false, scope);
    if (next !== undefined && "code" in next) return next;
    const [first] = found;
    if (isCode && found.length === 0 && (next === undefined || isNothing(next.value))) return next;
    if (isWhole && first !== undefined && (next === undefined || isNothing(next.value)))
      return emptyPart(first, next);
    found.push(next);
  }
  const there = found.filter((part) => part !== undefined);
  const filled = there.filter(({ value }) => !isNothing(value));
  // Nothing, or HL7's delete.
  if (filled.length === 0) return there.find(({ value }) => value.trim() !== "") ?? there[0];
  const values = found.map((part) => (part === undefined || isNothing(part.value) ? "" : part.value.trim()));
  return {
    value: joinParts(values, joined),
    place: joinedPlaces(
      filled.map(({ place }) => place),
      "and",
    ),
  };
}

function emptyPart(first: Found, part: Found | undefined): Problem {
  const code = "MAPPING_VALUE_MISSING";
  return part === undefined
    ? { place: first.place, code, message: "is one part of a code, and another part is missing" }
    : {
        place: part.place,
        code,
        message: `is empty, expected the part that follows ${placeText(first.place)}`,
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
      first ??= { value: source.value, place: CONSTANT };
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
        place: joinedPlaces([first.place, found.place], "and"),
        code: "MAPPING_VALUES_DISAGREE",
        message: "must have the same value",
        hint: disagreementHint(rule, source.text),
      };
    }
    if (!rule.mustAgree) break;
  }
  if (first === undefined) {
    if (rule.fallback === undefined) return { status: "absent", place: rule.places };
    return { status: "found", value: rule.fallback, place: DEFAULT };
  }
  if (first.value.trim() === '""') return { status: "deleted", place: first.place };
  return applyPipeline(rule, first);
}

function disagreementHint({ name, sources }: ValueRule<unknown>, text: string): string {
  const correct = "Have the sender correct the one that is wrong.";
  const first = sources.find((source) => source.kind === "place")?.text ?? text;
  if (name === undefined) return correct;
  const only = settingOf(name, `{ from: ${JSON.stringify(first)}, agree: false }`);
  return byReload(
    `${correct} If the lab means two things by them, name the one that counts in the profile, such as \`${only}\`.`,
  );
}

/** Where a value stands that the profile itself brings; it is as its author wants it. */
const CONSTANT = atNamed("constant of the profile");
const DEFAULT = atNamed("default of the profile");

function applyPipeline(rule: ValueRule<unknown>, found: Found): Reading {
  const { pipeline, name, unknown, hasTable } = rule;
  let value = found.value;
  for (const [index, transform] of pipeline.entries()) {
    const result = transform(value);
    if (typeof result !== "string") {
      const { pattern, ...flaw } = result;
      const hint = pattern === undefined ? flaw.hint : patternHint(pattern, name);
      const bad = { status: "bad", ...flaw, place: found.place, hint } as const;
      if (flaw.code !== "MAPPING_CODE_UNKNOWN" || name === undefined) return bad;
      const table = `${name}.${hasTable && index === pipeline.length - 1 ? "table" : "as"}`;
      // Codes of other tables may be a patient's.
      return unknown === undefined ? { ...bad, table } : { ...bad, code: unknown, table, unknownCode: value };
    }
    value = result;
  }
  if (value.trim() === "") return { status: "absent", place: found.place };
  return misreadOf(value, found, rule) ?? { status: "found", value, place: found.place };
}

/** A word for no value is none either where a transform put something around it. */
function misreadOf(
  value: string,
  found: Found,
  { kind, allow, pipeline, name }: ValueRule<unknown>,
): Reading | undefined {
  if (kind === undefined || found.place === CONSTANT) return undefined;
  const raw = found.value.trim();
  const isDressedUp = pipeline.length > 0 && value.toLowerCase().includes(raw.toLowerCase());
  const misread =
    findMisread(value, kind, allow, name) ?? (isDressedUp ? findMisread(raw, kind, allow, name) : undefined);
  return misread && { status: "bad", place: found.place, code: "MAPPING_VALUE_INVALID", ...misread };
}

function patternHint(pattern: string, name = "the value"): string {
  return byReload(
    `Correct the value at the place that is named, or the pattern ${pattern} under \`as\` of ${name} in the profile.`,
  );
}

/** More than any lab writes into one cell. */
const MOST_PARTS = 1_000;

/** Takes the text of one place apart; each part has its place, such as `OBX-5.1, part 2`. */
export function splitFound(found: Found, split: Split | undefined): readonly Found[] | Problem {
  const parts = split?.between === undefined ? [found.value] : found.value.split(split.between);
  if (parts.length === 1) return [found];
  if (parts.length <= MOST_PARTS) {
    return parts.map((value, i) => ({ value, place: { ...found.place, part: i + 1 } }));
  }
  return {
    place: found.place,
    code: "MAPPING_TOO_MANY_LABELS",
    message: `has ${parts.length} parts, expected at most ${MOST_PARTS}`,
    expected: [String(MOST_PARTS)],
  };
}

/**
 * Reads a value that may be several: the readings of each place that counts, at least one in all. Where every place counts,
 * there is an entry for each of them, empty for one without a value; else there is one entry.
 */
export function readSeveral<P, S>(
  rule: ValueRule<P>,
  find: FinderOfSeveral<P, S>,
  scope: S,
): readonly (readonly Reading[])[] {
  const groups: (readonly Reading[])[] = [];
  for (const source of rule.sources) {
    const group = readSource(source, rule, find, scope);
    if (rule.every === true) groups.push(group);
    else if (group.length > 0) return [group];
  }
  if (groups.some((group) => group.length > 0)) return groups;
  if (rule.fallback === undefined) return [[{ status: "absent", place: rule.places }]];
  return [[{ status: "found", value: rule.fallback, place: DEFAULT }]];
}

function findEach<P, S>(
  source: Source<P>,
  find: FinderOfSeveral<P, S>,
  scope: S,
): readonly Found[] | Problem | undefined {
  if (source.kind === "constant") return [{ value: source.value, place: CONSTANT }];
  if (source.joined === undefined) return find(source.path, source.isOnly, scope);
  // What is joined is not split, so that each place has one value.
  const findOne: Finder<P, S> = (path, isOnly, from) => {
    const found = find(path, isOnly, from);
    return found === undefined || "code" in found ? found : found[0];
  };
  const joined = findJoined(source.path, source.joined, findOne, scope);
  return joined === undefined || "code" in joined ? joined : [joined];
}

function readSource<P, S>(
  source: Source<P>,
  rule: ValueRule<P>,
  find: FinderOfSeveral<P, S>,
  scope: S,
): readonly Reading[] {
  const found = findEach(source, find, scope);
  if (found === undefined) return [];
  if ("code" in found) return [{ status: "bad", ...found }];
  if (found.every(({ value }) => value.trim() === "")) return [];
  return found.map((part): Reading => {
    if (part.value.trim() === "") return { status: "absent", place: part.place };
    if (part.value.trim() === '""') return { status: "deleted", place: part.place };
    return applyPipeline(rule, part);
  });
}
