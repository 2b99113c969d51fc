import type { Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import { atSegment, joined, type Place } from "../../core/place.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import {
  type FieldPath,
  findValue,
  fitsRepetition,
  type Located,
  placeOf,
  selectSegments,
} from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import {
  type Finder,
  type FinderOfSeveral,
  type Found,
  placesOf,
  type Reading,
  readValue,
  type Source,
  type Split,
  splitFound,
  type ValueRule,
} from "../profile/value.ts";
import { hintOfIdentifiers } from "./code-hint.ts";

/**
 * What a group's own values may be read from, for each of its OBRs: that, ORC and what stands beside it, without the
 * segments of specimens; and what no order has alone.
 */
export function groupScopes(
  { orc, others, obrs }: OrderGroup,
  shared: readonly Segment[],
): readonly (readonly Segment[])[] {
  const head = orc === undefined ? others : [orc, ...others];
  return obrs.length === 0 ? [[...head, ...shared]] : obrs.map((obr) => [...head, obr, ...shared]);
}

/**
 * Finds a code, a number, a date or a name among the given segments only, nearest first: an order never reads what belongs to
 * another. It comes whole, or not at all.
 *
 * @param between what parts it into several values
 */
export function findIn(
  path: FieldPath,
  isOnly: boolean,
  scope: readonly Segment[],
  between?: RegExp,
): Located | Problem | undefined {
  const located = findValue(path, scope);
  if (located === undefined) return undefined;
  const { segment, repetition } = located;
  return (
    (isOnly ? findRepeated(path, segment) : undefined) ??
    findFlaw(path, segment, repetition, between) ??
    findSubcomponents(path, located) ??
    otherValued(scope, path, located) ??
    located
  );
}

/** Where a field has several values that the profile wants only one of. */
function findRepeated(path: FieldPath, segment: Segment): Problem | undefined {
  if (countValued(segment, path.field) <= 1) return undefined;
  return {
    place: atSegment(segment, { field: path.field }),
    code: "MAPPING_VALUE_INVALID",
    message: "repeats, expected one value",
    hint: byReload(
      `Have the sender fill in one value, or name the repetition that is meant in the profile, such as \`${pathOfRepetition(path)}\`.`,
    ),
  };
}

/** What of a code or a name is none, or was cut by the sender. */
function findFlaw(
  path: FieldPath,
  segment: Segment,
  repetition: number,
  between: RegExp | undefined,
): Problem | undefined {
  const { field, component = 1, subcomponent } = path;
  const flaw = segment.flawOf({ field, repetition, component, subcomponent: subcomponent ?? 1 }, between);
  if (flaw === undefined) {
    // The mark stands at the end of what was cut, which may have subcomponents.
    const whole = segment.flawOf({ field, repetition, component, subcomponent }, between);
    if (whole !== "truncated" || isNested(path)) return undefined;
  }
  const place = placeOf(path, segment, repetition);
  if (flaw === "formatting" || flaw === "control") {
    const what =
      flaw === "control"
        ? "a control character as an escape"
        : "formatting of HL7 (such as \\.br\\ or \\H\\)";
    return { place, code: "MAPPING_CHARACTER_INVALID", message: `holds ${what}, expected a value without` };
  }
  return {
    place,
    code: "MAPPING_VALUE_INVALID",
    message: "ends with the truncation character of MSH-2: the sender cut it; expected the whole value",
    hint: "Have the sender send the value in full; one that ends with that character is written with \\P\\.",
  };
}

/**
 * Components that have subcomponents by the standard, by field: identifiers with their authority, codes with their texts. The
 * first stands for all of them (HL7 chapter 2.8.3).
 */
