import type { Encoding } from "../encoding.ts";
import { type Delimiters, findFormatting, isTruncated, toPlainText, unescapeText } from "./delimiters.ts";

/** Where a value stands in a segment; a level that is not given is all of it. */
interface ValuePlace {
  readonly field: number;
  readonly repetition: number;
  readonly component?: number | undefined;
  readonly subcomponent?: number | undefined;
}

/** What the text of a message's segments is read by. */
export interface SegmentReading {
  readonly delimiters: Delimiters;
  /** What `\Xhh\` is decoded in; asked for only where an escape may need it. */
  readonly encoding: Encoding;
}

/**
 * One segment of a message, over its text: a field is looked for when it is asked for, and no further. All positions are
 * 1-based, as the standard counts.
 */
export class Segment {
  readonly name: string;
  /** Position in the message, 0-based. */
  readonly index: number;
  /** Position among the segments of its name, 1-based. */
  readonly ordinal: number;
  /** Its text as it stands, without the line end. */
  readonly raw: string;
  readonly #reading: SegmentReading;
  /** What stands between its field separators, once a field is asked for. */
  #parts: readonly string[] | undefined;
  /** The repetitions of the field asked for last, so that walking through them is linear. */
  #repetitions: { readonly n: number; readonly parts: readonly string[] } | undefined;

  constructor(reading: SegmentReading, raw: string, index: number, ordinal: number) {
    this.name = raw.slice(0, 3);
    this.index = index;
    this.ordinal = ordinal;
    this.raw = raw;
    this.#reading = reading;
  }

