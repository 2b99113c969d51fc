import { CsvError, parse } from "csv-parse/sync";

export interface CellSettings {
  readonly delimiter: string;
  readonly quote: string;
}

/**
 * The values of records, in order; undefined for a record whose quotes are wrong. Records are given to the parser
 * together, since that is many times faster, and one by one only when one of them is refused.
 */
export function parseCells(
  records: readonly string[],
  settings: CellSettings,
): (readonly string[] | undefined)[] {
  if (records.length === 0) return [];
  const together = parseStrictly(records.join(""), settings);
  if (together?.length === records.length) return together;
  return records.map((record) => {
    const rows = parseStrictly(record, settings);
    // One record that reads as several would mean that two readings of one text are possible.
    return rows?.length === 1 ? rows[0] : undefined;
  });
}

function parseStrictly(text: string, { delimiter, quote }: CellSettings): string[][] | undefined {
  try {
    return parse(text, {
      delimiter,
      quote: quote === "" ? null : quote,
      escape: quote === "" ? null : quote,
      record_delimiter: ["\r\n", "\n", "\r"],
      // Counted by the caller, who can say what was expected.
      relax_column_count: true,
    });
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
}
