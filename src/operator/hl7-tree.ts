import { type Delimiters, parseDelimiters, STANDARD_DELIMITERS } from "../formats/hl7/delimiters.ts";
import type { Dictionary } from "../formats/hl7/dictionary.ts";
import type { Hl7Message } from "../formats/hl7/message.ts";
import { isSegmentName, type Segment } from "../formats/hl7/segment.ts";
import { type Leaf, leavesOf } from "../formats/hl7/tree.ts";
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

/** Segments of which all is shown but these fields, which name people or hold any text. */
const ALL_BUT = placesOf({ MSH: "", SFT: "", EVN: "5", BHS: "10", FHS: "10", BTS: "2", FTS: "2" });

/**
 * Fields of other segments, and components of fields, by which an order is found and mapped: numbers, identifiers, places, times
 * and codes. No texts, and nothing that describes a specimen or a patient: that is hidden as the container's description is.
 * What stands nowhere here is hidden, Z segments too.
 */
const SHOWN = placesOf({
  MSA: "1 2 4 5 6.1 6.3",
  ERR: "1 2 3.1 3.3 4 5.1 5.3",
  ORC: "1 2 3 4 5 6 8 9 13 15 16.1 16.3 17.1 17.3 21 25.1 25.3 29.1 29.3",
  TQ1: "1 7 8 9.1 9.3",
  // Whose number it is and of which kind, which a mapping chooses by, but not the number.
  PID: "1 3.4 3.5",
  PV1: "1 3.1 3.2 3.3 3.4",
  OBR: "1 2 3 4.1 4.3 4.4 4.6 22 24 25",
  OBX: "1 2 3.1 3.3 3.4 3.6 4 11",
  SPM: "1 2 3 26",
  SAC: "1 2 3 4 8.1 8.3 10 11 13 14",
  NTE: "1 2",
  QRD: "1 2 3 4 5 6 7",
});

function placesOf(textBySegment: Readonly<Record<string, string>>): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(Object.entries(textBySegment).map(([segment, text]) => [segment, new Set(text.split(" "))]));
}

/** Texts of answers that Cryobridge wrote itself, which name no patient. */
const OWN_TEXTS = placesOf({ MSA: "3", ERR: "3 5 7 8", NTE: "3", ORC: "16" });

/** Who wrote a message: what a foreign system wrote as text may be about a patient. */
type Writer = "cryobridge" | "somebody";

/** A value of a message for the screen: hidden where it may say something of a person, unless that was asked for. */
export function shownValue(
  segment: string,
  { field, component = 1 }: { readonly field: number; readonly component?: number | undefined },
  value: string,
  mayShowPhi: boolean,
): string {
  return mayShowPhi || isShown(segment, field, "somebody", component) ? value : HIDDEN;
}

/** @param component undefined for the whole field */
function isShown(segment: string, field: number, writer: Writer, component?: number): boolean {
  const hidden = ALL_BUT.get(segment);
  if (hidden) return !hidden.has(`${field}`);
  if (writer === "cryobridge" && OWN_TEXTS.get(segment)?.has(`${field}`)) return true;
  const shown = SHOWN.get(segment);
  return shown?.has(`${field}`) === true || shown?.has(`${field}.${component}`) === true;
}

/**
 * The lines of HL7 text as it stands, with what may say something of a person hidden, by the same rule as in
 * {@link describeSegment}. Of a line that is no segment, such as one of a text that was broken into lines, nothing is shown.
 *
 * @param writer who wrote it; of our own answers the texts are shown, too
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
  const shift = /^(?:MSH|FHS|BHS)$/.test(name) ? 2 : 1;
  const shown = fields.map((value, at) => {
    const n = at + shift;
    if (value === "" || isShown(name, n, writer)) return value;
    const repetitions = value.split(repetition).map((each) =>
      each
        .split(component)
        .map((part, c) => (part === "" || isShown(name, n, writer, c + 1) ? part : HIDDEN))
        .join(component),
    );
    return repetitions.join(repetition);
  });
  return [name, ...shown].join(field);
}
