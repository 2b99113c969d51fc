import type { FileDialect } from "../../core/intake.ts";
import { type Encoding, findEncoding, isWide } from "../../formats/encoding.ts";
import type { CsvColumn, CsvResults, CsvSource } from "../profile/results.ts";
import type { ResultColumn } from "../profile/results-schema.ts";
import { joinParts } from "../profile/transform-schema.ts";
import type { Transform } from "../profile/transforms.ts";
import { statusWord } from "./codes.ts";
import { formatDate } from "./timestamp.ts";

/** Whether a column may hold the value of one of these. */
export function mayHold({ from }: CsvColumn, columns: ReadonlySet<ResultColumn>): boolean {
  return from.some((source) => source.columns.some((column) => columns.has(column)));
}

const PLACES: ReadonlySet<ResultColumn> = new Set<ResultColumn>(["canister", "cane", "position"]);
const TIMES: ReadonlySet<ResultColumn> = new Set<ResultColumn>(["stored_at", "updated_at"]);

const ISO_WITH_OFFSET = "yyyy-MM-ddTHH:mm:ssXXX";

/** A value as the lab writes it: its word for a status, operation or facility, its date and its decimal mark. */
function labCell(
  column: ResultColumn,
  row: Readonly<Record<ResultColumn, string>>,
  { dateFormat, decimal, words, timeZone }: CsvResults,
): string {
  const value = row[column];
  if (column === "status") return statusWord(words, value, row.operation) ?? value;
  if (column === "operation" || column === "facility") {
    const table: Readonly<Partial<Record<string, string>>> = words[column] ?? {};
    return (Object.hasOwn(table, value) ? table[value] : undefined) ?? value;
  }
  if (TIMES.has(column)) {
    if (dateFormat !== undefined) return formatDate(value, dateFormat, timeZone);
    // In UTC a time stays as it was given, with its fractions.
    return timeZone === "UTC" ? value : formatDate(value, ISO_WITH_OFFSET, timeZone);
  }
  return decimal === "," && PLACES.has(column) && /^-?\d+\.\d+$/.test(value)
    ? value.replace(".", ",")
    : value;
}

/** A cell as it is written, and what it was made of; undefined for the column's constant. */
interface CsvCell {
  readonly value: string;
  readonly source: CsvSource | undefined;
  /** Whether a transform did not take it, so that it stands as it came. */
  readonly isUntaken?: boolean;
}

/**
 * The cell of a column. A source whose value a transform doesn't take, such as a place that is written otherwise than the
 * profile's pattern, counts as empty: a result is not kept back for a part of it that could not be formed. Where that leaves
 * nothing at all, the value stands as it came: the lab had better read a place in other words than none.
 */
export function cellOf(
  { from, transforms, fallback }: CsvColumn,
  row: Readonly<Record<ResultColumn, string>>,
  results: CsvResults,
): CsvCell {
  let asItCame: CsvCell | undefined;
  for (const source of from) {
    const parts = source.columns.map((column) => labCell(column, row, results));
    const joined = joinParts(parts, source);
    if (joined === "") continue;
    const value = transformed(joined, transforms);
    if (value === undefined) asItCame ??= { value: joined, source, isUntaken: true };
    else if (value !== "") return { value, source };
  }
  const constant = { value: fallback, source: undefined };
  return fallback === "" ? (asItCame ?? constant) : constant;
}

/** Undefined where a transform does not take the value. */
function transformed(value: string, transforms: readonly Transform[]): string | undefined {
  let result = value;
  for (const transform of transforms) {
    const next = transform(result);
    if (typeof next !== "string") return undefined;
    result = next;
  }
  return result;
}

/** What of a file's form the profile and the input file decide together. */
interface CsvForm {
  readonly delimiter: string;
  readonly encoding: Encoding;
  readonly hasByteOrderMark: boolean;
}

/** The form of a file of results about an input file; about no file it is UTF-8 with commas. */
export function csvFormOf(
  { encoding: wanted, delimiter, byteOrderMark }: CsvResults,
  input: FileDialect | undefined,
): CsvForm {
  const isReceived = wanted === "as-received";
  const encoding = (isReceived ? findEncoding(input?.encoding ?? "utf-8") : wanted) ?? "utf-8";
  return {
    delimiter: delimiter ?? input?.delimiter ?? ",",
    encoding,
    // In UTF-16 nothing else says what it is.
    hasByteOrderMark:
      isWide(encoding) ||
      (encoding === "utf-8" && (byteOrderMark ?? (isReceived && input?.hasByteOrderMark === true))),
  };
}