const NESTED: Readonly<Record<string, readonly number[]>> = {
  ...Object.fromEntries(
    ["PID-2", "PID-3", "PID-4", "PID-18", "MRG-1", "MRG-4"].map((at) => [at, [4, 6, 9, 10]]),
  ),
  ...Object.fromEntries(["PV1-3", "PV1-6", "PV1-42", "ORC-13"].map((at) => [at, [1, 4, 10, 11]])),
  ...Object.fromEntries(
    ["PV1-7", "PV1-8", "PV1-9", "PV1-17", "ORC-10", "ORC-11", "ORC-12"].map((at) => [at, [2, 9, 14]]),
  ),
  ...Object.fromEntries(["ORC-19", "OBR-10", "OBR-16", "OBR-28", "OBX-16"].map((at) => [at, [2, 9, 14]])),
  ...Object.fromEntries(["ORC-8", "OBR-29", "OBR-54", "SPM-2", "SPM-3"].map((at) => [at, [1, 2]])),
  ...Object.fromEntries(["ORC-21", "OBX-23"].map((at) => [at, [6, 8]])),
  "OBR-15": [1, 2, 4, 5, 6, 7],
};

function isNested({ segment, field, component = 1 }: FieldPath): boolean {
  return NESTED[`${segment}-${field}`]?.includes(component) ?? false;
}

/** An `&` that nobody escaped cuts what stands before it: whose subcomponents are none by the standard, is not read. */
function findSubcomponents(path: FieldPath, { segment, repetition, value }: Located): Problem | undefined {
  const { field, component = 1, subcomponent } = path;
  if (subcomponent !== undefined || isNested(path)) return undefined;
  if (segment.partsLeftOut(field, repetition, component) !== "subcomponents") return undefined;
  if (component === 1 && ["PID-5", "PID-9", "MRG-7"].includes(`${path.segment}-${field}`)) {
    const parts = [2, 3, 4, 5, 6].map((n) => segment.get(field, repetition, component, n)?.trim() ?? "");
    if (parts.every((part) => isPartOfName(part, value))) return undefined;
  }
  return {
    place: placeOf(path, segment, repetition),
    code: "MAPPING_VALUE_INVALID",
    message: "has several subcomponents, expected one",
    hint: byReload(
      `Have the sender write an & in a value as \\T\\, or name the subcomponent that is meant in the profile, such as \`${path.path}${path.component === undefined ? ".1.1" : ".1"}\`.`,
    ),
  };
}

/**
 * Whether a further part of a family name (HL7 chapter 2A, FN: the name as a whole, then its prefix and its own part) is one,
 * and not what followed an `&`.
 */
function isPartOfName(part: string, whole: string): boolean {
  return whole.toLowerCase().includes(part.toLowerCase()) || PREFIXES.test(part);
}

const PREFIXES =
  /^(?:(?:van|von|vom|de|den|der|des|del|della|di|da|do|dos|du|la|las|le|los|el|al|bin|ben|ibn|ter|ten|te|zu|zum|zur|af|av|y|e|i|und|'t|op|in|d')(?: |$))+$/i;

/** Fields of free text (ST, TX, FT), in which a delimiter is one that nobody escaped. OBX-5 is one by OBX-2. */
const TEXT_FIELDS: readonly string[] = ["NTE-3", "SPM-14", "OBR-13", "OBR-31", "TQ1-10", "TQ1-11"];
const TEXT_TYPES: readonly string[] = ["", "ST", "TX", "FT"];

/** Coded fields that don't repeat by the standard: a second repetition is what followed a `~` in a text. */
const SINGLE_FIELDS: readonly string[] = ["SPM-4", "OBR-4", "OBR-15", "OBX-3"];

function isText({ segment: name, field }: FieldPath, segment: Segment): boolean {
  if (name === "OBX" && field === 5) return TEXT_TYPES.includes(segment.get(2)?.trim() ?? "");
  return TEXT_FIELDS.includes(`${name}-${field}`) || name.startsWith("Z");
}

/**
 * Finds free text, which keeps whatever delimiters stand in it: those of its component, or in a field that is text, of its
 * repetitions too. Formatting becomes blanks, and a text that the sender cut is marked so.
 */
