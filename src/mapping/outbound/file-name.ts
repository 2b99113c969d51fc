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

/** How files of HL7 results are named. */
interface Hl7Naming {
  readonly fileName?: Hl7FileName | undefined;
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
  const time = (format: string) => safeName(formatDate(outcome.occurredAt.toISOString(), format, timeZone));
  const filled = fileName
    .map((part) => {
      if ("text" in part) return part.text;
      return "time" in part ? time(part.time) : { number: name, controlId, status }[part.place];
    })
    .join("");
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

/** A name of HL7 results with places for values; made by {@link parseHl7FileName}. */
export type Hl7FileName = readonly (
  | { readonly text: string }
  | { readonly place: "number" | "controlId" | "status" }
  | { readonly time: string }
)[];

/** Reads a pattern such as `{number}-{status}_{controlId}.hl7`; gives words where no distinct and harmless names come of it. */
export function parseHl7FileName(pattern: string): Hl7FileName | string {
  const parts: Hl7FileName[number][] = [];
  for (const part of pattern.split(/(\{[^{}]*\})/).filter((each) => each !== "")) {
    const [, place, format] = /^\{(\w+)(?::(.+))?\}$/.exec(part) ?? [];
    if ((place === "number" || place === "controlId" || place === "status") && format === undefined) {
      parts.push({ place });
    } else if (place === "time" && format !== undefined) {
      const mistake = dateFormatMistake(format);
      if (mistake !== undefined) return mistake;
      parts.push({ time: format });
    } else if (/[{}]/.test(part)) return `${part} stands for nothing; expected ${HL7_PLACES_SHOWN}`;
    else parts.push({ text: part });
  }
  if (parts.filter((part) => "place" in part && part.place === "controlId").length !== 1)
    return "expected {controlId} once: it makes each name another one";
  return findTextMistake(parts, ".hl7") ?? parts;
}

const HL7_PLACES_SHOWN = "{number}, {controlId}, {status} and {time:yyyyMMddHHmmss}";

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

/** A name with places for values; made by {@link parseFileName}. */
export type FileNamePattern = readonly NamePart[];
type NamePart = { readonly text: string } | { readonly place: Place; readonly digits: number };

const PLACES = ["input", "stem", "connector", "date", "number"] as const;
type Place = (typeof PLACES)[number];

const LONGEST_TEXT = 60;

/** Reads a pattern such as `{stem}-ergebnis-{number:4}.csv`; gives words where no distinct and harmless names come of it. */
export function parseFileName(pattern: string): FileNamePattern | string {
  const parts = pattern.split(/(\{[^{}]*\})/).filter((part) => part !== "");
  const parsed: NamePart[] = [];
  for (const part of parts) {
    const match = /^\{(\w+)(?::([1-9]))?\}$/.exec(part);
    const place = PLACES.find((known) => known === match?.[1]);
    if (place !== undefined && (match?.[2] === undefined || place === "number"))
      parsed.push({ place, digits: Number(match?.[2] ?? 1) });
    else if (/[{}]/.test(part)) return `${part} stands for nothing; expected ${PLACES_SHOWN}`;
    else parsed.push({ text: part });
  }
  return findMistake(parsed) ?? parsed;
}

const PLACES_SHOWN = "{input}, {stem}, {connector}, {date} and {number} or {number:4}";

function findMistake(parts: FileNamePattern): string | undefined {
  const countOf = (...places: readonly Place[]) =>
    parts.filter((part) => "place" in part && places.includes(part.place)).length;
  if (countOf("number") !== 1) return "expected {number} once: it makes each name another one";
  const mistake = findTextMistake(parts, ".csv");
  if (mistake !== undefined) return mistake;
  if (countOf("input", "stem") > 1) return "expected {input} or {stem}, and once";
  const at = parts.findIndex((part) => "place" in part && part.place === "number");
  const [before, after] = [parts[at - 1], parts[at + 1]];
  const isDigit = (part: NamePart | undefined, pattern: RegExp) =>
    part !== undefined && (!("text" in part) || pattern.test(part.text));
  return isDigit(before, /\d$/) || isDigit(after, /^\d/)
    ? "expected {number} apart from other values and digits, as in {stem}-{number}.csv"
    : undefined;
}

/** What no text around values may be. */
function findTextMistake(
  parts: readonly ({ readonly text: string } | object)[],
  ending: ".csv" | ".hl7",
): string | undefined {
  const textOf = (part: object | undefined) =>
    part !== undefined && "text" in part ? String(part.text) : undefined;
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
  const fill = (place: Place, digits: number, input: string): string => {
    switch (place) {
      case "input":
        return input;
      case "stem":
        return splitExtension(input).stem;
      case "connector":
        return safeFileName(connector, FEWEST_INPUT_BYTES);
      case "date":
        return formatDate(at.toISOString(), "yyyyMMdd", timeZone);
      case "number":
        return number === undefined ? "{number}" : String(number).padStart(digits, "0");
    }
  };
  const filled = (input: string, isNumbered: boolean) =>
    pattern
      .map((part) => {
        if ("text" in part) return part.text;
        return part.place === "number" && !isNumbered ? "" : fill(part.place, part.digits, input);
      })
      .join("");
  // The names of a series differ in nothing but their numbers, so each has room for a large one.
  const room = MOST_BYTES - Buffer.byteLength(filled("", false)) - "0123456789".length;
  return safeFileName(
    filled(safeFileName(inputName, Math.max(FEWEST_INPUT_BYTES, room)), true),
    LONGEST_BYTES,
  );
}
