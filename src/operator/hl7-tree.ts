import { type Delimiters, parseDelimiters, STANDARD_DELIMITERS } from "../formats/hl7/delimiters.ts";
import type { Dictionary } from "../formats/hl7/dictionary.ts";
import type { Hl7Message } from "../formats/hl7/message.ts";
import { isSegmentName, type Segment } from "../formats/hl7/segment.ts";
import { isFixedField } from "../formats/hl7/sent-segments.ts";
import { type Leaf, leavesOf } from "../formats/hl7/tree.ts";
import {
  SHOWN_BUT,
  SHOWN_FIELDS,
  SHOWN_OBSERVATIONS,
  SHOWN_OWN_FIELDS,
  SHOWN_OWN_OBSERVATION,
} from "./shown.ts";
import { cleanLines, HIDDEN } from "./text.ts";

/** A segment as people read it, with what may be a patient's hidden. */
export interface ShownSegment {
  readonly segment: string;
  /** What HL7 calls it. */
  readonly name: string | null;
  readonly values: readonly ShownValue[];
}

interface ShownValue {
  readonly place: string;
  readonly name: string | null;
  readonly value: string;
  /** What a code stands for; nothing for a value that is hidden. */
  readonly meaning: string | null;
}

interface Reading {
  readonly dictionary: Dictionary;
  readonly mayShowPhi: boolean;
}

/** A segment's values with their places, names and meanings. */
export function describeSegment(segment: Segment, message: Hl7Message, reading: Reading): ShownSegment {
  const { version } = message.header;
  return {
    segment: segment.name,
    name: reading.dictionary.segment(version, segment.name) ?? null,
    values: leavesOf(segment, message).map((leaf) => describeLeaf(leaf, segment, version, reading)),
  };
}

function describeLeaf(
  leaf: Leaf,
  { name: segment }: Segment,
  version: string | undefined,
  { dictionary, mayShowPhi }: Reading,
): ShownValue {
  const { place, field, component, subcomponent } = leaf;
  const value = shownValue(segment, leaf, leaf.value, mayShowPhi);
  const mayMean = value === leaf.value && (component === undefined || component === 1);
  const named = (...parts: [component: number, subcomponent?: number]) =>
    dictionary.component(version, segment, field, ...parts);
  const within = component !== undefined && subcomponent !== undefined && named(component, subcomponent);
  const part = within || (component === undefined ? undefined : named(component));
  const names = [dictionary.field(version, segment, field), part];
  return {
    place,
    name: names.filter((name) => name !== undefined).join(", ") || null,
    value,
    meaning: (mayMean ? dictionary.code(version, segment, field, value) : undefined) ?? null,
  };
}

/** Whether a profile may have filled a field of a message of ours with what the lab wrote. */
export type IsFilled = (segment: string, field: number) => boolean;

/** Of a message that was composed long ago nobody knows by which profile: it may have filled whatever a site may have otherwise. */
export const filledByAny: IsFilled = (segment, field) => !isFixedField(segment, field);

/** A value of a message for the screen: hidden where it may say something of a person, unless that was asked for. */
export function shownValue(
  segment: string,
  { field, component = 1 }: { readonly field: number; readonly component?: number | undefined },
  value: string,
  mayShowPhi: boolean,
): string {
  return mayShowPhi || isShown({ segment, field, component }) ? value : HIDDEN;
}

interface At {
  readonly segment: string;
  readonly field: number;
  /** Undefined for the whole field. */
  readonly component?: number | undefined;
  /** OBX-3.1. */
  readonly observation?: string | undefined;
}

/** @param isFilled given of a message of ours, of which texts are shown, too: what a foreign system wrote as text may be about a patient */
function isShown({ segment, field, component, observation = "" }: At, isFilled?: IsFilled): boolean {
  if (isFilled?.(segment, field)) return false;
  const hidden = SHOWN_BUT.get(segment);
  if (hidden) return !hidden.has(`${field}`);
  const isIn = (fields: ReadonlySet<string> | undefined) => fields?.has(`${field}`) === true;
  const shown = SHOWN_FIELDS.get(segment);
  if (isIn(shown) || shown?.has(`${field}.${component}`)) return true;
  if (isFilled === undefined) return false;
  const isObserved = segment === "OBX" && SHOWN_OBSERVATIONS.has(observation);
  return isIn(SHOWN_OWN_FIELDS.get(segment)) || (isObserved && isIn(SHOWN_OWN_OBSERVATION));
}

/**
 * The lines of HL7 text as it stands, with what may say something of a person hidden, by the same rule as in
 * {@link describeSegment}. Of a line that is no segment, such as one of a text that was broken into lines, nothing is shown.
 *
 * @param isFilled given where we wrote it
 */
export function hideHl7(text: string, mayShowPhi: boolean, isFilled?: IsFilled): string[] {
  const lines = cleanLines(text).filter((line) => line !== "");
  if (mayShowPhi) return lines;
  let delimiters = STANDARD_DELIMITERS;
  return lines.map((line) => {
    if (/^(?:MSH|FHS|BHS)/.test(line)) delimiters = delimitersOf(line) ?? delimiters;
    return isSegmentName(line) && [delimiters.field, ""].includes(line.charAt(3))
      ? hideLine(line, delimiters, isFilled)
      : HIDDEN;
  });
}

function delimitersOf(line: string): Delimiters | undefined {
  try {
    return parseDelimiters(line);
  } catch {
    return undefined;
  }
}

function hideLine(line: string, { field, repetition, component }: Delimiters, isFilled?: IsFilled): string {
  const [name = "", ...fields] = line.split(field);
  // As a line it helps nobody: what is shown of it says only how the patient's identifiers are marked.
  if (name === "PID") return `${name}${field}${HIDDEN}`;
  const [observation] = name === "OBX" ? (fields[2]?.split(component) ?? []) : [];
  const shift = /^(?:MSH|FHS|BHS)$/.test(name) ? 2 : 1;
  const shown = fields.map((value, at) => {
    const n = at + shift;
    const place = { segment: name, field: n, observation };
    if (value === "" || isShown(place, isFilled)) return value;
    const repetitions = value.split(repetition).map((each) =>
      each
        .split(component)
        .map((part, c) => (part === "" || isShown({ ...place, component: c + 1 }, isFilled) ? part : HIDDEN))
        .join(component),
    );
    return repetitions.join(repetition);
  });
  return [name, ...shown].join(field);
}
