import { Failure } from "../../core/failures.ts";
import { type Encoding, findEncoding } from "../encoding.ts";
import { RecordSplitter } from "./records.ts";

/** How a CSV file is written. */
export interface CsvDialect {
  /** `auto` finds it in the header line, see {@link detectDelimiter}; a first line `sep=;` as Excel writes it decides before that. */
  readonly delimiter: "," | ";" | "\t" | "|" | "auto";
  /** The quoting character, doubled inside a quoted value; empty when nothing is quoted. */
  readonly quote: string;
  /** Whether the first record names the columns. */
  readonly header: boolean;
  /**
   * A name that {@link findEncoding} knows, or `auto`. A byte order mark always decides. Any other encoding is strict:
   * a byte that it does not have ends the file with its offset.
   */
  readonly encoding: string;
}

/** RFC 4180 with everything found out that can be. */
export const DEFAULT_DIALECT: CsvDialect = { delimiter: "auto", quote: '"', header: true, encoding: "auto" };

/** Throws CSV_DIALECT_INVALID unless the quote is one ASCII punctuation mark that is no delimiter, or empty, and the encoding is known. */
export function requireDialect(dialect: CsvDialect): { readonly encoding: Encoding | undefined } {
  const { quote, delimiter } = dialect;
  if (quote !== "" && (!/^[!-/:-@[-`{-~]$/.test(quote) || DELIMITERS.includes(quote))) {
    throw new Failure("CSV_DIALECT_INVALID", "quote: expected one punctuation mark, such as a double quote");
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

/** In the order in which a tie is decided: a comma also stands in texts and numbers, a tab hardly. */
const DELIMITERS = "\t;|,";

/**
 * The delimiter of a first record. In a header the one that stands most often outside quotes; without a header, where
 * values may hold decimal commas, the first of tab, semicolon, |, comma that stands there at all. Comma when none does.
 */
export function detectDelimiter(record: string, dialect: CsvDialect): string {
  const counts = new Map([...DELIMITERS].map((delimiter) => [delimiter, 0]));
  let isQuoted = false;
  for (const character of record) {
    if (character === dialect.quote) isQuoted = !isQuoted;
    else if (!isQuoted && counts.has(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const present = [...counts].filter(([, count]) => count > 0);
  if (!dialect.header) return present[0]?.[0] ?? ",";
  const most = Math.max(0, ...present.map(([, count]) => count));
  return present.find(([, count]) => count === most)?.[0] ?? ",";
}

/** The delimiter that a record `sep=;` announces, as Excel writes and reads it; undefined for any other record. */
export function announcedDelimiter(record: string): string | undefined {
  const match = /^"?sep=([\t;|,])"?\r?\n?$/i.exec(record);
  return match?.[1];
}

/** A splitter that ends records where any delimiter would: for reading the first record before the delimiter is known. */
export function scoutSplitter(
  dialect: CsvDialect,
  limits: { readonly maxRowBytes: number; readonly isByteText?: boolean | undefined },
): RecordSplitter {
  const delimiters = dialect.delimiter === "auto" ? DELIMITERS : dialect.delimiter;
  return new RecordSplitter({ delimiters, quote: dialect.quote, ...limits });
}
