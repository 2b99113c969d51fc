import type { Delimiters } from "./delimiters.ts";
import type { Hl7Message } from "./message.ts";
import type { Segment } from "./segment.ts";

/** One value of a message, at the deepest level that it has. */
export interface Leaf {
  /** Such as `PID-3[2].4.1`; repetition 1, and levels that a field doesn't use, are left out. */
  readonly place: string;
  readonly field: number;
  readonly repetition: number;
  readonly component: number | undefined;
  readonly subcomponent: number | undefined;
  /** Decoded; MSH-1 and MSH-2 as they stand. */
  readonly value: string;
}

/** A segment's values in their order, empty ones left out. Its text is taken apart once, however long a field is. */
export function leavesOf(segment: Segment, { delimiters }: Hl7Message): Leaf[] {
  const isHeader = segment.name === "MSH";
  const count = segment.raw.split(delimiters.field).length - (isHeader ? 0 : 1);
  const name = segment.ordinal > 1 ? `${segment.name}[${segment.ordinal}]` : segment.name;
  const leaves: Leaf[] = [];
  for (let field = 1; field <= count; field += 1) {
    const raw = segment.field(field);
    if (raw === "") continue;
    if (isHeader && field <= 2) {
      leaves.push({ place: `${name}-${field}`, field, ...WHOLE, value: raw });
      continue;
    }
    for (const [r, repetition] of partsOf(raw, delimiters.repetition).entries()) {
      const at = { place: `${name}-${field}${r > 0 ? `[${r + 1}]` : ""}`, field, repetition: r + 1 };
      for (const leaf of leavesOfRepetition(segment, repetition, at, delimiters)) leaves.push(leaf);
    }
  }
  return leaves;
}

/** A field that isn't taken apart. */
const WHOLE = { repetition: 1, component: undefined, subcomponent: undefined } as const;

function* leavesOfRepetition(
  segment: Segment,
  raw: string,
  { place, field, repetition }: Pick<Leaf, "place" | "field" | "repetition">,
  delimiters: Delimiters,
): Generator<Leaf> {
  const components = partsOf(raw, delimiters.component);
  for (const [c, component] of components.entries()) {
    const subcomponents = partsOf(component, delimiters.subcomponent);
    const hasSubcomponents = subcomponents.length > 1;
    const hasComponents = components.length > 1 || hasSubcomponents;
    for (const [s, part] of subcomponents.entries()) {
      const isPlain = delimiters.escape === "" || !part.includes(delimiters.escape);
      const value = isPlain ? part : (segment.get(field, repetition, c + 1, s + 1) ?? "");
      if (value === "") continue;
      yield {
        place: `${place}${hasComponents ? `.${c + 1}` : ""}${hasSubcomponents ? `.${s + 1}` : ""}`,
        field,
        repetition,
        component: hasComponents ? c + 1 : undefined,
        subcomponent: hasSubcomponents ? s + 1 : undefined,
        value,
      };
    }
  }
}

function partsOf(text: string, separator: string): string[] {
  return separator === "" ? [text] : text.split(separator);
}

/** One difference between two messages. */
export type Difference =
  | { readonly kind: "removed" | "added"; readonly segment: Segment }
  /** A value that only one of the two has, or that they have differently; places are those of each message. */
  | {
      readonly kind: "changed";
      readonly place: string;
      readonly before: string | undefined;
      readonly after: string | undefined;
    };

/**
 * How two messages differ, by place: segments that only one has of their name, and values that differ in the others, each with the one
 * that stands as far down. Values are compared decoded, so that other delimiters or escapes for the same text are no difference.
 */
export function diffMessages(before: Hl7Message, after: Hl7Message): Difference[] {
  const byPlace = ({ segments }: Hl7Message) =>
    new Map(segments.map((segment) => [`${segment.name}[${segment.ordinal}]`, segment]));
  const [old, now] = [byPlace(before), byPlace(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((place): Difference[] => {
    const [left, right] = [old.get(place), now.get(place)];
    if (left === undefined) return right === undefined ? [] : [{ kind: "added", segment: right }];
    if (right === undefined) return [{ kind: "removed", segment: left }];
    return diffSegments(left, before, right, after);
  });
}

function diffSegments(left: Segment, before: Hl7Message, right: Segment, after: Hl7Message): Difference[] {
  const [old, now] = [
    new Map(leavesOf(left, before).map((leaf) => [keyOf(leaf.place), leaf])),
    new Map(leavesOf(right, after).map((leaf) => [keyOf(leaf.place), leaf])),
  ];
  const keys = [...new Set([...old.keys(), ...now.keys()])];
  return keys.flatMap((key): Difference[] => {
    const [a, b] = [old.get(key), now.get(key)];
    if (a?.value === b?.value) return [];
    return [{ kind: "changed", place: (b ?? a)?.place ?? key, before: a?.value, after: b?.value }];
  });
}

/** `PID-3` and `PID-3.1` name the same value where one of the messages has no deeper level. */
function keyOf(place: string): string {
  return place.replace(/(\.1)+$/, "");
}