export function findText(
  path: FieldPath,
  isOnly: boolean,
  scope: readonly Segment[],
): Found | Problem | undefined {
  const { field, whichRepetition, component } = path;
  const candidates = candidatesOf(path, scope);
  for (const segment of path.whichSegment === undefined ? candidates.slice(0, 1) : candidates) {
    if (component === undefined && !isOnly && isText(path, segment)) {
      const repetition = whichRepetition === undefined ? undefined : findGiven(segment, path);
      if (whichRepetition !== undefined && repetition === undefined) continue;
      const value = segment.plainText({ field, repetition });
      if (value.trim() !== "") return { value, place: placeOf(path, segment, repetition ?? 1) };
      continue;
    }
    const { whichSegment: _, ...within } = path;
    const located = findValue(within, [segment]);
    if (located === undefined) continue;
    const isSingle =
      isOnly || (whichRepetition === undefined && SINGLE_FIELDS.includes(`${path.segment}-${field}`));
    const repeated = isSingle ? findRepeated(within, segment) : undefined;
    if (repeated) return repeated;
    const subcomponent = path.subcomponent ?? (isNested(path) ? 1 : undefined);
    const { repetition, place } = located;
    const value = segment.plainText({ field, repetition, component: component ?? 1, subcomponent });
    return { value, place };
  }
  return undefined;
}

/**
 * The places of a label, a number or a date that count in these segments. The first place of a list counts as soon as its
 * segment is there, so that an empty SAC-3 is an error and never filled with what another segment has. What follows in the
 * list is for messages that never have that segment; another field of the same segment (SPM-2.2 after SPM-2.1), another
 * kind of repetition (PI after MR) for those in which no such segment has the first one. Places that must agree are places
 * of one and the same number, and each may give it.
 *
 * @param all all segments of the order that the value could be read from
 */
export function inForce(rule: ValueRule<FieldPath>, all: () => readonly Segment[]): ValueRule<FieldPath> {
  const { sources, mustAgree, fallback, every } = rule;
  if (every === true || (fallback === undefined && (mustAgree || sources.length <= 1))) return rule;
  const segments = all();
  let same: Source<FieldPath>[] = [];
  for (const [i, source] of sources.entries()) {
    if (source.kind === "constant") return { ...rule, sources: [source] };
    const { path } = source;
    const candidates = candidatesOf(path, segments);
    if (mustAgree) {
      if (candidates.length > 0) return { ...rule, fallback: undefined };
      continue;
    }
    same.push(source);
    const next = sources[i + 1];
    const isLastOfSame = next?.kind !== "place" || segmentOf(next.path) !== segmentOf(path);
    const isGiven = candidates.some((segment) => findGiven(segment, path) !== undefined);
    if (isGiven || (isLastOfSame && candidates.length > 0)) {
      return { ...rule, sources: same, places: placesOf(same), fallback: undefined };
    }
    if (isLastOfSame) same = [];
  }
  return { ...rule, sources: [] };
}

/** `SAC`, or `OBX` with what the path wants of it. */
function segmentOf({ segment, whichSegment }: FieldPath): string {
  return segment + JSON.stringify(whichSegment);
}

/** The segments that a path means: all of its name without a condition. */
export function candidatesOf({ segment: name, whichSegment }: FieldPath, segments: readonly Segment[]) {
  const named = segments.filter((segment) => segment.name === name);
  return whichSegment === undefined ? named : selectSegments(whichSegment, named);
}

/** The repetition that has the value; or that is of the kind that the path names, were it empty. */
function findGiven(
  segment: Segment,
  { field, whichRepetition, component, subcomponent }: FieldPath,
): number | undefined {
  const count = segment.repetitions(field);
  for (let n = 1; n <= count; n++) {
    if (whichRepetition?.kind === "where") {
      if (fitsRepetition(segment, field, n, whichRepetition.conditions)) return n;
    } else if ((segment.get(field, n, component, subcomponent)?.trim() ?? "") !== "") return n;
  }
  return undefined;
}

/** Where a value should stand that is missing, such as `SAC[2]-3.1`; undefined where the scope has no such segment. */
export function missingAt({ sources }: ValueRule<FieldPath>, scope: readonly Segment[]): Place | undefined {
  const places = sources.flatMap((source) => {
    if (source.kind === "constant") return [];
    const { path } = source;
    const [segment] = candidatesOf(path, scope);
    if (segment === undefined) return [];
    const { whichRepetition } = path;
    const n = whichRepetition?.kind === "where" ? findGiven(segment, path) : (whichRepetition?.n ?? 1);
    return n === undefined ? [] : [placeOf(path, segment, n)];
  });
  return places.length === 0 ? undefined : joined(places, "or");
}

