import { kindOf, safeFileName, splitExtension } from "../../core/file-name.ts";
import type { Outcome } from "../../core/outcome.ts";
import { dateFormatMistake, formatDate } from "./timestamp.ts";

/** Long enough for any order number in use, short enough for every file system. */
const MAX_SUBJECT_LENGTH = 80;

/** What file systems give a name. */
const LONGEST_BYTES = 255;
/** Fits into every file system, also an encrypted one of 143, with room for a marker's ending. */
const MOST_BYTES = 136;
/** What is left of a dropped file's name at least. */
const FEWEST_INPUT_BYTES = 40;

/** A name with places for values, of which each may have a form; made by {@link parseHl7FileName} or {@link parseFileName}. */
export type FileNamePattern = readonly (
  | { readonly text: string }
  | { readonly place: string; readonly form: string | undefined }
)[];

/** What a name may have put in, and whether a form behind its colon fits, or what is wrong with that. */
type Places = Readonly<Record<string, (form: string | undefined) => boolean | string>>;

const withoutForm = (form: string | undefined) => form === undefined;

function parsePattern(pattern: string, places: Places, shown: string): FileNamePattern | string {
  const parts: FileNamePattern[number][] = [];
  for (const part of pattern.split(/(\{[^{}]*\})/).filter((each) => each !== "")) {
    const [, place = "", form] = /^\{(\w+)(?::(.+))?\}$/.exec(part) ?? [];
    const fits = Object.hasOwn(places, place) && (places[place]?.(form) ?? false);
    if (typeof fits === "string") return fits;
    if (fits) parts.push({ place, form });
    else if (/[{}]/.test(part)) return `${part} stands for nothing; expected ${shown}`;
    else parts.push({ text: part });
  }
  return parts;
}

function countOf(parts: FileNamePattern, ...places: readonly string[]): number {
  return parts.filter((part) => "place" in part && places.includes(part.place)).length;
}

function fillIn(
  pattern: FileNamePattern,
  valueAt: (place: string, form: string | undefined) => string | undefined,
): string {
  return pattern.map((part) => ("text" in part ? part.text : valueAt(part.place, part.form))).join("");
}

/** How files of HL7 results are named. */
interface Hl7Naming {
  readonly fileName?: FileNamePattern | undefined;
  readonly suffix: string;
  readonly timeZone: string;
}

/**
 * `<placer order number>_<control id>.hl7`, or as the site has it. An answer to a message without order numbers is
 * named by the message's own control id. Characters that some file system or shell takes amiss become `_`; the control id
 * keeps names apart.
 *
 * @param number the order number that was read of a message which is refused or waits
 */
export function resultFileName(
  outcome: Outcome,
  { fileName, suffix, timeZone }: Hl7Naming,
  number?: string,
): string {
  const name = safeName(subjectOf(outcome, number));
  const controlId = safeName(outcome.controlId);
  if (fileName === undefined) return safeFileName(`${name}_${controlId}${suffix}`, LONGEST_BYTES);
  const status = outcome.kind === "changed" ? outcome.order.state : outcome.kind;
  const values: Readonly<Record<string, string>> = { number: name, controlId, status };
  const time = (format: string) => safeName(formatDate(outcome.occurredAt.toISOString(), format, timeZone));
  const filled = fillIn(fileName, (place, form) => (place === "time" ? time(form ?? "") : values[place]));
  return safeFileName(filled, LONGEST_BYTES);
}

function subjectOf(outcome: Outcome, number: string | undefined): string {
  const { message } = outcome;
  switch (outcome.kind) {
    case "changed":
      return outcome.order.placerOrderNumber ?? outcome.order.orderId;
    case "acknowledged":
      return outcome.orders[0]?.placerOrderNumber ?? message.messageControlId ?? message.messageId;
    case "control":
      return outcome.answers[0]?.placerOrderNumber ?? message.messageControlId ?? message.messageId;
    default:
      return outcome.placerOrderNumber ?? number ?? message.messageControlId ?? message.messageId;
  }
}

const HL7_PLACES: Places = {
  number: withoutForm,
  controlId: withoutForm,
  status: withoutForm,
  time: (format) => format !== undefined && (dateFormatMistake(format) ?? true),
};
const HL7_PLACES_SHOWN = "{number}, {controlId}, {status} and {time:yyyyMMddHHmmss}";

/** Reads a pattern such as `{number}-{status}_{controlId}.hl7`; gives words where no distinct and harmless names come of it. */
export function parseHl7FileName(pattern: string): FileNamePattern | string {
  const parts = parsePattern(pattern, HL7_PLACES, HL7_PLACES_SHOWN);
  if (typeof parts === "string") return parts;
  if (countOf(parts, "controlId") !== 1) return "expected {controlId} once: it makes each name another one";
  return findTextMistake(parts, ".hl7") ?? parts;
}

