import type { Hl7Message, Segment } from "../formats/hl7/message.ts";
import { type FieldPath, fitsRepetition } from "../formats/hl7/path.ts";
import type { Finder } from "./value.ts";

/** Finds values among the given segments only, nearest first: an order never reads what belongs to another. */
export function findIn(message: Hl7Message, scope: readonly Segment[]): Finder<FieldPath> {
  return (path, isOnly) => {
    const found = message.find(path, scope);
    if (found === undefined || !isOnly) return found;
    const segment = scope.find(({ name }) => name === path.segment);
    if (segment === undefined || countValued(segment, path.field) <= 1) return found;
    return {
      place: `${nameOf(segment)}-${path.field}`,
      code: "MAPPING_VALUE_INVALID",
      trouble: "repeats, and the profile does not say which repetition is meant",
    };
  };
}

/**
 * Finds the subject code. Where several identifiers fit the profile's condition and differ, none is chosen: taking
 * the wrong one would store one patient's samples under another's code.
 *
 * @param scope the segments of one patient, where the message has several
 */
export function findSubjectCode(
  message: Hl7Message,
  scope: readonly Segment[] = message.segments,
): Finder<FieldPath> {
  const find = findIn(message, scope);
  return (path, isOnly) => {
    const found = find(path, isOnly);
    if (found === undefined) return undefined;
    if ("code" in found) return { ...found, code: "MAPPING_SUBJECT_AMBIGUOUS" };
    if (path.whichRepetition?.kind !== "where") return found;
    const segment = scope.find(({ name }) => name === path.segment);
    for (let n = 1; n <= (segment?.repetitions(path.field) ?? 0); n++) {
      const other = matches(segment, path, n) ? valueAt(segment, path, n) : undefined;
      if (other === undefined || other.trim() === found.value.trim()) continue;
      return {
        place: `${found.place} and ${segment && nameOf(segment)}-${path.field}[${n}].${path.component ?? 1}`,
        code: "MAPPING_SUBJECT_AMBIGUOUS",
        trouble: `are different identifiers that both fit ${path.path}; name the assigning authority too`,
      };
    }
    return found;
  };
}

/** `PID`, or `PID[2]` for a later one. */
function nameOf({ name, ordinal }: Segment): string {
  return ordinal > 1 ? `${name}[${ordinal}]` : name;
}

function countValued(segment: Segment, field: number): number {
  let count = 0;
  for (let n = 1; n <= segment.repetitions(field); n++) {
    if (segment.get(field, n) !== undefined) count++;
  }
  return count;
}

function matches(segment: Segment | undefined, path: FieldPath, repetition: number): boolean {
  if (segment === undefined || path.whichRepetition?.kind !== "where") return false;
  return fitsRepetition(segment, path.field, repetition, path.whichRepetition.conditions);
}

function valueAt(segment: Segment | undefined, path: FieldPath, repetition: number): string | undefined {
  return segment?.get(path.field, repetition, path.component, path.subcomponent);
}