/**
 * Reads a number, a code or a date from the places that count ({@link inForce}).
 *
 * @param all all segments of the order that the value could be read from; those of the scope unless given
 */
export function readStrictly(
  rule: ValueRule<FieldPath>,
  find: Finder<FieldPath, readonly Segment[]>,
  scope: readonly Segment[],
  all: () => readonly Segment[] = () => scope,
): Reading {
  const counting = inForce(rule, all);
  const reading = readValue(counting, find, scope);
  if (reading.status !== "absent") return reading;
  return { status: "absent", place: missingAt(counting, scope) ?? reading.place };
}

/**
 * Finds a value of which there can be only one: a number, a code, a label. Where its field repeats with another one and the
 * path doesn't say which repetition is meant, none is chosen: the others would be lost without a word.
 */
export function findSingle(
  path: FieldPath,
  isOnly: boolean,
  scope: readonly Segment[],
  between?: RegExp,
): Located | Problem | undefined {
  const found = findIn(path, isOnly, scope, between);
  if (found === undefined || "code" in found || path.whichRepetition !== undefined) return found;
  const { field, component, subcomponent } = path;
  const { segment } = found;
  const count = segment.repetitions(field);
  for (let n = 2; n <= count; n++) {
    const other = segment.get(field, n, component, subcomponent)?.trim() ?? "";
    if (other === "" || other === found.value.trim()) continue;
    return {
      place: joined([found.place, atSegment(segment, { field, repetition: n, component })], "and"),
      code: "MAPPING_VALUE_INVALID",
      message: "are different values in one field, expected one",
      hint: byReload(
        `Have the sender write a segment for each, or name the repetition that is meant in the profile, such as \`${pathOfRepetition(path)}\`. Of labels, \`split: repetitions\` reads all.`,
      ),
    };
  }
  return found;
}

/**
 * Finds what may be several values: the repetitions of a field where they are, and what a separator stands between.
 *
 * @param areLabels labels come whole: a path without a component means the first, and where others are filled too, none of
 * them is left out without a word
 */
export function findSeveral(
  split: Split | undefined,
  areLabels = false,
): FinderOfSeveral<FieldPath, readonly Segment[]> {
  return (path, isOnly, scope) => {
    const isRepeated = split?.repetitions === true;
    const found = (isRepeated ? findIn : findSingle)(path, isOnly, scope, split?.between);
    if (found === undefined || "code" in found) return found;
    const parts = isRepeated ? splitRepetitions(path, found.segment, split) : splitFound(found, split);
    if ("code" in parts || !areLabels) return parts;
    return findMoreParts(path, found.segment) ?? parts;
  };
}

/** Where a field, or a component, has more filled parts than the first, and the path does not say which is meant. */
function findMoreParts(path: FieldPath, segment: Segment): Problem | undefined {
  const { field, component, subcomponent } = path;
  if (subcomponent !== undefined) return undefined;
  for (const n of repetitionsMeant(path, segment)) {
    const more = segment.partsLeftOut(field, n, component);
    if (more === undefined) continue;
    const first = component === undefined && more === "subcomponents" ? ".1.1" : ".1";
    return {
      place: placeOf(path, segment, n),
      code: "MAPPING_VALUE_INVALID",
      message: `has several ${more}, expected one`,
      hint: byReload(
        `Have the sender fill in one, or name the one that is meant in the profile, such as \`${path.path}${first}\`.`,
      ),
    };
  }
  return undefined;
}

/** The numbers of the repetitions of a field that a path means; of all where it doesn't say. */
function repetitionsMeant({ field, whichRepetition: which }: FieldPath, segment: Segment): readonly number[] {
  const all = Array.from({ length: segment.repetitions(field) }, (_, index) => index + 1);
  if (which === undefined) return all;
  return all.filter((n) =>
    which.kind === "nth" ? which.n === n : fitsRepetition(segment, field, n, which.conditions),
  );
}

function splitRepetitions(path: FieldPath, segment: Segment, split: Split): readonly Found[] | Problem {
  const { field, component, subcomponent } = path;
  const all: Found[] = [];
  for (const n of repetitionsMeant(path, segment)) {
    const value = segment.get(field, n, component, subcomponent) ?? "";
    const flaw = findFlaw(path, segment, n, split.between);
    if (flaw !== undefined) return flaw;
    const found = splitFound({ value, place: placeOf(path, segment, n) }, split);
    if ("code" in found) return found;
    all.push(...found);
  }
  return all;
}

