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
  const encoder = new Encoder(delimiters);
  for (const [i, segment] of segments.entries()) {
    const [name] = segment;
    if (name.length !== 3 || !isSegmentName(name) || (name === "MSH") !== (i === 0)) {
      throw new Failure(
        "HL7_BUILD_INVALID",
        `segment ${i + 1}: ${i === 0 ? "expected MSH" : `expected a segment name, found ${JSON.stringify(name.slice(0, 8))}`}`,
      );
    }
    text += i === 0 ? name + delimiters.field + encoding : name;
    text += `${encoder.fields(segment)}\r`;
  }
  if (text === "") throw new Failure("HL7_BUILD_INVALID", "a message without segments");
  return text;
}

/** Writes what segments are made of, and knows where it is. */
class Encoder {
  readonly #delimiters: Delimiters;
  #segment = "";
  #field = 0;

  constructor(delimiters: Delimiters) {
    this.#delimiters = delimiters;
  }

  /** The fields of a segment, each behind its separator. */
  fields(segment: SegmentSpec): string {
    const [name] = segment;
    this.#segment = name;
    let text = "";
    let gap = "";
    for (let n = 1; n < segment.length; n++) {
      gap += this.#delimiters.field;
      this.#field = name === "MSH" ? n + 2 : n;
      const encoded = this.#encodeField(segment[n] as Field);
      if (encoded === "") continue;
      text += gap + encoded;
      gap = "";
    }
    return text;
  }

  #encodeField(field: Field): string {
    if (!(field instanceof Repeated)) return this.#encodeRepetition(field);
    return joinTrimmed(field.fields, this.#delimiters.repetition, (repetition) =>
      this.#encodeRepetition(repetition),
    );
  }

  #encodeRepetition(value: Component | readonly Component[]): string {
    if (!isList(value)) return this.#encodeValue(value);
    return joinTrimmed(value, this.#delimiters.component, (component) => this.#encodeComponent(component));
  }

  #encodeComponent(value: Component): string {
    if (!isList(value)) return this.#encodeValue(value);
    return joinTrimmed(value, this.#delimiters.subcomponent, (part) => this.#encodeValue(part));
  }

  #encodeValue(value: string | number | undefined): string {
    if (value === undefined) return "";
    if (typeof value === "string") return escapeText(value, this.#delimiters);
    if (Number.isFinite(value)) return escapeText(String(value), this.#delimiters);
    throw new Failure("HL7_BUILD_INVALID", `${this.#segment}-${this.#field}: expected a finite number`);
  }
}

function isList<T>(value: string | number | undefined | readonly T[]): value is readonly T[] {
  return Array.isArray(value);
}

/** Parts with separators between; empty ones at the end are left out. */
function joinTrimmed<T>(parts: readonly T[], separator: string, encode: (part: T) => string): string {
  let text = "";
  let gap = "";
  for (const part of parts) {
    const encoded = encode(part);
    if (encoded !== "") {
      text += gap + encoded;
      gap = "";
    }
    gap += separator;
  }
  return text;
}
