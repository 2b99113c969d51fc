import { type Delimiters, parseDelimiters, STANDARD_DELIMITERS } from "../formats/hl7/delimiters.ts";
import type { Dictionary } from "../formats/hl7/dictionary.ts";
import type { Hl7Message } from "../formats/hl7/message.ts";
import { isSegmentName, type Segment } from "../formats/hl7/segment.ts";
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

/** Who wrote a message: what a foreign system wrote as text may be about a patient. */
type Writer = "cryobridge" | "somebody" | OwnWriter;

/** Cryobridge itself, by a profile that is known. */
interface OwnWriter {
  /** Fields that the profile fills, such as `OBX-5`: with what, no reader of the message knows. */
  readonly filled: ReadonlySet<string>;
}

/** A value of a message for the screen: hidden where it may say something of a person, unless that was asked for. */
export function shownValue(
  segment: string,
  { field, component = 1 }: { readonly field: number; readonly component?: number | undefined },
  value: string,
  mayShowPhi: boolean,
): string {
  return mayShowPhi || isShown({ segment, field, component }, "somebody") ? value : HIDDEN;
}

interface At {
  readonly segment: string;
  readonly field: number;
  /** Undefined for the whole field. */
  readonly component?: number | undefined;
  /** OBX-3.1. */
  readonly observation?: string | undefined;
}

function isShown(at: At, writer: Writer): boolean {
  const { segment, field, component } = at;
  const hidden = SHOWN_BUT.get(segment);
  if (hidden) return !hidden.has(`${field}`);
  if (writer !== "somebody" && isOurs(at, writer)) return true;
  const shown = SHOWN_FIELDS.get(segment);
  return shown?.has(`${field}`) === true || shown?.has(`${field}.${component}`) === true;
}

/** Whether it is a text of ours. What a profile fills may be the patient's: while the profile is not known, less is ours. */
function isOurs({ segment, field, observation = "" }: At, writer: Exclude<Writer, "somebody">): boolean {
  const isOwn = SHOWN_OWN_FIELDS.get(segment)?.has(`${field}`) === true;
  if (writer === "cryobridge") return isOwn;
  const isObserved = segment === "OBX" && SHOWN_OBSERVATIONS.has(observation);
  return (
    !writer.filled.has(`${segment}-${field}`) &&
    (isOwn || (isObserved && SHOWN_OWN_OBSERVATION.has(`${field}`)))
  );
}

/**
 * The lines of HL7 text as it stands, with what may say something of a person hidden, by the same rule as in
 * {@link describeSegment}. Of a line that is no segment, such as one of a text that was broken into lines, nothing is shown.
 *
 * @param writer who wrote it; of our own answers the texts are shown, too, and where their profile is known the values of observations
 */
export function hideHl7(text: string, mayShowPhi: boolean, writer: Writer = "somebody"): string[] {
  const lines = cleanLines(text).filter((line) => line !== "");
  if (mayShowPhi) return lines;
  let delimiters = STANDARD_DELIMITERS;
  return lines.map((line) => {
    if (/^(?:MSH|FHS|BHS)/.test(line)) delimiters = delimitersOf(line) ?? delimiters;
    return isSegmentName(line) && [delimiters.field, ""].includes(line.charAt(3))
      ? hideLine(line, delimiters, writer)
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

function hideLine(line: string, { field, repetition, component }: Delimiters, writer: Writer): string {
  const [name = "", ...fields] = line.split(field);
  // As a line it helps nobody: what is shown of it says only how the patient's identifiers are marked.
  if (name === "PID") return `${name}${field}${HIDDEN}`;
  const [observation] = name === "OBX" ? (fields[2]?.split(component) ?? []) : [];
  const shift = /^(?:MSH|FHS|BHS)$/.test(name) ? 2 : 1;
  const shown = fields.map((value, at) => {
    const n = at + shift;
    const place = { segment: name, field: n, observation };
    if (value === "" || isShown(place, writer)) return value;
    const repetitions = value.split(repetition).map((each) =>
      each
        .split(component)
        .map((part, c) => (part === "" || isShown({ ...place, component: c + 1 }, writer) ? part : HIDDEN))
        .join(component),
    );
    return repetitions.join(repetition);
  });
  return [name, ...shown].join(field);
}
