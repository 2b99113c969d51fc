import { CsvError, parse } from "csv-parse/sync";
import type { FailureCode } from "../../core/failures.ts";
import { trimBlanks } from "./records.ts";

interface CellSettings {
  readonly delimiter: string;
  readonly quote: string;
}

/**
 * The values of records, in order; undefined for a record whose quotes are wrong. Records are given to the parser
 * together, since that is many times faster, and one by one only when one of them is refused.
 */
export function parseCells(
  records: readonly string[],
  settings: CellSettings,
): (readonly string[] | undefined)[] {
  if (records.length === 0) return [];
  const together = parseStrictly(records.join(""), settings);
  if (together?.length === records.length) return together;
  return records.map((record) => {
    const rows = parseStrictly(record, settings);
    // One record that reads as several would mean that two readings of one text are possible.
    return rows?.length === 1 ? rows[0] : undefined;
  });
}

function parseStrictly(text: string, { delimiter, quote }: CellSettings): string[][] | undefined {
  try {
    return parse(text, {
      delimiter,
      quote: quote === "" ? null : quote,
      escape: quote === "" ? null : quote,
      record_delimiter: ["\r\n", "\n", "\r"],
      // Counted by the caller, who can say what was expected.
      relax_column_count: true,
    });
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
}

/**
 * The column names of a first record, spaces around them left out; `1`, `2`, … when it is no header. What stands after
 * the last name is no column: many programs end each line with a delimiter.
 */
export function readHeader(cells: readonly string[], isHeader: boolean): readonly string[] {
  if (!isHeader) return cells.map((_, i) => String(i + 1));
  const names = cells.map(headingOf);
  const last = names.findLastIndex((name) => name !== "");
  return last === -1 ? names : names.slice(0, last + 1);
}

/** A column's name as it is compared: `é` of one character and of two (`e` and its accent) are the same. Never for values. */
export function headingOf(text: string): string {
  return trimBlanks(text).normalize("NFC");
}

/**
 * What is wrong with column names. They are named by position, since a file that lacks its header has a patient's
 * values there.
 */
export function headerProblem(
  columns: readonly string[],
  maxColumns: number,
): { readonly code: FailureCode; readonly message: string } | undefined {
  if (columns.length > maxColumns) {
    return {
      code: "CSV_HEADER_TOO_WIDE",
      message: `expected at most ${maxColumns} columns, found ${columns.length}`,
    };
  }
  const positionByName = new Map<string, number>();
  for (const [i, name] of columns.entries()) {
    if (name === "") {
      return { code: "CSV_HEADER_EMPTY", message: `column ${i + 1} of ${columns.length} has no name` };
    }
    const earlier = positionByName.get(name);
    if (earlier !== undefined) {
      return { code: "CSV_HEADER_DOUBLED", message: `columns ${earlier} and ${i + 1} have the same name` };
    }
    positionByName.set(name, i + 1);
  }
  return undefined;
}