/** Letters, digits, `-`, `_` and inner dots; never empty, never hidden. */
export function safeName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9._-]/g, "_").replace(/^\.+|\.+$/g, "_");
  return name.slice(0, MAX_SUBJECT_LENGTH) || "_";
}

/** What stands in the name of a CSV file of results. */
interface NameValues {
  readonly inputName: string;
  readonly connector: string;
  /** When the first of its rows happened. */
  readonly at: Date;
  readonly timeZone: string;
}

const LONGEST_TEXT = 60;

const CSV_PLACES: Places = {
  input: withoutForm,
  stem: withoutForm,
  connector: withoutForm,
  date: withoutForm,
  number: (digits) => digits === undefined || /^[1-9]$/.test(digits),
};
const CSV_PLACES_SHOWN = "{input}, {stem}, {connector}, {date} and {number} or {number:4}";

/** Reads a pattern such as `{stem}-ergebnis-{number:4}.csv`; gives words where no distinct and harmless names come of it. */
export function parseFileName(pattern: string): FileNamePattern | string {
  const parts = parsePattern(pattern, CSV_PLACES, CSV_PLACES_SHOWN);
  return typeof parts === "string" ? parts : (findMistake(parts) ?? parts);
}

function findMistake(parts: FileNamePattern): string | undefined {
  if (countOf(parts, "number") !== 1) return "expected {number} once: it makes each name another one";
  const mistake = findTextMistake(parts, ".csv");
  if (mistake !== undefined) return mistake;
  if (countOf(parts, "input", "stem") > 1) return "expected {input} or {stem}, and once";
  const at = parts.findIndex((part) => "place" in part && part.place === "number");
  const [before, after] = [parts[at - 1], parts[at + 1]];
  const isDigit = (part: FileNamePattern[number] | undefined, pattern: RegExp) =>
    part !== undefined && (!("text" in part) || pattern.test(part.text));
  return isDigit(before, /\d$/) || isDigit(after, /^\d/)
    ? "expected {number} apart from other values and digits, as in {stem}-{number}.csv"
    : undefined;
}

/** What no text around values may be. */
function findTextMistake(parts: FileNamePattern, ending: ".csv" | ".hl7"): string | undefined {
  const textOf = (part: FileNamePattern[number] | undefined) =>
    part !== undefined && "text" in part ? part.text : undefined;
  const texts = parts.flatMap((part) => textOf(part) ?? []);
  if (texts.some((text) => /[\p{Cc}\p{Cf}/\\:*?"<>|]/u.test(text)))
    return 'expected a name without any folder, and none of the characters / \\ : * ? " < > |';
  if (Buffer.byteLength(texts.join("")) > LONGEST_TEXT)
    return `expected at most ${LONGEST_TEXT} bytes of text besides the values`;
  const own = /\.[A-Za-z0-9]+$/.exec(textOf(parts.at(-1)) ?? "");
  if (own === null) return `expected an ending such as ${ending}`;
  if (kindOf(`x${own[0]}`) !== "dropped")
    return `${own[0]} is the ending of files that are not done; expected another one, such as ${ending}`;
  return /^[. ]/.test(textOf(parts[0]) ?? "")
    ? "expected a name that does not begin with a dot or a blank"
    : undefined;
}

/**
 * The name of a file of results, as it stands on disk; without a number what all names of its series share. A dropped file's name
 * is cut where the whole would be too long.
 */
export function fileNameOf(pattern: FileNamePattern, values: NameValues, number?: number): string {
  const { inputName, connector, at, timeZone } = values;
  const written = (digits = "1") =>
    number === undefined ? "{number}" : String(number).padStart(Number(digits), "0");
  const filled = (input: string, isNumbered: boolean) =>
    fillIn(pattern, (place, form) => {
      if (place === "input") return input;
      if (place === "stem") return splitExtension(input).stem;
      if (place === "connector") return safeFileName(connector, FEWEST_INPUT_BYTES);
      if (place === "date") return formatDate(at.toISOString(), "yyyyMMdd", timeZone);
      return isNumbered ? written(form) : "";
    });
  // The names of a series differ in nothing but their numbers, so each has room for a large one.
  const room = MOST_BYTES - Buffer.byteLength(filled("", false)) - "0123456789".length;
  return safeFileName(
    filled(safeFileName(inputName, Math.max(FEWEST_INPUT_BYTES, room)), true),
    LONGEST_BYTES,
  );
}
