import type { CsvRow } from "../../core/intake.ts";
import { withoutGuard } from "../../formats/csv/encode.ts";
import {
  type Found,
  type Misfit,
  type Reading,
  readSeveral,
  readValue,
  splitFound,
  type ValueRule,
} from "../profile/value.ts";
import { type DraftContainer, pairContainers } from "./draft.ts";

/** One value of one row, with its place. */
export function readRow(rule: ValueRule<string>, row: CsvRow, find = findColumn): Reading {
  return atRow(readValue(rule, find, row), rule, row);
}

function atRow(reading: Reading, rule: ValueRule<string>, { line }: CsvRow): Reading {
  if (reading.status !== "absent" || reading.place.startsWith("line ")) return reading;
  return { status: "absent", place: `line ${line}, ${columnsOf(rule)}` };
}

/** Where a value is looked for, for people: `column Auftrag or column Nummer`. */
export function columnsOf({ sources }: ValueRule<string>): string {
  const columns = sources.flatMap((source) => (source.kind === "place" ? [`column ${source.text}`] : []));
  return columns.join(" or ");
}

/**
 * The column that counts for a code or a date: the first of the profile's list that the file has, so that an empty cell is an
 * error and never filled with what another column has. What the profile brings itself is for files without any of them.
 */
function columnInForce(rule: ValueRule<string>, { values }: CsvRow): ValueRule<string> {
  const { sources, fallback, mustAgree } = rule;
  if (fallback === undefined && (mustAgree || sources.length <= 1)) return rule;
  const counting = sources.filter((source) => source.kind === "constant" || values.has(source.path));
  const [first] = counting;
  if (first === undefined) return rule;
  const isPlace = first.kind === "place";
  return {
    ...rule,
    sources: mustAgree ? counting : [first],
    places: isPlace && !mustAgree ? first.text : rule.places,
    fallback: isPlace ? undefined : fallback,
  };
}

/** A birth date of one row. */
export function readDate(rule: ValueRule<string>, row: CsvRow): Reading {
  return readRow(columnInForce(rule, row), row);
}

/**
 * A code of one row that things are found by: an order number, a subject code, a label. Blanks around it don't count,
 * composed and decomposed letters (`ü`) are the same, and the apostrophe that our own results put before what looks like a
 * formula is taken off again. What a spreadsheet or an export makes of a code that it takes for a number, a date or a
 * formula is refused, since it may stand for another code, or for many.
 */
export function readCode(rule: ValueRule<string>, row: CsvRow): Reading {
  const reading = readRow(columnInForce(rule, row), row, findCode);
  // What the profile itself brings is as its author wants it.
  if (reading.status !== "found" || !reading.place.startsWith("line ")) return reading;
  return guardCode(reading.value, reading.place);
}

/** A code as {@link readCode} leaves it, or what it says of a damaged one. */
export function guardCode(text: string, place: string): Reading {
  const value = text.trim().normalize("NFC");
  const shortened = SHORTENED.test(value) ? SHORTENED_TROUBLE : undefined;
  const trouble =
    shortened ??
    (SUSPICIOUS.test(value) ? DAMAGES.find(({ pattern }) => pattern.test(value))?.trouble : undefined);
  return trouble === undefined ? { status: "found", value, place } : invalid(place, trouble);
}

function invalid(place: string, trouble: string, hint?: string): Reading {
  return { status: "bad", place, code: "MAPPING_VALUE_INVALID", trouble, hint };
}

/**
 * The containers of one row. Two labels in one cell that the profile does not take apart would be stored, or looked for, as
 * one container.
 */
export function readContainers(
  { label, description }: { readonly label: ValueRule<string>; readonly description: ValueRule<string> },
  row: CsvRow,
): DraftContainer[] {
  if (!maySplit(label) && !maySplit(description)) {
    return [{ label: withoutList(readCode(label, row)), description: readRow(description, row) }];
  }
  const labels = readParts(label.every ? label : columnInForce(label, row), row, findCode);
  const guarded = labels.map((group) =>
    group.map((reading) =>
      reading.status === "found" && reading.place.startsWith("line ")
        ? guardLabel(reading.value, reading.place, label.split?.texts)
        : reading,
    ),
  );
  return pairContainers(guarded, readParts(description, row, findColumn));
}

function maySplit({ split, every }: ValueRule<string>): boolean {
  return split !== undefined || every === true;
}

/** @param find looks at a part as if it were a cell of its own */
function readParts(
  rule: ValueRule<string>,
  row: CsvRow,
  find: (column: string, isOnly: boolean, row: CsvRow) => Found | Misfit | undefined,
): readonly (readonly Reading[])[] {
  const findAll = (column: string, isOnly: boolean): readonly Found[] | Misfit | undefined => {
    const cell = findColumn(column, isOnly, row);
    if (cell === undefined || "code" in cell) return cell;
    const parts = splitFound(cell, rule.split);
    if ("code" in parts) return parts;
    const found: Found[] = [];
    for (const { value, place } of parts) {
      const part = find(column, isOnly, { ...row, values: new Map([[column, value]]) });
      if (part === undefined) continue;
      if ("code" in part) return { ...part, place };
      found.push({ value: part.value, place });
    }
    return found;
  };
  return readSeveral(rule, findAll, row).map((group) => group.map((reading) => atRow(reading, rule, row)));
}

