import type { z } from "zod";
import {
  type columnEntrySchema,
  type FormedColumn,
  isFormed,
  RESULT_COLUMNS,
  type ResultColumn,
} from "./results-schema.ts";
import { complainOf } from "./settings.ts";
import { type EmptyParts, nameOfPart, placeOfPart } from "./transform-schema.ts";
import { compileTransform, type Transform, tableTransform } from "./transforms.ts";

/** Where a cell's value comes from: one column, or several with a text between. */
export interface CsvSource {
  readonly columns: readonly ResultColumn[];
  readonly between: string;
  /** What stands before the value of each. */
  readonly names: readonly string[];
  /** What becomes of those without a value. */
  readonly empty: EmptyParts;
}

/** One column of a file: the first of its sources that has a value after the transforms, else a constant. */
export interface CsvColumn {
  readonly header: string;
  readonly from: readonly CsvSource[];
  readonly transforms: readonly Transform[];
  /** Where no source has a value; empty unless the profile gives one. */
  readonly fallback: string;
}

type Entry = z.output<typeof columnEntrySchema>;

/** The columns that are named; each has its own name for its heading unless it has another. */
export function compileColumns(entries: readonly Entry[], context: z.RefinementCtx): CsvColumn[] {
  const columns = entries.flatMap((entry, index): CsvColumn[] => {
    const refuse = (message: string): CsvColumn[] => {
      complainOf(context, message, [index]);
      return [];
    };
    if (typeof entry !== "string" && isFormed(entry)) return compileFormed(entry, refuse);
    const { value, header: heading, ...named } = typeof entry === "string" ? { [entry]: entry } : entry;
    if (value !== undefined && heading !== undefined && Object.keys(named).length === 0)
      return [{ header: heading, from: [], transforms: [], fallback: value }];
    const [[name, header] = [], ...more] = Object.entries(named);
    if (name === undefined || value !== undefined || heading !== undefined || more.length > 0)
      return refuse(
        "expected a column, { COLUMN: its heading }, { from: COLUMN, header: its heading }, or { value: a constant, header: its heading }",
      );
    return compileFormed({ from: name, header }, refuse);
  });
  const headers = columns.map(({ header }) => header);
  const twice = headers.find((header, index) => headers.indexOf(header) < index);
  if (twice !== undefined)
    complainOf(context, `two columns have the heading ${twice}; expected each heading once`);
  return columns;
}

/** One column of others; mistakes go to `refuse`. */
function compileFormed(
  { from, as = [], table, caseSensitive, default: fallback = "", header = "" }: FormedColumn,
  refuse: (message: string) => CsvColumn[],
): CsvColumn[] {
  const sources = [from]
    .flat()
    .map((source) => (typeof source === "string" ? { join: [source], with: "" } : source));
  const names = sources.flatMap((source) => source.join.map(placeOfPart));
  const unknown = names.find((name) => !isResultColumn(name));
  if (unknown !== undefined)
    return refuse(`there is no column ${unknown}; expected one of ${RESULT_COLUMNS.join(", ")}`);
  if (header.trim() === "") return refuse(`${names.join(", ")}: expected the words of its heading`);
  const settings = { mayQuote: false, complain: refuse };
  const transforms = [as].flat().map((step) => compileTransform(step, settings));
  if (table !== undefined) transforms.push(tableTransform({ table, caseSensitive }, settings));
  else if (caseSensitive !== undefined) refuse("caseSensitive is for a table; expected table beside it");
  const compiled = sources.map((source) => ({
    columns: source.join.map(placeOfPart).filter(isResultColumn),
    between: source.with,
    names: source.join.map(nameOfPart),
    empty: ("empty" in source ? source.empty : undefined) ?? "keep",
  }));
  return [{ header: header.trim(), from: compiled, transforms, fallback }];
}

function isResultColumn(name: string): name is ResultColumn {
  return RESULT_COLUMNS.some((known) => known === name);
}

/** What of a column the profile writes into files by itself. */
export function columnText(entry: Entry): string {
  if (typeof entry === "string") return entry;
  if (!isFormed(entry)) return Object.values(entry).join("");
  const between = [entry.from]
    .flat()
    .flatMap((source) => (typeof source === "string" ? [] : [source.with, ...source.join.map(nameOfPart)]));
  return [entry.header, entry.default, ...Object.values(entry.table ?? {}), ...between].join("");
}