  /** The raw text of field n, escapes and delimiters as they stand; empty when absent. MSH-1 is the separator itself. */
  field(n: number): string {
    const { field } = this.#reading.delimiters;
    if (n === 1 && this.#isHeader) return field;
    this.#parts ??= this.raw.split(field);
    return n < 1 ? "" : (this.#parts[this.#isHeader ? n - 1 : n] ?? "");
  }

  /** How many repetitions field n has; 0 when it is empty. */
  repetitions(n: number): number {
    const field = this.field(n);
    if (field === "") return 0;
    return field.includes(this.#reading.delimiters.repetition) ? this.#split(n, field).length : 1;
  }

  /**
   * The decoded value; undefined when absent or empty. A level that is not given is its first: `PID-5.1` of
   * `SMITH&VAN^JOHN` is `SMITH`, since a sender may always add deeper parts (HL7 chapter 2.8.3).
   */
  get(n: number, repetition = 1, component = 1, subcomponent = 1): string | undefined {
    const whole = this.#repetition(n, repetition);
    if (whole === "") return undefined;
    if (this.#isVerbatim(n)) return component === 1 && subcomponent === 1 ? whole : undefined;
    const { delimiters } = this.#reading;
    const part = nthPart(
      nthPart(whole, delimiters.component, component),
      delimiters.subcomponent,
      subcomponent,
    );
    return part === "" ? undefined : this.#decode(part);
  }

  /** Which parts besides the first are filled that {@link get} leaves out of a repetition, or of one of its components. */
  partsLeftOut(
    n: number,
    repetition: number,
    component?: number,
  ): "components" | "subcomponents" | undefined {
    const whole = this.#repetition(n, repetition);
    if (this.#isVerbatim(n)) return undefined;
    const { component: between, subcomponent } = this.#reading.delimiters;
    const first = nthPart(whole, between, component ?? 1);
    const isFilled = (text: string) =>
      text.replaceAll(between, "").replaceAll(subcomponent, "").trim() !== "";
    if (component === undefined && isFilled(whole.slice(first.length))) return "components";
    const value = nthPart(first, subcomponent, 1);
    return isFilled(first.slice(value.length)) ? "subcomponents" : undefined;
  }

  /**
   * Why the value at a place is no code or name as it stands; undefined when it is one. `truncated`: the sender cut it.
   * @param between what parts it into several values, each of which is looked at
   */
  flawOf(place: ValuePlace, between?: RegExp): "formatting" | "control" | "truncated" | undefined {
    const { delimiters } = this.#reading;
    const raw = this.#raw(place);
    const mayHave = raw.includes(delimiters.escape) || delimiters.truncation !== undefined;
    if (!mayHave || this.#isVerbatim(place.field)) return undefined;
    for (const part of between === undefined ? [raw] : raw.split(between)) {
      if (isTruncated(part, delimiters)) return "truncated";
      const found = findFormatting(part, delimiters);
      // A line end may be what parts them.
      if (found === "formatting" || (found === "control" && !between?.test("\n"))) return found;
    }
    return undefined;
  }

  /**
   * The decoded text at a place for people to read, formatting turned to blanks, with whatever delimiters stand in it; of all
   * repetitions where none is given.
   */
  plainText(place: Omit<ValuePlace, "repetition"> & { readonly repetition?: number | undefined }): string {
    const { field, repetition } = place;
    const raw = repetition === undefined ? this.field(field) : this.#raw({ ...place, repetition });
    return toPlainText(raw, this.#reading.delimiters, this.#reading.encoding);
  }

  /** As it stands. */
  #raw({ field, repetition, component, subcomponent }: ValuePlace): string {
    const { delimiters } = this.#reading;
    const whole = this.#repetition(field, repetition);
    if (component === undefined) return whole;
    const part = nthPart(whole, delimiters.component, component);
    return subcomponent === undefined ? part : nthPart(part, delimiters.subcomponent, subcomponent);
  }

  get #isHeader(): boolean {
    return this.name === "MSH";
  }

  /** MSH-1 and MSH-2 hold the delimiters and are not structured by them. */
  #isVerbatim(n: number): boolean {
    return (n === 1 || n === 2) && this.#isHeader;
  }

  /** The character set is found out only where an escape may need it. */
  #decode(text: string): string {
    const { delimiters } = this.#reading;
    const mark = delimiters.escape;
    if (mark === "" || !text.includes(mark)) return text;
    return unescapeText(text, delimiters, this.#reading.encoding);
  }

  #repetition(n: number, repetition: number): string {
    const field = this.field(n);
    if (repetition === 1 && !field.includes(this.#reading.delimiters.repetition)) return field;
    return this.#split(n, field)[repetition - 1] ?? "";
  }

  #split(n: number, field: string): readonly string[] {
    if (this.#repetitions?.n !== n) {
      const parts = this.#isVerbatim(n) ? [field] : field.split(this.#reading.delimiters.repetition);
      this.#repetitions = { n, parts };
    }
    return this.#repetitions.parts;
  }
}

/** The nth part, 1-based, without splitting the rest; empty when there is none. */
function nthPart(text: string, separator: string, n: number): string {
  if (separator === "") return n === 1 ? text : "";
  let from = 0;
  for (let skip = n; skip > 1; skip--) {
    const at = text.indexOf(separator, from);
    if (at === -1) return "";
    from = at + 1;
  }
  const to = text.indexOf(separator, from);
  if (to === -1) return from === 0 ? text : text.slice(from);
  return text.slice(from, to);
}

/**
 * Whether three characters from `at` can name a segment: an upper-case letter and two upper-case letters or digits (HL7 chapter
 * 2.5.2; names that begin with Z are the site's own).
 */
export function isSegmentName(text: string, at = 0): boolean {
  const isRest = (offset: number) => isUpperOrDigit(text.charCodeAt(at + offset));
  return isUpper(text.charCodeAt(at)) && isRest(1) && isRest(2);
}

function isUpper(code: number): boolean {
  return code >= 0x41 && code <= 0x5a;
}

function isUpperOrDigit(code: number): boolean {
  return isUpper(code) || (code >= 0x30 && code <= 0x39);
}

/** What MSH says, decoded; undefined where a field is empty. */
export interface Hl7Header {
  /** MSH-10. */
  readonly messageControlId: string | undefined;
  /** MSH-9.1 such as `ORM`, MSH-9.2 such as `O01`, MSH-9.3 such as `OML_O21` (absent before 2.4). */
  readonly messageCode: string | undefined;
  readonly triggerEvent: string | undefined;
  readonly structure?: string | undefined;
  /** MSH-11.1: P production, T training, D debugging. */
  readonly processingId: string | undefined;
  /** MSH-11.2 (table 0207): A archive, R restore from archive, I initial load; empty or T for current processing. */
  readonly processingMode?: string | undefined;
  /** MSH-12.1. */
  readonly version: string | undefined;
  /** MSH-3.1 and MSH-4.1. */
  readonly sendingApplication: string | undefined;
  readonly sendingFacility: string | undefined;
  /** MSH-18, its first repetition. */
  readonly characterSet?: string | undefined;
  /** MSH-7.1, as written. */
  readonly dateTime?: string | undefined;
  /** MSH-15 and MSH-16. */
  readonly acceptAckType?: string | undefined;
  readonly applicationAckType?: string | undefined;
  /** All components of MSH-3 to MSH-6 (HD: namespace, universal id, its type), for replies that must echo them whole. */
  readonly sendingApplicationParts: readonly (string | undefined)[];
  readonly sendingFacilityParts: readonly (string | undefined)[];
  readonly receivingApplicationParts: readonly (string | undefined)[];
  readonly receivingFacilityParts: readonly (string | undefined)[];
}

/** Reads MSH, in the order in which its fields stand, so that it is gone through once. */
export function readHeader(msh: Segment): Hl7Header {
  const parts = (n: number) => [msh.get(n), msh.get(n, 1, 2), msh.get(n, 1, 3)];
  const [sendingApplicationParts, sendingFacilityParts] = [parts(3), parts(4)];
  return {
    sendingApplication: sendingApplicationParts[0],
    sendingFacility: sendingFacilityParts[0],
    sendingApplicationParts,
    sendingFacilityParts,
    receivingApplicationParts: parts(5),
    receivingFacilityParts: parts(6),
    dateTime: msh.get(7),
    messageCode: msh.get(9),
    triggerEvent: msh.get(9, 1, 2),
    structure: msh.get(9, 1, 3),
    messageControlId: msh.get(10),
    processingId: msh.get(11),
    processingMode: msh.get(11, 1, 2),
    version: msh.get(12),
    acceptAckType: msh.get(15),
    applicationAckType: msh.get(16),
    characterSet: msh.get(18),
  };
}

/** Whether a version (MSH-12.1, such as `2.5.1`) is major.minor or later; false when it is not written as a version. */
export function isVersionFrom(version: string, major: number, minor: number): boolean {
  const match = /^(\d{1,3})\.(\d{1,3})(?:\.|$)/.exec(version);
  if (!match) return false;
  const [foundMajor, foundMinor] = [Number(match[1]), Number(match[2])];
  return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}
