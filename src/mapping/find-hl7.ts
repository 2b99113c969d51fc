import type { OrderGroup } from "../formats/hl7/groups.ts";
import type { Segment } from "../formats/hl7/message.ts";
import { type FieldPath, findValue, fitsRepetition, selectSegments } from "../formats/hl7/path.ts";
import type { Found, Misfit } from "./value.ts";

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
    trouble: "repeats, and the profile does not say which repetition is meant",
  };
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
  if (found === undefined || "code" in found || path.whichRepetition !== undefined) return found;
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
      trouble:
        "are different values in one field, expected one; the sender writes a segment for each, or the profile says which repetition is meant",
    };
  }
  return found;
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
      trouble: `are different identifiers that both fit ${path.path}; name the assigning authority too`,
    };
  }
  return found;
}

function firstOf(scope: readonly Segment[], path: FieldPath): Segment | undefined {
  return scope.find(({ name }) => name === path.segment);
}

/** `PID`, or `PID[2]` for a later one. */
function nameOf({ name, ordinal }: Segment): string {
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
