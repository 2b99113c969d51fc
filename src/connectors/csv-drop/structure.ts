import type { Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import { atLine, FILE, HEADER, type Place } from "../../core/place.ts";
import { type CsvReading, delimiterName, isLineLike } from "../../formats/csv/dialect.ts";
import { headingOf } from "../../formats/csv/headings.ts";
import { type CsvFile, strayQuoteHint } from "../../formats/csv/read.ts";
import type { CsvRecord } from "../../formats/csv/row.ts";

/** What its header says of a file. */
type FileShape = Pick<CsvFile, "columns" | "width" | "delimiter">;

/**
 * What the file's columns lack. Those that are there are not listed: a file that lacks its header has a patient's
 * values in their place.
 */
export function columnProblems(header: FileShape, reading: CsvReading): Problem[] {
  const { columns, width } = header;
  if (typeof reading.header === "object" && columns.length !== width) {
    const message = `expected ${columns.length} columns, found ${width}`;
    const hint = byReload(
      "The file has to have the columns that the profile names under `header`: correct the file, or the list.",
    );
    return [{ code: "CSV_ROW_RAGGED", place: FILE, message, hint, expected: [String(columns.length)] }];
  }
  const isMissing = (names: readonly string[]) => !names.some((name) => columns.includes(name));
  const { all = [], any = [] } = reading.controlListLacks ?? {};
  const isControlList = all.length > 0 && all.every(isMissing);
  const forgiven = new Set((isControlList ? [...all, ...any] : []).map(String));
  const required = reading.requiredColumns.filter((names) => !forgiven.has(String(names)));
  const optional = [
    ...reading.requiredColumns.filter((names) => forgiven.has(String(names))),
    ...reading.optionalColumns,
  ];
  const used = new Set([...required, ...optional].flat());
  const findNear = (names: readonly string[]) =>
    columns.find(
      (column) => !used.has(column) && names.some((name) => simplified(name) === simplified(column)),
    );
  // What is missing under its own name and there under nearly that one would be left out without a word.
  const missing = [...required, ...optional.filter((names) => findNear(names) !== undefined)].filter(
    isMissing,
  );
  const free = columns.filter((column) => !used.has(column));
  return missing.map((names) => {
    const joined = delimiterHint(header);
    const near = findNear(names) ?? (joined === "" ? nearest(names, free) : undefined);
    const why = near === undefined ? joined : `; "${near}" is nearly the same, but not the same`;
    const wanted = names.map((name) => `"${name}"`).join(" or ");
    const message = `expected a column named ${wanted}; none of the file's ${columns.length} columns is${why}`;
    const hint = joined === "" ? columnHint(names, near, reading) : undefined;
    return { code: "CSV_COLUMN_MISSING", place: HEADER, message, columns: names, ...(hint && { hint }) };
  });
}

/** What to write where the column has another heading: it can be pasted into a profile that says nothing of the value yet. */
function columnHint(
  names: readonly string[],
  near: string | undefined,
  { settingFor }: CsvReading,
): string | undefined {
  const [name = ""] = names;
  const setting = names.length === 1 ? settingFor?.(name, near ?? "HEADING") : undefined;
  const written = setting && `set \`${setting}\``;
  if (near !== undefined) {
    const then = written ?? `write "${near}" in place of "${name}"`;
    return byReload(
      `If the lab has renamed the heading, ${then} in the profile; else have the lab correct it.`,
    );
  }
  return (
    written &&
    byReload(`Have the lab add the column. If it has another heading, ${written} with that in the profile.`)
  );
}

/** A header that is one column with other delimiters in it was written with one of those. */
function delimiterHint({ columns, delimiter }: FileShape): string {
  const [only = ""] = columns;
  const other = [";", "\t", "|", ","].find((each) => each !== delimiter && only.includes(each));
  if (columns.length > 1 || other === undefined) return "";
  return `; its values are separated by ${delimiterName(other)}, and ${delimiterName(delimiter)} is expected`;
}

/**
 * The heading that is most like one of these names; undefined where none is, so that no value is shown of a file without
 * headings.
 */
function nearest(names: readonly string[], headings: readonly string[]): string | undefined {
  const scored = names.flatMap((name) =>
    headings.map((heading) => ({ heading, score: likeness(simplified(name), simplified(heading)) })),
  );
  const best = scored.reduce((one, other) => (other.score > one.score ? other : one), {
    heading: "",
    score: 0,
  });
  return best.score >= ENOUGH_LIKENESS ? best.heading : undefined;
}

const ENOUGH_LIKENESS = 0.6;

/** From 0 to 1: how many pairs of letters two words share; 1 where one is the beginning of the other. */
function likeness(one: string, other: string): number {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  if (short.length < 4) return 0;
  if (long.startsWith(short)) return 1;
  const pairs = (text: string) =>
    new Set(Array.from({ length: text.length - 1 }, (_, i) => text.slice(i, i + 2)));
  const [a, b] = [pairs(one), pairs(other)];
  return (2 * [...a].filter((pair) => b.has(pair)).length) / (a.size + b.size);
}

function simplified(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** A narrower file has rows that any text could look like. */
const FEWEST_COLUMNS = 4;

/** Whether a line is no row: one that the profile says is none, or the header once more, as where files were joined. */
export function noRowTest(columns: readonly string[], reading: CsvReading): (row: CsvRecord) => boolean {
  const isNamed = isLineOf(reading.noRow ?? [], reading);
  const isHeader = ({ cells }: CsvRecord) =>
    columns.every((name, i) => headingOf((cells[i] ?? "").trim()) === name);
  return (row) => (row.problem === undefined && reading.header !== false && isHeader(row)) || isNamed(row);
}

/** The line that a row begins on; of a damaged one all of its lines. */
export function beginningOf({ problem, line }: CsvRecord): Place {
  return problem?.place ?? atLine(line);
}

/**
 * Whether a line is one that a pattern of the profile describes. A row with an order number and an operation never is, as far as its
 * values belong to the columns: where only its encoding is doubtful they do.
 */
export function isLineOf(
  patterns: readonly RegExp[],
  { identify }: Pick<CsvReading, "identify">,
): (row: CsvRecord) => boolean {
  if (patterns.length === 0) return () => false;
  const isTorn = ({ problem }: CsvRecord) =>
    problem !== undefined && problem.code !== "CSV_ENCODING_DOUBTFUL";
  return (row) => isLineLike(patterns, row.raw) && (isTorn(row) || !identify(row.values).isOrder);
}

/**
 * Looks for damage of a file's structure that the number of columns does not show. What a damaged file says can't be
 * trusted in any of its rows, so it is refused as a whole; a person looks at the line and drops the file again.
 */
export class StructureCheck {
  readonly #reading: CsvReading;
  readonly #header: FileShape;
  readonly #columns: readonly string[];
  readonly #names: ReadonlySet<string>;

  constructor(header: FileShape, reading: CsvReading) {
    this.#reading = reading;
    this.#header = header;
    this.#columns = header.columns;
    this.#names = new Set(this.#columns);
  }

  /** What shows that the file is damaged at this row; undefined when nothing does. */
  problemOf(row: CsvRecord): Problem | undefined {
    if (row.problem !== undefined) return row.problem;
    const { place } = row;
    if (this.#isHeaderInOtherOrder(row)) {
      const message =
        "the column names stand here once more, in another order; what is below would be misread";
      return { code: "CSV_HEADER_SECOND", place, message, ...this.#secondHeaderHint() };
    }
    if (this.#isShifted(row)) {
      const message =
        "the operation stands beside its column, so values were shifted into columns that are not theirs";
      return { code: "CSV_ROW_RAGGED", place, message };
    }
    if (this.#holdsRow(row)) {
      const message =
        "a quoted value holds what looks like a row of the file; is a quote missing, or one too many?";
      const hint = strayQuoteHint(row.raw, { ...this.#header, quote: this.#reading.quote });
      return { code: "CSV_ROW_QUOTES", place, message, ...hint };
    }
    return undefined;
  }

  /**
   * Whether the file may have been cut short in its last row: `V-12` may be the beginning of `V-123`. It ends without a line
   * end, in a value that counts, which no quote closes; behind a delimiter that value may be lacking as a whole.
   */
  lastLineProblem(last: CsvRecord | undefined): Problem | undefined {
    const { lastLineEnd, wholeColumns, quote } = this.#reading;
    if (last === undefined || lastLineEnd === "optional") return undefined;
    const { raw } = last;
    if (/[\r\n]$/.test(raw)) return undefined;
    const place = beginningOf(last);
    if (last.problem !== undefined) {
      const message = "the file ends within this row, without a line end: it may have been cut short";
      return { code: "CSV_ROW_UNFINISHED", place, message };
    }
    const column = this.#lastColumnOf(last);
    const isClosed =
      this.#header.width > this.#header.columns.length || (quote !== "" && raw.endsWith(quote));
    if (isClosed || !wholeColumns.includes(column)) return undefined;
    const message = `the last line has no line end, so its last value, in column "${column}", may be cut short`;
    return { code: "CSV_ROW_UNFINISHED", place, message };
  }

  /** Where the profile itself names the columns, the file's own line with them is no second one. */
  #secondHeaderHint(): Pick<Problem, "hint"> {
    if (this.#reading.header === true) return {};
    return {
      hint: byReload(
        "The profile's `header` lists the columns, and the file has a line with their names in another sequence: set `header: true`, or correct the list.",
      ),
    };
  }

  /** The column in which a row ends: a short one ends before the last, and behind a delimiter the next value may be lacking. */
  #lastColumnOf({ raw, values }: CsvRecord): string {
    const { delimiter } = this.#header;
    let at = Math.max(
      0,
      this.#columns.findLastIndex((each) => (values.get(each) ?? "") !== ""),
    );
    for (let end = raw; end.endsWith(delimiter); end = end.slice(0, -delimiter.length)) at += 1;
    return this.#columns[at] ?? "";
  }

  #isHeaderInOtherOrder({ values }: CsvRecord): boolean {
    if (this.#reading.header === false) return false;
    let named = 0;
    for (const value of values.values()) if (this.#names.has(headingOf(value.trim()))) named += 1;
    return named >= Math.max(2, this.#names.size / 2);
  }

  /** An unknown code alone proves nothing: it may only be missing in the profile's table. */
  #isShifted({ values }: CsvRecord): boolean {
    const { identify, operationColumns } = this.#reading;
    if (operationColumns.length === 0 || identify(values).hasOperation) return false;
    return operationColumns.some((column) => {
      const at = this.#columns.indexOf(column);
      const beside = at === -1 ? [] : [this.#columns[at - 1], this.#columns[at + 1]];
      return beside.some((name) => identify(new Map([[column, values.get(name ?? "") ?? ""]])).hasOperation);
    });
  }

  /** Whether a line within a quoted value has an order number and an operation where rows have theirs. */
  #holdsRow(row: CsvRecord): boolean {
    if (row.endLine === row.line) return false;
    const { quote, numberColumns, identify } = this.#reading;
    const columns = this.#columns;
    if (columns.length < FEWEST_COLUMNS) return false;
    return [...row.values.values()].some((value, i) => {
      if (i + 1 < FEWEST_COLUMNS || !/[\r\n]/.test(value)) return false;
      const [, ...lines] = value.split(/[\r\n]+/);
      return lines.some((line) => {
        const cells = line.replaceAll(quote, "").split(this.#header.delimiter);
        if (cells.length <= i) return false;
        const values = new Map(columns.map((name, at) => [name, cells[at]?.trim() ?? ""]));
        const hasNumber = numberColumns.some((name) => /^\S*\d\S*$/.test(values.get(name) ?? ""));
        return hasNumber && identify(values).hasOperation;
      });
    });
  }
}
