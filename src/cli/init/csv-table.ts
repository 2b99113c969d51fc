import { isAscii, isUtf8 } from "node:buffer";
import { findByteOrderMark } from "../../core/byte-order-mark.ts";
import { Failure } from "../../core/failures.ts";
import { isLineLike } from "../../formats/csv/dialect.ts";
import { type CsvFile, readCsv } from "../../formats/csv/read.ts";
import { isClosing, remarkPatterns, type SampleLine } from "./csv-lines.ts";
import { guessDateFormats } from "./date-formats.ts";
import { countMeanings, MEANINGS, type Meaning, operationOf, scoreOf } from "./headings.ts";

/** The table of a lab's sample. */
export interface CsvTable {
  readonly columns: readonly string[];
  /** Whether the file names its columns; they are `1`, `2`, … else. */
  readonly hasHeader: boolean;
  /** How many lines stand above the headings; blank ones right above them are not counted, since none is read. */
  readonly skipLines: number;
  /** The line of the headings in the file. */
  readonly headingLine: number;
  readonly delimiter: string;
  /** What `auto` finds in the sample; undefined where it has nothing but ASCII, and with an encoding that is given. */
  readonly characters: "utf-8" | "windows-1252" | undefined;
  /** Patterns for the lines that are remarks. */
  readonly remarks: readonly string[];
  /** What stands below the headings, without remarks and a last line that is none of the rows. */
  readonly rows: readonly ReadonlyMap<string, string>[];
  /** The last line, where it says itself that it is none of the rows, such as a total. */
  readonly closing: SampleLine | undefined;
  /** How many lines stand above it. */
  readonly linesAbove: number;
  /** The last line that is no remark, as it stands in the file; undefined where the sample was not read to its end. */
  readonly lastLine: SampleLine | undefined;
}

interface Reading {
  readonly encoding: string | undefined;
  readonly skipLines: number;
  readonly header: boolean;
  readonly remarks: readonly string[];
}

/** Enough to see what a column holds. */
const MOST_ROWS = 10_000;
/** A title, a date, a blank line. */
const MOST_LINES_ABOVE = 20;
/** So many headings that are known make a line one of headings. */
const ENOUGH_HEADINGS = 3;

/**
 * Reads a table without knowing how it is written. The headings are the first line that names enough of what an order has;
 * where there is none, the first line, unless that looks like values.
 *
 * @param encoding what somebody says it is, over what the bytes say
 * @throws Failure CSV_… when it can't be read
 */
export async function readTable(bytes: Buffer, encoding: string | undefined): Promise<CsvTable> {
  const found = { encoding, remarks: remarkPatterns(bytes) };
  for (let skipLines = 0; skipLines <= MOST_LINES_ABOVE; skipLines++) {
    const reading = { ...found, skipLines, header: true };
    const columns = await readColumns(bytes, reading);
    if (columns === undefined || countMeanings(columns) < ENOUGH_HEADINGS) continue;
    return readRows(bytes, reading);
  }
  // Without headings the first line says how many columns there are.
  const above = found.remarks.length === 0 ? 0 : await countAbove(bytes, found);
  const table = await readRows(bytes, { ...found, skipLines: above, header: false });
  return looksLikeHeadings(table.rows) ? readRows(bytes, { ...found, skipLines: 0, header: true }) : table;
}

/**
 * Whether the first line is none of the others' kind: no value itself, and without digits where others have some. In doubt it is
 * taken for values, since headings are shown and values may be a patient's.
 */
export function looksLikeHeadings([first, ...others]: CsvTable["rows"]): boolean {
  const cells = [...(first ?? [])];
  if (cells.some(([, text]) => isValue(text))) return false;
  const hasDigit = (text: string | undefined) => /\d/.test(text ?? "");
  return (
    others.length === 0 ||
    cells.some(([column, text]) => !hasDigit(text) && others.some((row) => hasDigit(row.get(column))))
  );
}

function charactersOf(bytes: Buffer, encoding: string | undefined): CsvTable["characters"] {
  if (encoding !== undefined || isAscii(bytes)) return undefined;
  return isUtf8(bytes) ? "utf-8" : "windows-1252";
}

async function readColumns(bytes: Buffer, reading: Reading): Promise<readonly string[] | undefined> {
  try {
    return (await openTable(bytes, reading)).columns;
  } catch (error) {
    // A title has cells without a name, and what stands below may be no table.
    if (!(error instanceof Failure)) throw error;
    return undefined;
  }
}

/** How many lines stand above the first that is no remark. */
async function countAbove(bytes: Buffer, found: Omit<Reading, "skipLines" | "header">): Promise<number> {
  const { line } = await openTable(bytes, { ...found, skipLines: 0, header: true });
  return line - 1;
}

