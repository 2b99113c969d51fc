import { Failure } from "../../core/failures.ts";
import { type Delimiters, encodingCharacters, STANDARD_DELIMITERS } from "./delimiters.ts";
import { escapeText } from "./escapes.ts";
import { isSegmentName } from "./segment-name.ts";

/** One value, or an array of subcomponents. */
export type Component = string | number | undefined | readonly (string | number | undefined)[];
/** One value, an array of components, or repetitions of these. */
export type Field = Component | readonly Component[] | Repeated;
/** A segment's name and its fields from 1 on; those of MSH from MSH-3 on, since the delimiters are written by themselves. */
export type SegmentSpec = readonly [name: string, ...fields: Field[]];

/** A field that repeats. */
export class Repeated {
  readonly fields: readonly (Component | readonly Component[])[];

  constructor(fields: readonly (Component | readonly Component[])[]) {
    this.fields = fields;
  }
}

/** A field that repeats: `["PID", undefined, undefined, repeated(["S1", …], ["S2", …])]`. */
export function repeated(...fields: readonly (Component | readonly Component[])[]): Repeated {
  return new Repeated(fields);
}

/**
 * The text of one message, each segment ended by CR, empty parts at the end of anything left out. Every value is
 * escaped, so nothing in it can end a field, a segment or an MLLP frame; a line break in a value becomes `\.br\`.
 * Throws HL7_BUILD_INVALID for a wrong segment name, a first segment other than MSH, a number that is not finite or a
 * NUL character, and HL7_DELIMITERS.
 */
export function buildMessage(
  segments: readonly SegmentSpec[],
  options: { readonly delimiters?: Delimiters } = {},
): string {
  const delimiters = options.delimiters ?? STANDARD_DELIMITERS;
  const encoding = encodingCharacters(delimiters);
  let text = "";
  for (const [i, [name, ...fields]] of segments.entries()) {
    if (name.length !== 3 || !isSegmentName(name) || (name === "MSH") !== (i === 0)) {
      throw new Failure(
        "HL7_BUILD_INVALID",
        `segment ${i + 1}: ${i === 0 ? "expected MSH" : `expected a segment name, found ${JSON.stringify(name.slice(0, 8))}`}`,
      );
    }
    const place = (n: number) => `${name}-${name === "MSH" ? n + 3 : n + 1}`;
    const body = fields.map((field, n) => encodeField(field, delimiters, place(n)));
    if (name === "MSH") body.unshift(encoding);
    text += `${joinTrimmed([name, ...body], delimiters.field)}\r`;
  }
  if (text === "") throw new Failure("HL7_BUILD_INVALID", "a message without segments");
  return text;
}

function encodeField(field: Field, delimiters: Delimiters, place: string): string {
  if (!(field instanceof Repeated)) return encodeRepetition(field, delimiters, place);
  const repetitions = field.fields.map((repetition) => encodeRepetition(repetition, delimiters, place));
  return joinTrimmed(repetitions, delimiters.repetition);
}

function encodeRepetition(
  value: Component | readonly Component[],
  delimiters: Delimiters,
  place: string,
): string {
  if (!isList(value)) return encodeValue(value, delimiters, place);
  const components = value.map((component) =>
    isList(component)
      ? joinTrimmed(
          component.map((part) => encodeValue(part, delimiters, place)),
          delimiters.subcomponent,
        )
      : encodeValue(component, delimiters, place),
  );
  return joinTrimmed(components, delimiters.component);
}

function isList<T>(value: string | number | undefined | readonly T[]): value is readonly T[] {
  return Array.isArray(value);
}

function encodeValue(value: string | number | undefined, delimiters: Delimiters, place: string): string {
  if (value === undefined) return "";
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new Failure("HL7_BUILD_INVALID", `${place}: expected a finite number`);
    return escapeText(String(value), delimiters);
  }
  return escapeText(value, delimiters);
}

function joinTrimmed(parts: readonly string[], separator: string): string {
  let count = parts.length;
  while (count > 0 && parts[count - 1] === "") count--;
  return parts.slice(0, count).join(separator);
}
