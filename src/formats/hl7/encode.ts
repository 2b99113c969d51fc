import { Failure } from "../../core/failures.ts";
import { type Encoding, encodeText, isEncodable, spellOut } from "../encoding.ts";
import {
  type Delimiters,
  encodingCharacters,
  escapeText,
  parseDelimiters,
  STANDARD_DELIMITERS,
} from "./delimiters.ts";
import { isSegmentName } from "./segment.ts";

/** One value, or an array of subcomponents. */
export type Component = string | number | undefined | readonly (string | number | undefined)[];
/** One value, an array of components, repetitions of these, or a field that is written already. */
export type Field = Component | readonly Component[] | Repeated | Written;
/** A segment's name and its fields from 1 on; those of MSH from MSH-3 on, since the delimiters are written by themselves. */
export type SegmentSpec = readonly [name: string, ...fields: Field[]];

/** A field that repeats: `["PID", undefined, undefined, new Repeated(["S1", …], ["S2", …])]`. */
export class Repeated {
  readonly fields: readonly (Component | readonly Component[])[];

  constructor(...fields: readonly (Component | readonly Component[])[]) {
    this.fields = fields;
  }
}

/** A field as it is to stand in the message, its delimiters and escapes included. */
export class Written {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * The text of one message, each segment ended by CR, empty parts at the end of anything left out. Every value is
 * escaped, so nothing in it can end a field, a segment or an MLLP frame; a line break in a value becomes `\.br\`.
 * Throws HL7_DELIMITERS, and a RangeError for a wrong segment name, a first segment other than MSH or a number that is not
 * finite, which no caller of ours writes.
 */
export function buildMessage(
  segments: readonly SegmentSpec[],
  options: { readonly delimiters?: Delimiters } = {},
): string {
  const delimiters = options.delimiters ?? STANDARD_DELIMITERS;
  const encoding = encodingCharacters(delimiters);
  let text = "";
  for (const [i, segment] of segments.entries()) {
    const [name] = segment;
    if (name.length !== 3 || !isSegmentName(name) || (name === "MSH") !== (i === 0)) {
      throw new RangeError(
        `segment ${i + 1}: ${i === 0 ? "expected MSH" : `expected a segment name, found ${JSON.stringify(name.slice(0, 8))}`}`,
      );
    }
    text += i === 0 ? name + delimiters.field + encoding : name;
    text += `${encodeFields(segment, delimiters)}\r`;
  }
  if (text === "") throw new RangeError("a message without segments");
  return text;
}

function encodeFields([, ...fields]: SegmentSpec, delimiters: Delimiters): string {
  const { field, repetition, component, subcomponent } = delimiters;
  const encodeValue = (value: string | number | undefined) => {
    if (value === undefined) return "";
    if (typeof value === "number" && !Number.isFinite(value))
      throw new RangeError("expected a finite number");
    return escapeText(String(value), delimiters);
  };
  const encodeComponent = (value: Component) =>
    isList(value) ? joinTrimmed(value, subcomponent, encodeValue) : encodeValue(value);
  const encodeRepetition = (value: Component | readonly Component[]) =>
    isList(value) ? joinTrimmed(value, component, encodeComponent) : encodeValue(value);
  const encodeField = (value: Field) => {
    if (value instanceof Written) return value.text;
    return value instanceof Repeated
      ? joinTrimmed(value.fields, repetition, encodeRepetition)
      : encodeRepetition(value);
  };
  return fields.length === 0 ? "" : joinTrimmed(["", ...fields], field, encodeField);
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

/**
 * The bytes of a message, given its text with segments ended by CR. A character that the encoding does not have is
 * spelled as its number, `[U+0142]`, in what people read ({@link isFreeText}). Anywhere else a program compares values,
 * and HL7 has no escape for a character that is in no set of MSH-18 (`\X..\` writes bytes of that same set, `\C..\` and
 * `\M..\` shift to another one that has to be there), so it is refused.
 *
 * @throws Failure RESULT_NOT_ENCODABLE, with the place and without the value
 */
export function encodeHl7(text: string, encoding: Encoding): Buffer {
  const whole = encodeText(text, encoding);
  if (whole.ok) return whole.bytes;
  const delimiters = parseDelimiters(text.slice(0, text.indexOf("\r")));
  const ordinalByName = new Map<string, number>();
  const lines = text.split("\r").map((line) => {
    const name = line.slice(0, 3);
    const ordinal = (ordinalByName.get(name) ?? 0) + 1;
    ordinalByName.set(name, ordinal);
    return isEncodable(line, encoding) ? line : fitSegment(line, ordinal, { delimiters, encoding });
  });
  const fitted = encodeText(lines.join("\r"), encoding);
  if (fitted.ok) return fitted.bytes;
  throw new TypeError("each segment can be encoded, and all of them together can't");
}

interface Target {
  readonly delimiters: Delimiters;
  readonly encoding: Encoding;
}

function fitSegment(line: string, ordinal: number, { delimiters, encoding }: Target): string {
  const written = line.split(delimiters.field);
  const [name = "", , type = ""] = written;
  // MSH-1 is the separator itself.
  const shift = name === "MSH" ? 1 : 0;
  const write = (spelled: string) => escapeText(spelled, delimiters);
  return written
    .map((field, index) => {
      if (isEncodable(field, encoding)) return field;
      const repetitions = field.split(delimiters.repetition).map((repetition) => {
        const components = repetition.split(delimiters.component);
        return components
          .map((value, i) => {
            if (isEncodable(value, encoding)) return value;
            const place = { name, field: index + shift, component: i + 1 };
            if (isFreeText(place, type)) return spellOut(value, encoding, write);
            const component = components.length > 1 ? `.${place.component}` : "";
            const segment = ordinal > 1 ? `${name}[${ordinal}]` : name;
            throw new Failure(
              "RESULT_NOT_ENCODABLE",
              `${segment}-${place.field}${component} holds a character that ${encoding} does not have`,
            );
          })
          .join(delimiters.component);
      });
      return repetitions.join(delimiters.repetition);
    })
    .join(delimiters.field);
}

interface ComponentPlace {
  readonly name: string;
  readonly field: number;
  readonly component: number;
}

/** MSA-3, ERR-7, ERR-8 and NTE-3: the fields of TX, FT, and ST for messages to people. */
const TEXT_FIELDS: Readonly<Record<string, readonly number[]>> = { MSA: [3], ERR: [7, 8], NTE: [3] };

/** Coded fields (CE, CWE) of what is sent and echoed, of which a program reads the code. */
const CODED_FIELDS: Readonly<Record<string, readonly number[]>> = {
  ORC: [16],
  OBR: [4],
  OBX: [3],
  SPM: [4],
};

/** Text, alternate text and original text of a coded value. */
const CODED_TEXTS: readonly number[] = [2, 5, 9];

/**
 * Whether only people read what stands there: messages to people, notes, OBX-5 of type TX or FT, and the words beside a
 * code. Names, identifiers, labels, places in the storage and values of type ST are not.
 */
function isFreeText({ name, field, component }: ComponentPlace, observationType: string): boolean {
  if (name === "OBX" && field === 5) return observationType === "TX" || observationType === "FT";
  if (TEXT_FIELDS[name]?.includes(field)) return true;
  return CODED_FIELDS[name]?.includes(field) === true && CODED_TEXTS.includes(component);
}