/** A label as {@link readContainers} leaves it; `split` is what the profile parts labels by. */
export function guardLabel(text: string, place: string, split: readonly string[] = []): Reading {
  return withoutList(guardCode(text, place), split);
}

function withoutList(reading: Reading, split: readonly string[] = []): Reading {
  if (reading.status !== "found" || !isList(reading.value)) return reading;
  const present = [";", "|", ","].find((separator) => reading.value.includes(separator)) ?? ",";
  const both = JSON.stringify([...split, present]);
  return invalid(
    reading.place,
    "seems to hold several labels, expected one for each container",
    split.length === 0
      ? "Have the sender write a row for each container, or set `split` of `containers.label` in the profile."
      : `Labels are parted by ${split.map((text) => JSON.stringify(text)).join(" or ")} here: have the sender do so, or set \`split: ${both}\` of \`containers.label\` in the profile.`,
  );
}

/** A person's name of one row. */
export function readName(rule: ValueRule<string>, row: CsvRow): Reading {
  const reading = readRow(rule, row);
  return reading.status === "found" ? guardName(reading.value, reading.place) : reading;
}

/** A name as {@link readName} leaves it. */
export function guardName(value: string, place: string): Reading {
  return ERROR_VALUE.test(value.trim()) ? invalid(place, ERROR_TROUBLE) : { status: "found", value, place };
}

/** A spreadsheet writes a long number so, and has dropped its last digits: two codes may have become one. */
const SHORTENED = /^\s*-?(?:\d(?:[.,]\d+)?E\+\d+|\d[.,]\d+E-\d{2,})\s*$/i;

const SHORTENED_TROUBLE =
  "is a number that a spreadsheet has shortened, like 1.23E+05, expected the whole code; give the column the format Text, enter the codes again and save the file again";

/** What a spreadsheet shows where a formula failed, in English, German and French, or a column is too narrow. */
const ERROR_VALUE = /^#(?:N\/[AD]|NV|DIV\/0!|¡?\p{Lu}+[!?]|#+)$/u;
const ERROR_TROUBLE = "is what a spreadsheet shows where a formula failed, expected a value";

const MONTHS = "Jan|Feb|Mar|Mrz|Apr|May|Mai|Jun|Jul|Aug|Sep|Oct|Okt|Nov|Dec|Dez";

/** How all of {@link DAMAGES} begin, so that nearly every code is looked at once only. */
const SUSPICIOUS = /^(?:[#(=NUnu'"`´‘’‚‛“”„‟«»‹›]|\d+[-.,])/u;

/** What stands where a code should, and why it is none; looked at once the profile's transforms have had their turn. */
const DAMAGES: readonly { readonly pattern: RegExp; readonly trouble: string }[] = [
  { pattern: ERROR_VALUE, trouble: ERROR_TROUBLE },
  {
    pattern: /^(?:null|\(null\)|nil|none|nan|undefined|n\/a)$/i,
    trouble: "is a word for no value, which would be the same code for many, expected a code or nothing",
  },
  {
    pattern: /^=/,
    trouble: "is a spreadsheet's formula, expected the code itself; give the column the format Text",
  },
  {
    pattern: /^['"`´‘’‚‛“”„‟«»‹›]/u,
    trouble: "begins with a quotation mark or an apostrophe, expected the code alone",
  },
  {
    pattern: /^\d+[.,]0+$/,
    trouble: "is a whole number written with decimals, like 4711.0, expected the code as it was entered",
  },
  {
    pattern: new RegExp(`^\\d{1,2}(?:-|\\. ?)(?:${MONTHS})$`),
    trouble:
      "is a date that a spreadsheet may have made of a code, like 1-Mar; give the column the format Text and enter the codes again",
  },
];

/** Whether a text is several codes: parted by semicolons or bars, or by commas where they differ in their digits only. */
function isList(text: string): boolean {
  if (/[;|]/.test(text)) return text.split(/[;|]/).filter((part) => part.trim() !== "").length > 1;
  const parts = text.split(",").map((part) => part.trim().replace(/\d+/g, "0"));
  return parts.length > 1 && parts[0] !== "" && parts.every((part) => part === parts[0]);
}

function findCode(column: string, isOnly: boolean, row: CsvRow): Found | Misfit | undefined {
  const found = findColumn(column, isOnly, row);
  if (found === undefined || "code" in found) return found;
  if (!SHORTENED.test(found.value)) return { ...found, value: withoutGuard(found.value) };
  return { place: found.place, code: "MAPPING_VALUE_INVALID", trouble: SHORTENED_TROUBLE };
}

function findColumn(column: string, _isOnly: boolean, { line, values }: CsvRow): Found | Misfit | undefined {
  const value = values.get(column);
  return value === undefined ? undefined : { value, place: `line ${line}, column ${column}` };
}
