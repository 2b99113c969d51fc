import type { Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import type { CsvRow } from "../../core/intake.ts";
import { atLine, lineOf, type Place } from "../../core/place.ts";
import { withoutGuard } from "../../formats/csv/encode.ts";
import { type Allowed, findMisread, SHORTENED, SHORTENED_TROUBLE } from "../profile/misread.ts";
import {
  type Found,
  placesOf,
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
  if (reading.status !== "absent" || isInRow(reading)) return reading;
  const { spots = [] } = placesOf(rule.sources);
  const inRow = spots.map((spot, n) => (n === 0 && "column" in spot ? { ...spot, line } : spot));
  return { status: "absent", place: inRow.length === 0 ? atLine(line) : { spots: inRow } };
}

/** Whether it stands in a row, and is nothing that the profile itself brings. */
export function isInRow({ place }: Reading): boolean {
  return lineOf(place) !== undefined;
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
    places: isPlace && !mustAgree ? { spots: first.spots } : rule.places,
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
  return tidied(reading);
}

/** What the profile itself brings is as its author wants it. */
function tidied(reading: Reading): Reading {
  if (reading.status !== "found" || !isInRow(reading)) return reading;
  return { ...reading, value: tidy(reading.value) };
}

function tidy(code: string): string {
  return code.trim().normalize("NFC");
}

/** A code as {@link readCode} leaves it, or what it says of a damaged one. */
export function guardCode(text: string, place: Place, allow?: readonly Allowed[]): Reading {
  const value = tidy(text);
  const misread = findMisread(value, "code", allow);
  return misread ? invalid(place, misread.message, misread.hint) : { status: "found", value, place };
}

function invalid(place: Place, message: string, hint?: string): Reading {
  return { status: "bad", place, code: "MAPPING_VALUE_INVALID", message, hint };
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
    group.map((reading) => {
      const isOfProfile = reading.status === "found" && !isInRow(reading);
      return isOfProfile ? reading : withoutList(tidied(reading), label.split?.texts);
    }),
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
  find: (column: string, isOnly: boolean, row: CsvRow) => Found | Problem | undefined,
): readonly (readonly Reading[])[] {
  const findAll = (column: string, isOnly: boolean): readonly Found[] | Problem | undefined => {
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

/** A label as {@link readContainers} leaves it. */
export function guardLabel(text: string, place: Place, allow?: readonly Allowed[]): Reading {
  return withoutList(guardCode(text, place, allow));
}

function withoutList(reading: Reading, split: readonly string[] = []): Reading {
  if (reading.status !== "found" || !isList(reading.value)) return reading;
  const present = [";", "|", ","].find((separator) => reading.value.includes(separator)) ?? ",";
  const both = JSON.stringify([...split, present]);
  return invalid(
    reading.place,
    "seems to hold several labels, expected one for each container",
    byReload(
      split.length === 0
        ? `Have the sender write a row for each container, or set \`containers: { label: { split: ${JSON.stringify(present)} } }\` in the profile.`
        : `Labels are parted by ${split.map((text) => JSON.stringify(text)).join(" or ")} here: have the sender do so, or set \`containers: { label: { split: ${both} } }\` in the profile.`,
    ),
  );
}

/** A name as a profile's rule leaves it, or what it says of a word for none. */
export function guardName(value: string, place: Place, allow?: readonly Allowed[]): Reading {
  const misread = findMisread(value, "name", allow);
  return misread ? invalid(place, misread.message, misread.hint) : { status: "found", value, place };
}

/** Whether a text is several codes: parted by semicolons or bars, or by commas where they differ in their digits only. */
function isList(text: string): boolean {
  if (/[;|]/.test(text)) return text.split(/[;|]/).filter((part) => part.trim() !== "").length > 1;
  const parts = text.split(",").map((part) => part.trim().replace(/\d+/g, "0"));
  return parts.length > 1 && parts[0] !== "" && parts.every((part) => part === parts[0]);
}

function findCode(column: string, isOnly: boolean, row: CsvRow): Found | Problem | undefined {
  const found = findColumn(column, isOnly, row);
  if (found === undefined || "code" in found) return found;
  if (!SHORTENED.test(found.value)) return { ...found, value: withoutGuard(found.value) };
  return { place: found.place, code: "MAPPING_VALUE_INVALID", message: SHORTENED_TROUBLE };
}

function findColumn(column: string, _isOnly: boolean, { line, values }: CsvRow): Found | Problem | undefined {
  const value = values.get(column);
  return value === undefined ? undefined : { value, place: { spots: [{ column, line }] } };
}
