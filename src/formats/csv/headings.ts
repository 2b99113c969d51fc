import type { Problem } from "../../core/failures.ts";

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
): Pick<Problem, "code" | "message" | "expected"> | undefined {
  if (columns.length > maxColumns) {
    return {
      code: "CSV_HEADER_TOO_WIDE",
      message: `expected at most ${maxColumns} columns, found ${columns.length}`,
      expected: [String(maxColumns)],
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

/**
 * Whether a text is empty but for spaces, tabs, line ends and the DOS end-of-file mark. Only ASCII counts, so that the
 * answer is the same before and after the bytes are decoded.
 */
export function isBlank(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (!isBlankCode(text.charCodeAt(i))) return false;
  }
  return true;
}

/** A text without what {@link isBlank} passes over at its ends. */
export function trimBlanks(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlankCode(text.charCodeAt(from))) from++;
  while (to > from && isBlankCode(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlankCode(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0x1a;
}
