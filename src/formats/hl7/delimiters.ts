import { Failure } from "../../core/failures.ts";

/** The characters that structure a message, as MSH-1 and MSH-2 declare them (HL7 chapter 2.5.4). */
export interface Delimiters {
  readonly field: string;
  readonly component: string;
  readonly repetition: string;
  /** Empty when MSH-2 declares none; the message then has no escapes. */
  readonly escape: string;
  /** Empty when MSH-2 declares none; the message then has no subcomponents. */
  readonly subcomponent: string;
  /** The fifth character of MSH-2, from version 2.7 on. */
  readonly truncation?: string;
}

/** `|^~\&`, what nearly everyone uses. */
export const STANDARD_DELIMITERS: Delimiters = {
  field: "|",
  component: "^",
  repetition: "~",
  escape: "\\",
  subcomponent: "&",
};

/**
 * Reads the delimiters off the text of a header segment (MSH, FHS, BHS). MSH-2 may be two to five characters long. `^~&`
 * is `^~\&` that lost its backslash on the way, as published examples have it: there are no escapes then, and `&` parts
 * subcomponents, since nobody escapes with it.
 * Throws HL7_DELIMITERS unless all are different printable ASCII characters that are neither letters, digits nor space.
 */
export function parseDelimiters(header: string): Delimiters {
  const field = header.charAt(3);
  const end = field === "" ? -1 : header.indexOf(field, 4);
  const encoding = header.slice(4, end === -1 ? header.length : end);
  const all = field + encoding;
  if (encoding.length < 2 || encoding.length > 5) {
    throw new Failure(
      "HL7_DELIMITERS",
      `MSH-2: expected 4 or 5 encoding characters, found ${encoding.length}`,
    );
  }
  requireDelimiters(all);
  if (encoding === "^~&") return { ...STANDARD_DELIMITERS, field, escape: "" };
  const truncation = encoding.charAt(4);
  return {
    field,
    component: encoding.charAt(0),
    repetition: encoding.charAt(1),
    escape: encoding.charAt(2),
    subcomponent: encoding.charAt(3),
    ...(truncation === "" ? {} : { truncation }),
  };
}

/** MSH-2 for these delimiters. Throws HL7_DELIMITERS when a message cannot be written with them. */
export function encodingCharacters(delimiters: Delimiters): string {
  if (delimiters === STANDARD_DELIMITERS) return "^~\\&";
  const { field, component, repetition, subcomponent, truncation } = delimiters;
  const required = [field, component, repetition, delimiters.escape, subcomponent];
  if (required.some((character) => character.length !== 1) || (truncation ?? "").length > 1) {
    throw new Failure("HL7_DELIMITERS", "each delimiter must be one character");
  }
  const encoding = component + repetition + delimiters.escape + subcomponent + (truncation ?? "");
  requireDelimiters(field + encoding);
  return encoding;
}

function requireDelimiters(characters: string): void {
  for (let i = 0; i < characters.length; i++) {
    if (!isPunctuation(characters.charCodeAt(i))) {
      throw new Failure(
        "HL7_DELIMITERS",
        `${i === 0 ? "MSH-1" : `MSH-2, character ${i}`}: a delimiter must be a printable character that is neither letter, digit nor space`,
      );
    }
    if (characters.indexOf(characters.charAt(i)) < i) {
      throw new Failure(
        "HL7_DELIMITERS",
        `MSH-2, character ${i}: the same character is declared for two delimiters`,
      );
    }
  }
}

function isPunctuation(code: number): boolean {
  if (code <= 0x20 || code >= 0x7f) return false;
  const isDigit = code >= 0x30 && code <= 0x39;
  const isUpper = code >= 0x41 && code <= 0x5a;
  const isLower = code >= 0x61 && code <= 0x7a;
  return !isDigit && !isUpper && !isLower;
}
