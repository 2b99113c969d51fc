import type { FailureCode } from "../../core/failures.ts";
import { trimBlanks } from "./blank.ts";

/** The column names of a first record, spaces around them left out; `1`, `2`, … when it is no header. */
export function readHeader(cells: readonly string[], isHeader: boolean): readonly string[] {
  return cells.map((cell, i) => (isHeader ? trimBlanks(cell) : String(i + 1)));
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
