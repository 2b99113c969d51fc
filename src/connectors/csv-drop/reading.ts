import type { Problem } from "../../core/failures.ts";
import type { RowIdentity } from "../../core/intake.ts";
import { type CsvDialect, DEFAULT_DIALECT } from "../../formats/csv/dialect.ts";
import type { CsvItem } from "../../formats/csv/read.ts";

export type CsvHeader = Extract<CsvItem, { kind: "header" }>;

/** Whether a row has no number and should have one. */
export function lacksNumber({ orderNumber, needsNumber, isWish }: RowIdentity): boolean {
  return orderNumber === "" && needsNumber && !isWish;
}

/** How a profile wants CSV files to be taken apart; what is absent is found out, or is not asked for. */
export interface CsvReading {
  readonly delimiter?: string | undefined;
  /** Empty for none. */
  readonly quote?: string | undefined;
  /** `true`: the first line names the columns. `false`: they are called `1`, `2`, …. A list names them instead. */
  readonly header?: boolean | readonly string[] | undefined;
  /** `auto` or an encoding's name. */
  readonly encoding?: string | undefined;
  /** The sender does use `encoding`, also where bytes look like UTF-8. */
  readonly isEncodingForced?: boolean | undefined;
  /** Says which order the row with these values belongs to. Without it each row is an order. */
  readonly identify?: ((values: ReadonlyMap<string, string>) => RowIdentity) | undefined;
  /** The columns that order numbers are read from. */
  readonly numberColumns?: readonly string[] | undefined;
  /** The columns that operations are read from; none where all rows have the same. */
  readonly operationColumns?: readonly string[] | undefined;
  /** One bad row refuses the whole file. */
  readonly wholeFile?: boolean | undefined;
  /** Columns that every file must have; each entry lists the alternatives. */
  readonly requiredColumns?: readonly (readonly string[])[] | undefined;
  /** Columns that a file may lack, but not under nearly the same name; each entry lists the alternatives. */
  readonly optionalColumns?: readonly (readonly string[])[] | undefined;
  /** Columns of which no value may be taken that may have been cut short. */
  readonly wholeColumns?: readonly string[] | undefined;
  /** Match lines that are no rows, such as a trailer; cost little on lines of at most 100 characters. */
  readonly noRow?: readonly RegExp[] | undefined;
  /** Whether the sender never ends the last line. */
  readonly lastLineEnd?: "required" | "optional" | undefined;
  /** What a file that only wants something of earlier orders may lack of them: `all` are missing then, and `any` may be. */
  readonly wishListLacks?:
    | { readonly all: readonly (readonly string[])[]; readonly any: readonly (readonly string[])[] }
    | undefined;
}

/** The dialect that files are read in. Whether it can be used is found when it is. */
export function dialectOf(reading: CsvReading): CsvDialect {
  return {
    delimiter: (reading.delimiter as CsvDialect["delimiter"] | undefined) ?? DEFAULT_DIALECT.delimiter,
    quote: reading.quote ?? DEFAULT_DIALECT.quote,
    header: reading.header === undefined || reading.header === true,
    encoding: reading.encoding ?? DEFAULT_DIALECT.encoding,
  };
}

/** The file's columns by the names that the profile uses. */
export function columnsOf(header: CsvHeader, reading: CsvReading): readonly string[] {
  return typeof reading.header === "object" ? reading.header : header.columns;
}

/** A row's values by the names that the profile uses. */
export function withColumnNames(item: CsvItem, reading: CsvReading): CsvItem {
  if (item.kind !== "row" || typeof reading.header !== "object") return item;
  const values = new Map(reading.header.map((name, i) => [name, item.row.values.get(String(i + 1)) ?? ""]));
  return { kind: "row", row: { ...item.row, values } };
}

/**
 * What the file's columns lack. Those that are there are not listed: a file that lacks its header has a patient's
 * values in their place.
 */
export function columnProblems(header: CsvHeader, reading: CsvReading): Problem[] {
  const columns = columnsOf(header, reading);
  if (columns.length !== header.columns.length) {
    const message = `the profile names ${columns.length} columns, the file has ${header.columns.length}`;
    return [{ code: "CSV_COLUMN_MISSING", place: "header", message }];
  }
  const isMissing = (names: readonly string[]) => !names.some((name) => columns.includes(name));
  const { all = [], any = [] } = reading.wishListLacks ?? {};
  const isWishList = all.length > 0 && all.every(isMissing);
  const forgiven = new Set((isWishList ? [...all, ...any] : []).map(String));
  const required = (reading.requiredColumns ?? []).filter((names) => !forgiven.has(String(names)));
  const optional = [
    ...(reading.requiredColumns ?? []).filter((names) => forgiven.has(String(names))),
    ...(reading.optionalColumns ?? []),
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
  return missing.map((names) => {
    const near = findNear(names);
    const hint =
      near === undefined ? delimiterHint(header) : `; "${near}" is nearly the same, but not the same`;
    const wanted = names.map((name) => `"${name}"`).join(" or ");
    const message = `expected a column named ${wanted}; none of the file's ${columns.length} columns is${hint}`;
    return { code: "CSV_COLUMN_MISSING", place: "header", message };
  });
}

/** A header that is one column with other delimiters in it was written with one of those. */
function delimiterHint({ columns, delimiter }: CsvHeader): string {
  const [only = ""] = columns;
  const other = [";", "\t", "|", ","].find((each) => each !== delimiter && only.includes(each));
  if (columns.length > 1 || other === undefined) return "";
  const named = (each: string) => (each === "\t" ? "tab" : each);
  return `; the line is parted by ${named(other)}, and the profile's delimiter is ${named(delimiter)}`;
}

function simplified(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}
