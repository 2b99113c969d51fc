import type { Dictionary } from "../formats/hl7/dictionary.ts";
import type { Hl7Message, Segment } from "../formats/hl7/message.ts";
import { type Leaf, leavesOf } from "../formats/hl7/tree.ts";
import { HIDDEN } from "./text.ts";

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

/** Segments that hold nothing of the patient but numbers and codes. Everything else is hidden, Z segments too. */
const IMPERSONAL = new Set("MSH MSA ERR ORC EVN SFT TQ1 BHS FHS BTS FTS".split(" "));

/** Fields of other segments that are numbers, times and codes of the order. */
const IMPERSONAL_FIELDS: Readonly<Record<string, ReadonlySet<number>>> = {
  PID: new Set([1]),
  PV1: new Set([1, 2, 3]),
  OBR: new Set([1, 2, 3, 4, 5, 6, 7, 22, 24, 25]),
  OBX: new Set([1, 2, 3, 4, 6, 11, 14]),
  SPM: new Set([1, 2, 3, 4, 15, 26, 27]),
  SAC: new Set([1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
  NTE: new Set([1, 2]),
  QRD: new Set([1, 2, 3, 4, 5, 6, 7]),
};

/** Fields of impersonal segments that name people, such as who ordered, entered or verified, or hold any text. */
const PERSONAL_FIELDS: Readonly<Record<string, ReadonlySet<number>>> = {
  ORC: new Set([10, 11, 12, 19, 23, 24]),
  EVN: new Set([5]),
  TQ1: new Set([11]),
  BHS: new Set([10]),
  FHS: new Set([10]),
  BTS: new Set([2]),
  FTS: new Set([2]),
};

/** Components that say whose number it is and of which kind, which a mapping chooses by, but not the number. */
const IMPERSONAL_COMPONENTS: Readonly<Record<string, ReadonlySet<number>>> = { "PID-3": new Set([4, 5]) };

/** A value of a message for the screen: hidden where it may say something of a person, unless that was asked for. */
export function shownValue(
  segment: string,
  { field, component = 1 }: { readonly field: number; readonly component?: number | undefined },
  value: string,
  mayShowPhi: boolean,
): string {
  if (mayShowPhi || IMPERSONAL_COMPONENTS[`${segment}-${field}`]?.has(component)) return value;
  if (PERSONAL_FIELDS[segment]?.has(field)) return HIDDEN;
  if (IMPERSONAL.has(segment) || IMPERSONAL_FIELDS[segment]?.has(field)) return value;
  return HIDDEN;
}
