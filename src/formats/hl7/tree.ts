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
