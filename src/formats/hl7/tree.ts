import type { Hl7Message, Segment } from "./message.ts";

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

/** A segment's values in their order, empty ones left out. */
export function leavesOf(segment: Segment, message: Hl7Message): Leaf[] {
  const { component: byComponent, subcomponent: bySubcomponent, field: byField } = message.delimiters;
  const isHeader = segment.name === "MSH";
  const count = segment.raw.split(byField).length - (isHeader ? 0 : 1);
  const name = segment.ordinal > 1 ? `${segment.name}[${segment.ordinal}]` : segment.name;
  const leaves: Leaf[] = [];
  for (let field = 1; field <= count; field += 1) {
    const isVerbatim = isHeader && field <= 2;
    const repetitions = segment.repetitions(field);
    for (let repetition = 1; repetition <= repetitions; repetition += 1) {
      const at = `${name}-${field}${repetition > 1 ? `[${repetition}]` : ""}`;
      const raw = isVerbatim
        ? segment.field(field)
        : nth(segment.field(field), message.delimiters.repetition, repetition);
      const components = isVerbatim ? 1 : partsOf(raw, byComponent);
      for (let component = 1; component <= components; component += 1) {
        const subcomponents = isVerbatim ? 1 : partsOf(nth(raw, byComponent, component), bySubcomponent);
        for (let subcomponent = 1; subcomponent <= subcomponents; subcomponent += 1) {
          const value = segment.get(field, repetition, component, subcomponent);
          if (value === undefined) continue;
          const hasComponents = components > 1 || subcomponents > 1;
          const hasSubcomponents = subcomponents > 1;
          leaves.push({
            place: `${at}${hasComponents ? `.${component}` : ""}${hasSubcomponents ? `.${subcomponent}` : ""}`,
            field,
            repetition,
            component: hasComponents ? component : undefined,
            subcomponent: hasSubcomponents ? subcomponent : undefined,
            value,
          });
        }
      }
    }
  }
  return leaves;
}

function partsOf(text: string, separator: string): number {
  return separator === "" ? 1 : text.split(separator).length;
}

function nth(text: string, separator: string, n: number): string {
  return separator === "" ? text : (text.split(separator)[n - 1] ?? "");
}
