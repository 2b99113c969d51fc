import { Message as ClientMessage, type HL7Node } from "node-hl7-client";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import { leavesOf } from "../../src/formats/hl7/tree.ts";
import type { PythonSegment } from "./python-hl7/python-hl7.ts";

/**
 * The values of a message, one a line as `OBX[2]-5[1].1.1: value`, all levels named and empty values left out, so that
 * what different engines read can be compared line by line. MSH-1 and MSH-2 are left out too: engines differ in whether
 * they count them as values.
 */
export type Reading = readonly string[];

type Part = readonly (readonly (readonly string[])[])[];

/** As our own engine reads it. */
export function ourReading(text: string): Reading {
  const message = Hl7Message.parse(text);
  return message.segments.flatMap((segment) =>
    leavesOf(segment, message)
      .filter(({ field }) => segment.name !== "MSH" || field > 2)
      .map(({ field, repetition, component = 1, subcomponent = 1, value }) =>
        line(segment.name, segment.ordinal, [field, repetition, component, subcomponent], value),
      ),
  );
}

/** As python-hl7 read it. It takes `\.br\` for a CR, where we leave formatting as it stands. */
export function pythonReading(segments: readonly PythonSegment[]): Reading {
  const isHeader = ({ name }: PythonSegment) => name === "MSH";
  return readingOf(
    segments.map((segment) => ({
      name: segment.name,
      fields: segment.fields.map((field, n) => (isHeader(segment) && n < 2 ? [] : field)),
    })),
  ).map((value) => value.replaceAll("\r", "\\.br\\"));
}

/** As node-hl7-client reads it. It wants no line end behind the last segment. */
export function clientReading(text: string): Reading {
  const message = new ClientMessage({ text: text.replace(/\r$/, "") });
  const childrenOf = (node: HL7Node) => [...node];
  return readingOf(
    childrenOf(message).map((segment) => {
      const [, ...fields] = childrenOf(segment).map((field) =>
        childrenOf(field).map((repetition) =>
          childrenOf(repetition).map((component) =>
            childrenOf(component).map((subcomponent) => subcomponent.toString()),
          ),
        ),
      );
      // It has no node for MSH-1, so that the first one is MSH-2.
      return { name: segment.name, fields: segment.name === "MSH" ? [[], [], ...fields.slice(1)] : fields };
    }),
  );
}

function readingOf(
  segments: readonly { readonly name: string; readonly fields: readonly Part[] }[],
): Reading {
  const ordinals = new Map<string, number>();
  return segments.flatMap(({ name, fields }) => {
    const ordinal = (ordinals.get(name) ?? 0) + 1;
    ordinals.set(name, ordinal);
    return fields.flatMap((field, f) =>
      field.flatMap((repetition, r) =>
        repetition.flatMap((component, c) =>
          component.flatMap((value, s) =>
            value === "" ? [] : [line(name, ordinal, [f + 1, r + 1, c + 1, s + 1], value)],
          ),
        ),
      ),
    );
  });
}

function line(name: string, ordinal: number, position: readonly number[], value: string): string {
  const [field, repetition, component, subcomponent] = position;
  return `${name}[${ordinal}]-${field}[${repetition}].${component}.${subcomponent}: ${value}`;
}
