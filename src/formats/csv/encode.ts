import { stringify } from "csv-stringify/sync";

type CsvValue = string | number | undefined;

/** What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection), full-width forms included. */
const FORMULA_STARTS = "=+-@\t\r\n＝＋－＠";

/**
 * A CSV text as RFC 4180 writes it: comma unless named otherwise, CRLF after every record, quotes only where needed. A text
 * that a spreadsheet would run as a formula gets a leading apostrophe; numbers are written as they are.
 *
 * @param columns the headings; undefined for a text without that record
 */
export function encodeCsv(
  columns: readonly string[] | undefined,
  rows: readonly (readonly CsvValue[])[],
  { delimiter = ",", quote = '"' }: { readonly delimiter?: string; readonly quote?: string } = {},
): string {
  const records = (columns === undefined ? rows : [columns, ...rows]).map((row) => row.map(harmless));
  return stringify(records, {
    delimiter,
    quote,
    escape: quote,
    record_delimiter: "\r\n",
    // Otherwise a lone CR or LF in a value would stand unquoted, and read as the end of its row.
    quote_record_delimiter: true,
  });
}

/** A value as it was before {@link encodeCsv} put an apostrophe before it; any other stays as it is. */
export function withoutGuard(text: string): string {
  return text.length > 1 && text.startsWith("'") && FORMULA_STARTS.includes(text.charAt(1))
    ? text.slice(1)
    : text;
}

function harmless(value: CsvValue): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  return value !== "" && FORMULA_STARTS.includes(value.charAt(0)) ? `'${value}` : value;
}
