import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { Segment } from "../../formats/hl7/message.ts";
import {
  type FieldPath,
  findValue,
  fitsRepetition,
  placeOf,
  selectSegments,
} from "../../formats/hl7/path.ts";
import {
  type Finder,
  type FinderOfSeveral,
  type Found,
  type Misfit,
  placesOf,
  type Reading,
  readValue,
  type Source,
  type Split,
  splitFound,
  type ValueRule,
} from "../profile/value.ts";

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

/** Finds a value among the given segments only, nearest first: an order never reads what belongs to another. */
export function findIn(
  path: FieldPath,
  isOnly: boolean,
  scope: readonly Segment[],
): Found | Misfit | undefined {
  const found = findValue(path, scope);
  if (found === undefined || !isOnly) return found;
  const segment = firstOf(scope, path);
  if (segment === undefined || countValued(segment, path.field) <= 1) return found;
  return {
    place: `${nameOf(segment)}-${path.field}`,
    code: "MAPPING_VALUE_INVALID",
    trouble: "repeats, expected one value",
    hint: `Have the sender fill in one value, or name the repetition that is meant in the profile, such as ${path.segment}-${path.field}[1].`,
  };
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
export function missingAt({ sources }: ValueRule<FieldPath>, scope: readonly Segment[]): string | undefined {
  const places = sources.flatMap((source) => {
    if (source.kind === "constant") return [];
    const { path } = source;
    const [segment] = candidatesOf(path, scope);
    if (segment === undefined) return [];
    const { whichRepetition } = path;
    const n = whichRepetition?.kind === "where" ? findGiven(segment, path) : (whichRepetition?.n ?? 1);
    return n === undefined ? [] : [placeOf(path, segment, n)];
  });
  return places.length === 0 ? undefined : places.join(" or ");
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
): Found | Misfit | undefined {
  const found = findIn(path, isOnly, scope);
  if (found === undefined || "code" in found) return found;
  const several = path.whichSegment?.kind === "where" ? otherValued(scope, path, found) : undefined;
  if (several !== undefined || path.whichRepetition !== undefined) return several ?? found;
  const { field, component, subcomponent } = path;
  const segment = firstValued(scope, path);
  if (segment === undefined) return found;
  const count = segment.repetitions(field);
  for (let n = 2; n <= count; n++) {
    const other = segment.get(field, n, component, subcomponent)?.trim() ?? "";
    if (other === "" || other === found.value.trim()) continue;
    return {
      place: `${found.place} and ${nameOf(segment)}-${field}[${n}]${component === undefined ? "" : `.${component}`}`,
      code: "MAPPING_VALUE_INVALID",
      trouble: "are different values in one field, expected one",
      hint: `Have the sender write a segment for each, or name the repetition that is meant in the profile, such as ${path.segment}-${field}[1]. Of labels, \`split: repetitions\` reads all.`,
    };
  }
  return found;
}

/** Finds what may be several values: the repetitions of a field where they are, and what a separator stands between. */
export function findSeveral(split: Split | undefined): FinderOfSeveral<FieldPath, readonly Segment[]> {
  return (path, isOnly, scope) => {
    if (split?.repetitions !== true) {
      const found = findSingle(path, isOnly, scope);
      return found === undefined || "code" in found ? found : splitFound(found, split);
    }
    const found = findIn(path, isOnly, scope);
    if (found === undefined || "code" in found) return found;
    const other = path.whichSegment?.kind === "where" ? otherValued(scope, path, found) : undefined;
    const segment = firstValued(scope, path);
    if (other !== undefined || segment === undefined) return other ?? [found];
    return splitRepetitions(path, segment, split);
  };
}

/**
 * Finds labels, which come whole: a path without a component means the first, and where others are filled too, none of them is
 * left out without a word.
 */
export function findLabels(split: Split | undefined): FinderOfSeveral<FieldPath, readonly Segment[]> {
  const find = findSeveral(split);
  return (path, isOnly, scope) => {
    const found = find(path, isOnly, scope);
    if (found === undefined || "code" in found) return found;
    return findMoreParts(path, firstValued(scope, path)) ?? found;
  };
}

/** Where a field, or a component, has more filled parts than the first, and the path does not say which is meant. */
function findMoreParts(path: FieldPath, segment: Segment | undefined): Misfit | undefined {
  const { field, whichRepetition, component, subcomponent } = path;
  if (segment === undefined || subcomponent !== undefined) return undefined;
  const count = segment.repetitions(field);
  for (let n = 1; n <= count; n++) {
    if (whichRepetition?.kind === "nth" && whichRepetition.n !== n) continue;
    if (whichRepetition?.kind === "where" && !fitsRepetition(segment, field, n, whichRepetition.conditions))
      continue;
    const more = segment.partsLeftOut(field, n, component);
    if (more === undefined) continue;
    const first = component === undefined && more === "subcomponents" ? ".1.1" : ".1";
    return {
      place: placeOf(path, segment, n),
      code: "MAPPING_VALUE_INVALID",
      trouble: `has several ${more}, expected one`,
      hint: `Have the sender fill in one, or name the one that is meant in the profile, such as ${path.path}${first}.`,
    };
  }
  return undefined;
}

function splitRepetitions(path: FieldPath, segment: Segment, split: Split): readonly Found[] | Misfit {
  const { field, whichRepetition, component, subcomponent } = path;
  const all: Found[] = [];
  const count = segment.repetitions(field);
  for (let n = 1; n <= count; n++) {
    if (whichRepetition?.kind === "nth" && whichRepetition.n !== n) continue;
    if (whichRepetition?.kind === "where" && !fitsRepetition(segment, field, n, whichRepetition.conditions))
      continue;
    const value = segment.get(field, n, component, subcomponent) ?? "";
    const found = splitFound({ value, place: placeOf(path, segment, n) }, split);
    if ("code" in found) return found;
    all.push(...found);
  }
  return all;
}

/** Where a condition selects several segments, and they have different values. */
function otherValued(scope: readonly Segment[], path: FieldPath, found: Found): Misfit | undefined {
  for (const segment of candidatesOf(path, scope)) {
    const { whichSegment: _, ...within } = path;
    const other = findValue(within, [segment]);
    if (other === undefined || other.value.trim() === "" || other.value.trim() === found.value.trim())
      continue;
    return {
      place: `${found.place} and ${other.place}`,
      code: "MAPPING_VALUE_INVALID",
      trouble: "are different values of one thing, expected one",
      hint: "Correct one of the values, or name the segment that is meant in the profile.",
    };
  }
  return undefined;
}

/** The segment that {@link findValue} finds the value of a path in. */
function firstValued(scope: readonly Segment[], path: FieldPath): Segment | undefined {
  if (path.whichSegment === undefined) return firstOf(scope, path);
  const named = scope.filter(({ name }) => name === path.segment);
  return selectSegments(path.whichSegment, named).find(
    (segment) => segment.get(path.field, 1, path.component, path.subcomponent) !== undefined,
  );
}

/**
 * Finds the subject code among the segments of one patient. Where several identifiers fit the profile's condition and
 * differ, none is chosen: taking the wrong one would store one patient's samples under another's code.
 */
export function findSubjectCode(
  path: FieldPath,
  isOnly: boolean,
  scope: readonly Segment[],
): Found | Misfit | undefined {
  const found = findIn(path, isOnly, scope);
  if (found === undefined) return undefined;
  if ("code" in found) return { ...found, code: "MAPPING_SUBJECT_AMBIGUOUS" };
  if (path.whichRepetition?.kind !== "where") return found;
  const { conditions } = path.whichRepetition;
  const segment = firstOf(scope, path);
  if (segment === undefined) return found;
  const count = segment.repetitions(path.field);
  for (let n = 1; n <= count; n++) {
    if (!fitsRepetition(segment, path.field, n, conditions)) continue;
    const other = segment.get(path.field, n, path.component, path.subcomponent);
    if (other === undefined || other.trim() === found.value.trim()) continue;
    return {
      place: `${found.place} and ${nameOf(segment)}-${path.field}[${n}].${path.component ?? 1}`,
      code: "MAPPING_SUBJECT_AMBIGUOUS",
      trouble: "are different identifiers of one kind, expected one",
      hint: `Both fit ${path.path} of the profile: name the assigning authority too, such as PID-3[4.1=LAB&5=MR].1.`,
    };
  }
  return found;
}

function firstOf(scope: readonly Segment[], path: FieldPath): Segment | undefined {
  return scope.find(({ name }) => name === path.segment);
}

/** What to do about several OBRs below one ORC that have different numbers; undefined where there is one. */
export function eachHint({ obrs }: OrderGroup, { name }: { readonly name: string }): string | undefined {
  return obrs.length > 1
    ? `Correct the wrong number. Where each OBR is an order of its own, set \`orders: { each: OBR }\` in profile ${name}.`
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
