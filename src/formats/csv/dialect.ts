import { Failure } from "../../core/failures.ts";
import type { RowIdentity } from "../../core/intake.ts";
import { type Encoding, findEncoding } from "../encoding.ts";
import { trimBlanks } from "./headings.ts";

/** How a CSV file is written. */
export interface CsvDialect {
  /** `auto` finds it in the header line, see {@link detectDelimiter}; a first line `sep=;` as Excel writes it decides before that. */
  readonly delimiter: "," | ";" | "\t" | "|" | "auto";
  /** The quoting character, written twice inside a quoted value; empty when nothing is quoted. */
  readonly quote: string;
  /** `true`: the first record names the columns. `false`: they are called `1`, `2`, …. A list names them instead. */
  readonly header: boolean | readonly string[];
  /** How many lines at the top are neither header nor rows; none unless given. */
  readonly skipLines?: number | undefined;
  /**
   * The columns that a row may not end before: one that has them and ends early is filled with empty values, as a spreadsheet
   * leaves out empty cells at a row's end (`shortRows: fill` of the profile). Undefined where each row has to have all columns.
   */
  readonly neverShort?: readonly string[] | undefined;
  /** Lines that are no rows, such as a remark, and may stand above the header; see {@link isLineLike}. */
  readonly noRow?: readonly RegExp[] | undefined;
  /**
   * A name that {@link findEncoding} knows, or `auto`. A byte order mark always decides. Any other encoding is strict:
   * a byte that it does not have ends the file with its offset.
   */
  readonly encoding: string;
  /** The sender does use `encoding`, also where bytes look like UTF-8. */
  readonly isEncodingForced?: boolean | undefined;
}

/** How a profile has CSV files taken apart before their rows are mapped. */
export interface CsvReading extends CsvDialect {
  /** Says which order the row with these values belongs to: rows of one number make up one order. */
  readonly identify: (values: ReadonlyMap<string, string>) => RowIdentity;
  /** The columns that order numbers are read from. */
  readonly numberColumns: readonly string[];
  /** The columns that operations are read from; none where all rows have the same, or may have it from elsewhere. */
  readonly operationColumns: readonly string[];
  /** One bad row refuses the whole file. */
  readonly wholeFile: boolean;
  /** Columns without which no row can be mapped; each entry lists the alternatives. */
  readonly requiredColumns: readonly (readonly string[])[];
  /** Columns that a file may lack, but not under nearly the same name; each entry lists the alternatives. */
  readonly optionalColumns: readonly (readonly string[])[];
  /** Columns whose values may not be cut short: all that are read but operations and descriptions. */
  readonly wholeColumns: readonly string[];
  /** The last line, where it is no row. */
  readonly trailer?: CsvTrailer | undefined;
  /** `optional` where the sender never ends the last line, which is no sign of a cut then. */
  readonly lastLineEnd: "required" | "optional";
  /**
   * Those of `requiredColumns` that a file may lack which only asks to cancel, hold, release or report earlier orders: `all`
   * of them are missing then, and `any` may be. Undefined where the profile's rows can't ask for that.
   */
  readonly controlListLacks?:
    | { readonly all: readonly (readonly string[])[]; readonly any: readonly (readonly string[])[] }
    | undefined;
  /**
   * What to write into the profile where this column has another heading, such as `subject: { code: "Patient" }`; undefined
   * where not one value alone is read from it.
   */
  readonly settingFor?: ((column: string, heading: string) => string | undefined) | undefined;
}

/** A line that ends a file. */
export interface CsvTrailer {
  /** Matches the whole line, without blanks around it; tested on lines of bounded length. */
  readonly line: RegExp;
  /** The group of `line` that says how many rows stand above; undefined where none does. */
  readonly countGroup: number | undefined;
  /** The column whose values it adds up; undefined where it adds up none. */
  readonly sum: CsvTotal | undefined;
  /** Whether a file without it is refused. */
  readonly isRequired: boolean;
}

/** A column whose total the last line says. */
export interface CsvTotal {
  readonly column: string;
  /** The group of the line that is the total; undefined where it stands in the column itself, as in a row. */
  readonly group: number | undefined;
  /** The cell of a row by the profile's transforms: empty for none, undefined where one of them does not take it. */
  readonly textOf: (values: ReadonlyMap<string, string>) => string | undefined;
}

/** Throws CSV_DIALECT_INVALID unless the quote is one ASCII punctuation mark that is no delimiter, or empty, and the encoding is known. */
export function requireDialect(dialect: Pick<CsvDialect, "delimiter" | "quote" | "encoding">): {
  readonly encoding: Encoding | undefined;
} {
  const { quote, delimiter } = dialect;
  if (quote !== "" && (!/^[!-/:-@[-`{-~]$/.test(quote) || DELIMITERS.includes(quote))) {
    throw new Failure(
      "CSV_DIALECT_INVALID",
      "quote: expected one punctuation mark that separates no columns, such as a double quote",
    );
  }
  if (delimiter !== "auto" && !DELIMITERS.includes(delimiter)) {
    throw new Failure("CSV_DIALECT_INVALID", "delimiter: expected comma, semicolon, tab, | or auto");
  }
  if (dialect.encoding === "auto") return { encoding: undefined };
  const encoding = findEncoding(dialect.encoding);
  if (encoding === undefined) {
    throw new Failure("CSV_DIALECT_INVALID", `encoding: ${JSON.stringify(dialect.encoding)} is not known`);
  }
  return { encoding };
}

/** A delimiter for people, who see no tab. */
export function delimiterName(delimiter: string): string {
  return delimiter === "\t" ? "tab" : delimiter;
}

/** A pattern of the site costs little on that many characters. */
const LONGEST_LINE = 100;

/** Whether a line, without blanks around it, is like one of these patterns; a long one never is. */
export function isLineLike(patterns: readonly RegExp[], raw: string): boolean {
  if (patterns.length === 0) return false;
  const text = trimBlanks(raw);
  return text.length <= LONGEST_LINE && patterns.some((pattern) => pattern.test(text));
}

/** In the order in which a tie is decided: a comma also stands in texts and numbers, a tab hardly. */
const DELIMITERS = "\t;|,";

/**
 * The delimiter of the first record of a text. In a header the one that stands most often outside quotes; without a header, where
 * values may hold decimal commas, the first of tab, semicolon, |, comma that stands there at all. Comma when none does.
 */
export function detectDelimiter(text: string, dialect: Pick<CsvDialect, "header" | "quote">): string {
  const counts = new Map([...DELIMITERS].map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  for (const character of text) {
    if (character === dialect.quote) isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === "\n" || character === "\r") break;
    else if (counts.has(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const present = [...counts].filter(([, count]) => count > 0);
  if (dialect.header !== true) return present[0]?.[0] ?? ",";
  const most = Math.max(0, ...present.map(([, count]) => count));
  return present.find(([, count]) => count === most)?.[0] ?? ",";
}

/** The delimiter that a record `sep=;` announces, as Excel writes and reads it; undefined for any other record. */
export function announcedDelimiter(record: string): string | undefined {
  const match = /^"?sep=([\t;|,])"?\r?\n?$/i.exec(record);
  return match?.[1];
}
