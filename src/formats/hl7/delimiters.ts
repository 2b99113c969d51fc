import { Failure } from "../../core/failures.ts";
import { decodeBytes, type Encoding } from "../encoding.ts";

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

/**
 * The value of an escaped text (HL7 chapter 2.7). Delimiter escapes and `\Xhh..\` are decoded, the latter in
 * `encoding`; formatting (`\.br\`, `\H\`), character set shifts, local (`\Z..\`) and unknown escapes are kept as they
 * stand, and so is an escape character without a partner. `\P\` is decoded where a truncation character is declared.
 */
export function unescapeText(text: string, delimiters: Delimiters, encoding: Encoding = "us-ascii"): string {
  return replaceEscapes(text, delimiters, (body) => decodeEscape(body, delimiters, encoding));
}

/**
 * The value as plain text: like {@link unescapeText}, and formatting becomes the blank that it stands for, or nothing. What
 * the sender cut (HL7 chapter 2.5.5.2) is marked as cut.
 */
export function toPlainText(text: string, delimiters: Delimiters, encoding: Encoding): string {
  const isCut = isTruncated(text, delimiters);
  const plain = replaceEscapes(isCut ? text.trimEnd().slice(0, -1) : text, delimiters, (body) => {
    if (/^\.(?:br|sp|sk|ce|ti|in|fi|nf)/i.test(body)) return " ";
    return body === "H" || body === "N" ? "" : decodeEscape(body, delimiters, encoding);
  });
  return isCut ? `${plain}… (cut by the sender)` : plain;
}

/** Formatting (`\.br\`, `\H\`), local escapes, shifts of the character set, and `\P\` where nothing can be truncated. */
const FORMATTING = /^(?:\.[A-Za-z]{2}[+-]?\d*|[HNP]|Z.*|[CM](?:[0-9A-Fa-f]{2})+|X.*)$/;

/** Why an escaped text is no code: an escape in it stands for no text but `formatting`, or for a `control` character. */
export function findFormatting(text: string, delimiters: Delimiters): "formatting" | "control" | undefined {
  let found: "formatting" | "control" | undefined;
  replaceEscapes(text, delimiters, (body) => {
    const decoded = decodeEscape(body, delimiters, "iso-8859-1");
    if (decoded === undefined ? FORMATTING.test(body) : /^X/.test(body) && /\p{Cc}/u.test(decoded))
      found ??= decoded === undefined ? "formatting" : "control";
    return undefined;
  });
  return found;
}

/** Whether the sender cut the text, which then ends with the truncation character that MSH-2 declares. */
export function isTruncated(text: string, { truncation }: Delimiters): boolean {
  return truncation !== undefined && text.trimEnd().endsWith(truncation);
}

/** Each escape replaced, or kept as it stands where there is nothing for it. */
function replaceEscapes(
  text: string,
  { escape: mark }: Delimiters,
  replace: (body: string) => string | undefined,
): string {
  if (mark === "") return text;
  let open = text.indexOf(mark);
  if (open === -1) return text;
  let value = "";
  let from = 0;
  while (open !== -1) {
    const close = text.indexOf(mark, open + 1);
    if (close === -1) break;
    const decoded = replace(text.slice(open + 1, close));
    value += decoded === undefined ? text.slice(from, close + 1) : text.slice(from, open) + decoded;
    from = close + 1;
    open = text.indexOf(mark, from);
  }
  return value + text.slice(from);
}

function decodeEscape(body: string, delimiters: Delimiters, encoding: Encoding): string | undefined {
  switch (body) {
    case "F":
      return delimiters.field;
    case "S":
      return delimiters.component;
    case "T":
      return delimiters.subcomponent === "" ? undefined : delimiters.subcomponent;
    case "R":
      return delimiters.repetition;
    case "E":
      return delimiters.escape;
    case "P":
      return delimiters.truncation;
  }
  if (!body.startsWith("X") || body.length < 3 || body.length % 2 === 0) return undefined;
  for (let i = 1; i < body.length; i++) {
    if (!isHexDigit(body.charCodeAt(i))) return undefined;
  }
  const decoded = decodeBytes(Buffer.from(body.slice(1), "hex"), encoding);
  return decoded.ok ? decoded.text : undefined;
}

function isHexDigit(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

/**
 * A value written so that nothing in it can end its subcomponent, segment or MLLP frame. Line breaks become `\.br\`
 * (`\X0D\` where `.` is a delimiter), other control characters but tab become `\Xhh\`. NUL, which no message can carry,
 * is left out.
 */
export function escapeText(value: string, delimiters: Delimiters): string {
  const mark = delimiters.escape;
  let text = "";
  let from = 0;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (isNeverDelimiter(code)) continue;
    const body = escapeOf(code, value.charAt(i), delimiters);
    if (body === undefined) continue;
    text += value.slice(from, i) + (code === 0 ? "" : mark + body + mark);
    if (value.charAt(i) === "\r" && value.charAt(i + 1) === "\n") i++;
    from = i + 1;
  }
  return from === 0 ? value : text + value.slice(from);
}

/** Letters, digits, the space, and what is not ASCII: they stand for themselves. */
function isNeverDelimiter(code: number): boolean {
  if (code >= 0x61) return code <= 0x7a || code > 0x7f;
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39) || code === 0x20;
}

function escapeOf(code: number, character: string, delimiters: Delimiters): string | undefined {
  if (code < 0x20 || code === 0x7f) {
    if (code === 0x09) return undefined;
    if (code === 0x0d || code === 0x0a) return mayWriteBreak(delimiters) ? ".br" : "X0D";
    return `X${code.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  switch (character) {
    case delimiters.field:
      return "F";
    case delimiters.component:
      return "S";
    case delimiters.subcomponent:
      return "T";
    case delimiters.repetition:
      return "R";
    case delimiters.escape:
      return "E";
    case delimiters.truncation:
      return "P";
  }
  return undefined;
}

function mayWriteBreak(delimiters: Delimiters): boolean {
  const { field, component, repetition, subcomponent, truncation } = delimiters;
  return ![field, component, repetition, subcomponent, truncation].includes(".");
}