async function readRows(bytes: Buffer, reading: Reading): Promise<CsvTable> {
  const { header: hasHeader, encoding, remarks, skipLines } = reading;
  const noRow = compiled(remarks);
  const { columns, delimiter, line: headingLine, rows: all } = await openTable(bytes, reading);
  const lines: SampleLine[] = [];
  for await (const { raw, values, problem } of all) {
    if (!isLineLike(noRow, raw)) lines.push({ raw, values: problem === undefined ? values : undefined });
    if (lines.length === MOST_ROWS) break;
  }
  const lastLine = lines.length < MOST_ROWS ? lines.at(-1) : undefined;
  const closing = lastLine !== undefined && isClosing(lastLine, delimiter) ? lastLine : undefined;
  if (closing !== undefined) lines.pop();
  const rows = lines.flatMap(({ values }) => values ?? []);
  const found = { columns, delimiter, headingLine, rows, closing, lastLine, linesAbove: lines.length };
  return { skipLines, characters: charactersOf(bytes, encoding), hasHeader, remarks, ...found };
}

function compiled(patterns: readonly string[]): RegExp[] {
  return patterns.map((pattern) => new RegExp(`^(?:${pattern})$`, "u"));
}

function openTable(bytes: Buffer, { encoding, skipLines, header, remarks }: Reading): Promise<CsvFile> {
  const isMarked = findByteOrderMark(bytes) !== undefined;
  const read = encoding ?? (isMarked || isUtf8(bytes) ? "auto" : "windows-1252");
  const dialect = {
    delimiter: "auto",
    quote: '"',
    header,
    skipLines,
    encoding: read,
    isEncodingForced: true,
    noRow: compiled(remarks),
  } as const;
  return readCsv(bytes, dialect);
}

/** What stands in rows and never in a line of headings: dates, numbers of several digits, operations in words. */
function isValue(cell: string): boolean {
  return /\d{3,}|\d[-./]\d/.test(cell) || operationOf(cell) !== undefined;
}

/** More different words than operations of a lab have. */
const MOST_OPERATIONS = 20;

/**
 * Which column holds what, by its heading and its values, whatever the order of the columns. A meaning that two columns have
 * as well, or a column that has two, is left out: a person says then. Without headings only operations and dates are known
 * by their values, since an order number, a subject code and a label may look alike.
 */
export function guessColumns(table: CsvTable): ReadonlyMap<Meaning, string> {
  const found = new Map<Meaning, string>();
  for (const meaning of MEANINGS) {
    const column = bestColumn(table, meaning);
    if (column !== undefined) found.set(meaning, column);
  }
  const operation = byValues(table, isOperations);
  if (operation !== undefined) found.set("operation", operation);
  if (!found.has("date_of_birth") && !table.hasHeader) {
    const dates = byValues(
      table,
      (values) => guessDateFormats(values).kind !== "none" && !/^\d{1,5}$/.test(values[0] ?? ""),
    );
    if (dates !== undefined) found.set("date_of_birth", dates);
  }
  dropShared(found, table);
  // `Name` beside a first name is the last name.
  const name = found.get("full_name");
  if (name !== undefined && found.has("first_name") && !found.has("last_name")) found.set("last_name", name);
  if (found.has("last_name")) found.delete("full_name");
  return found;
}

/** The values of a column that are filled. */
export function valuesOf({ rows }: CsvTable, column: string): string[] {
  return rows.map((row) => (row.get(column) ?? "").trim()).filter((value) => value !== "");
}

function bestColumn({ columns, hasHeader }: CsvTable, meaning: Meaning): string | undefined {
  if (!hasHeader) return undefined;
  const scored = columns.map((column) => ({ column, score: scoreOf(column, meaning) }));
  const most = Math.max(0, ...scored.map(({ score }) => score));
  const best = scored.filter(({ score }) => score === most && most > 0);
  return best.length === 1 ? best[0]?.column : undefined;
}

/** The only column with such values; undefined where there are several. */
function byValues(table: CsvTable, test: (values: readonly string[]) => boolean): string | undefined {
  const found = table.columns.filter((column) => {
    const values = valuesOf(table, column);
    return values.length > 0 && test(values);
  });
  return found.length === 1 ? found[0] : undefined;
}

function isOperations(values: readonly string[]): boolean {
  const distinct = new Set(values);
  return distinct.size <= MOST_OPERATIONS && [...distinct].every((value) => operationOf(value) !== undefined);
}

/** A column has one meaning: the one that its heading says best. Its values say what an operation is. */
function dropShared(found: Map<Meaning, string>, { hasHeader }: CsvTable): void {
  for (const [meaning, column] of [...found]) {
    const rivals = [...found].filter(([other, its]) => other !== meaning && its === column);
    if (rivals.length === 0 || (meaning === "operation" && !hasHeader)) continue;
    const own = scoreOf(column, meaning);
    if (rivals.some(([other]) => scoreOf(column, other) >= own)) found.delete(meaning);
  }
}
