import type { Hl7Message, Segment } from "../formats/hl7/message.ts";
import type { FieldPath } from "../formats/hl7/path.ts";
import type { Finder } from "./value.ts";

/** Finds values among the given segments only, nearest first: an order never reads what belongs to another. */
export function findIn(message: Hl7Message, scope: readonly Segment[]): Finder<FieldPath> {
  return (path, isOnly) => {
    const found = message.find(path, scope);
    if (found === undefined || !isOnly) return found;
    const segment = scope.find(({ name }) => name === path.segment);
    if (segment === undefined || countValued(segment, path.field) <= 1) return found;
    return {
      place: `${path.segment}-${path.field}`,
      code: "MAPPING_VALUE_INVALID",
      trouble: "repeats, and the profile does not say which repetition is meant",
    };
  };
}

/**
 * Finds the subject code. Where several identifiers fit the profile's condition and differ, none is chosen: taking
 * the wrong one would store one patient's samples under another's code.
 */
export function findSubjectCode(message: Hl7Message): Finder<FieldPath> {
  const find = findIn(message, message.segments);
  return (path, isOnly) => {
    const found = find(path, isOnly);
    if (found === undefined) return undefined;
    if ("code" in found) return { ...found, code: "MAPPING_SUBJECT_AMBIGUOUS" };
    if (path.whichRepetition?.kind !== "where") return found;
    const segment = message.first(path.segment);
    for (let n = 1; n <= (segment?.repetitions(path.field) ?? 0); n++) {
      const other = matches(segment, path, n) ? valueAt(segment, path, n) : undefined;
      if (other === undefined || other.trim() === found.value.trim()) continue;
      return {
        place: `${found.place} and ${path.segment}-${path.field}[${n}].${path.component ?? 1}`,
        code: "MAPPING_SUBJECT_AMBIGUOUS",
        trouble: `are different identifiers that both fit ${path.path}; name the assigning authority too`,
      };
    }
    return found;
  };
}

function countValued(segment: Segment, field: number): number {
  let count = 0;
  for (let n = 1; n <= segment.repetitions(field); n++) {
    if (segment.get(field, n) !== undefined) count++;
  }
  return count;
}

function matches(segment: Segment | undefined, path: FieldPath, repetition: number): boolean {
  if (path.whichRepetition?.kind !== "where") return false;
  return path.whichRepetition.conditions.every(({ at: [component, subcomponent], isEqual, value }) => {
    return (segment?.get(path.field, repetition, component, subcomponent) === value) === isEqual;
  });
}

function valueAt(segment: Segment | undefined, path: FieldPath, repetition: number): string | undefined {
  return segment?.get(path.field, repetition, path.component, path.subcomponent);
}
