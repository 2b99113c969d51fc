import type { Problem } from "../../core/failures.ts";
import type { CsvDialect, CsvReading } from "../../formats/csv/dialect.ts";
import type { CsvItem } from "../../formats/csv/read.ts";

export type CsvHeader = Extract<CsvItem, { kind: "header" }>;

/** The dialect that files are read in. Whether it can be used is found when it is. */
export function dialectOf({ delimiter, quote, header, encoding }: CsvReading): CsvDialect {
  return { delimiter, quote, header: header === true, encoding };
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
