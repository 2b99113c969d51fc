import { createHash } from "node:crypto";
import type { Outcome } from "../../core/outcome.ts";
import { formatDate } from "./timestamp.ts";

/** Long enough for any order number in use, short enough for every file system. */
const MAX_SUBJECT_LENGTH = 80;

/** Leaves room for what follows it within the 255 bytes of a name, even where each character takes two. */
const MAX_INPUT_NAME_LENGTH = 100;

/**
 * `<placer order number>_<control id>.hl7`, or with the site's own ending. An answer to a message without order numbers is
 * named by the message's own control id. Characters that some file system or shell takes amiss become `_`; the control id
 * keeps names apart.
 */
export function resultFileName(outcome: Outcome, suffix = ".hl7"): string {
  return `${safeName(subjectOf(outcome))}_${safeName(outcome.controlId)}${suffix}`;
}

function subjectOf(outcome: Outcome): string {
  if (outcome.kind === "changed") return outcome.order.placerOrderNumber ?? outcome.order.orderId;
  const [named] =
    outcome.kind === "acknowledged" ? outcome.orders : outcome.kind === "control" ? outcome.answers : [];
  return named?.placerOrderNumber ?? outcome.message.messageControlId ?? outcome.message.messageId;
}

/** Letters, digits, `-`, `_` and inner dots; never empty, never hidden. */
export function safeName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9._-]/g, "_").replace(/^\.+|\.+$/g, "_");
  return name.slice(0, MAX_SUBJECT_LENGTH) || "_";
}

/** Names of dropped files are the lab's own; only what no file system takes is changed, and a digest then keeps two names apart. */
export function distinctName(fileName: string): string {
  const name = fileName.replace(/[\p{Cc}/\\:*?"<>|]/gu, "_").replace(/^[. ]+|[. ]+$/g, "_");
  if (name === fileName && name.length <= MAX_INPUT_NAME_LENGTH) return name;
  const digest = createHash("sha256").update(fileName).digest("hex").slice(0, 8);
  return `${name.slice(0, MAX_INPUT_NAME_LENGTH)}-${digest}`;
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
  const texts = parts.flatMap((part) => ("text" in part ? [part.text] : []));
  const countOf = (...places: readonly Place[]) =>
    parts.filter((part) => "place" in part && places.includes(part.place)).length;
  if (texts.some((text) => /[\p{Cc}\p{Cf}/\\:*?"<>|]/u.test(text)))
    return 'expected a name without any folder, and none of the characters / \\ : * ? " < > |';
  if (texts.join("").length > LONGEST_TEXT)
    return `expected at most ${LONGEST_TEXT} characters besides the values`;
  if (countOf("number") !== 1) return "expected {number} once: it makes each name another one";
  if (countOf("input", "stem") > 1) return "expected {input} or {stem}, and once";
  const at = parts.findIndex((part) => "place" in part && part.place === "number");
  const [before, after] = [parts[at - 1], parts[at + 1]];
  const isDigit = (part: NamePart | undefined, pattern: RegExp) =>
    part !== undefined && (!("text" in part) || pattern.test(part.text));
  if (isDigit(before, /\d$/) || isDigit(after, /^\d/))
    return "expected {number} apart from other values and digits, as in {stem}-{number}.csv";
  const last = parts.at(-1);
  const ending = last !== undefined && "text" in last ? /\.[A-Za-z0-9]+$/.exec(last.text) : null;
  if (ending === null) return "expected an ending such as .csv";
  if (/^\.(?:tmp|part|filepart|crdownload)$/i.test(ending[0]))
    return `${ending[0]} is the ending of files that are not done; expected another one, such as .csv`;
  const first = parts[0];
  return first !== undefined && "text" in first && /^[. ]/.test(first.text)
    ? "expected a name that does not begin with a dot or a blank"
    : undefined;
}

/** The name of a file of results; without a number what all names of its series share. */
export function fileNameOf(pattern: FileNamePattern, values: NameValues, number?: number): string {
  const { inputName, connector, at, timeZone } = values;
  const input = distinctName(inputName);
  const fill = (place: Place, digits: number): string => {
    switch (place) {
      case "input":
        return input;
      case "stem":
        return withoutEnding(input);
      case "connector":
        return distinctName(connector);
      case "date":
        return formatDate(at.toISOString(), "yyyyMMdd", timeZone);
      case "number":
        return number === undefined ? "{number}" : String(number).padStart(digits, "0");
    }
  };
  return pattern.map((part) => ("text" in part ? part.text : fill(part.place, part.digits))).join("");
}

/** `orders.csv` -> `orders`. */
function withoutEnding(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? name : name.slice(0, dot);
}