/**
 * Where a path means several segments, and they have different values. What stands before the orders is further away than an
 * order's own, and does not contradict it.
 */
function otherValued(scope: readonly Segment[], path: FieldPath, found: Located): Problem | undefined {
  if (path.whichSegment?.kind === "nth") return undefined;
  for (const segment of candidatesOf(path, scope)) {
    if (segment.index < found.segment.index) continue;
    const { whichSegment: _, ...within } = path;
    const other = findValue(within, [segment]);
    if (other === undefined || other.value.trim() === "" || other.value.trim() === found.value.trim())
      continue;
    return {
      place: joined([found.place, other.place], "and"),
      code: "MAPPING_VALUES_DISAGREE",
      message: "are different values of one thing, expected one",
      hint: byReload(
        `Have the sender correct one of the values, or name the segment that is meant in the profile, such as \`${pathOfOne(path)}\`.`,
      ),
    };
  }
  return undefined;
}

/** The same place in the first repetition of its field: what to write in a profile. */
export function pathOfRepetition({ path, whichRepetition }: FieldPath): string {
  if (whichRepetition !== undefined) return path;
  const dash = path.startsWith("[", 3) ? path.indexOf("]-") + 1 : 3;
  const [, field = "", rest = ""] = /^(-\d+)(.*)$/.exec(path.slice(dash)) ?? [];
  return `${path.slice(0, dash)}${field}[1]${rest}`;
}

/** A path that selects one segment where this one means several: what to write in a profile. */
export function pathOfOne({ path, whichSegment }: FieldPath): string {
  return whichSegment === undefined ? `${path.slice(0, 3)}[1]${path.slice(3)}` : path.replace("]", "&1=1]");
}

/**
 * Finds the subject code among the segments of one patient. Where several identifiers fit the profile's condition and
 * differ, none is chosen: taking the wrong one would store one patient's samples under another's code.
 */
export function findSubjectCode(
  path: FieldPath,
  isOnly: boolean,
  scope: readonly Segment[],
): Found | Problem | undefined {
  const holder = isOnly ? findValue(path, scope)?.segment : undefined;
  const repeated = holder && findRepeated(path, holder);
  if (holder && repeated) {
    return { ...repeated, code: "MAPPING_SUBJECT_AMBIGUOUS", hint: hintOfIdentifiers(path, holder) };
  }
  const found = findIn(path, isOnly, scope);
  if (found === undefined || "code" in found) return found;
  if (path.whichRepetition?.kind !== "where") return found;
  const { segment } = found;
  for (const n of repetitionsMeant(path, segment)) {
    const value = segment.get(path.field, n, path.component, path.subcomponent);
    if (value === undefined || value.trim() === found.value.trim()) continue;
    const other = { field: path.field, repetition: n, component: path.component ?? 1 };
    return {
      place: joined([found.place, atSegment(segment, other)], "and"),
      code: "MAPPING_SUBJECT_AMBIGUOUS",
      message: "are different identifiers of one kind, expected one",
      hint: byReload(
        `Both fit ${path.path} of the profile: name the assigning authority too, such as \`PID-3[4.1=LAB&5=MR].1\`.`,
      ),
    };
  }
  return found;
}

/** What to do about several OBRs below one ORC that have different numbers; undefined where there is one. */
export function eachHint({ obrs }: OrderGroup, { name }: { readonly name: string }): string | undefined {
  return obrs.length > 1
    ? byReload(
        `Correct the wrong number. Where each OBR is an order of its own, set \`orders: { each: OBR }\` in profile ${name}.`,
      )
    : undefined;
}

/** `PID`, or `PID[2]` for a later one. */
export function nameOf({ name, ordinal }: Segment): string {
  return ordinal > 1 ? `${name}[${ordinal}]` : name;
}

function countValued(segment: Segment, field: number): number {
  const repetitions = segment.repetitions(field);
  let count = 0;
  for (let n = 1; n <= repetitions; n++) {
    if (segment.get(field, n) !== undefined) count++;
  }
  return count;
}
