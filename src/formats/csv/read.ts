import type { Encoding } from "../encoding.ts";
import { StreamDecoder } from "../stream-decoder.ts";
import { type CsvDialect, requireDialect } from "./dialect.ts";
import { type CsvLimits, CsvReader, type ReaderItem, throwProblem } from "./reader.ts";
import { blocksOf, withoutByteOrderMark } from "./source.ts";

export type { CsvDialect } from "./dialect.ts";
export type { CsvLimits, CsvRecord } from "./reader.ts";

/** What a CSV file holds, in order: its header once, then each row. */
export type CsvItem =
  | (Extract<ReaderItem, { kind: "header" }> & { readonly encoding: Encoding })
  | Extract<ReaderItem, { kind: "row" | "bad-row" }>;

/**
 * Reads a CSV file as it streams by, in constant memory and without holding the event loop. A bad row is an item like
 * any other and reading goes on: CSV_ROW_RAGGED, CSV_ROW_QUOTES, and CSV_QUOTE_UNCLOSED as the last.
 * Without a header the columns are `1`, `2`, … and the header item's `raw` is empty.
 *
 * With encoding `auto` a byte order mark decides, else UTF-8 is read strictly: one pass can't know what comes later.
 * Give it the dialect that {@link surveyCsv} found to have Windows-1252 considered.
 *
 * Throws a Failure that names the place when the file as a whole cannot be read: CSV_EMPTY, CSV_BINARY, CSV_BYTES,
 * CSV_HEADER_EMPTY, CSV_HEADER_DOUBLED, CSV_HEADER_TOO_WIDE (or a row's code when the header has that fault),
 * CSV_ROW_TOO_LONG for any row, and CSV_DIALECT_INVALID.
 */
export async function* readCsv(
  source: AsyncIterable<Buffer>,
  dialect: CsvDialect,
  options: CsvLimits = {},
): AsyncGenerator<CsvItem> {
  for await (const { item, encoding } of readItems(source, dialect, options)) {
    if (item.kind === "bad-file") throwProblem(item.problem);
    else if (item.kind === "header") yield { ...item, encoding };
    else yield item;
  }
}

/** Like {@link readCsv}, but what makes the file unreadable is an item too, the last. */
export async function* readItems(
  source: AsyncIterable<Buffer>,
  dialect: CsvDialect,
  options: CsvLimits,
): AsyncGenerator<{ item: ReaderItem; encoding: Encoding }> {
  let encoding = requireDialect(dialect).encoding ?? "utf-8";
  const reader = new CsvReader(dialect, options);
  let decoder = new StreamDecoder(encoding);
  const bytes = withoutByteOrderMark(blocksOf(source), (mark) => {
    if (mark === undefined) return;
    encoding = mark.encoding;
    decoder = new StreamDecoder(encoding, mark.length);
  });
  for await (const block of bytes) {
    const { text, badOffset } = decoder.write(block);
    for (const item of reader.push(text)) yield { item, encoding };
    if (badOffset !== undefined) return yield { item: badBytes(reader, encoding, badOffset), encoding };
  }
  const { text, badOffset } = decoder.end();
  for (const item of reader.push(text)) yield { item, encoding };
  if (badOffset !== undefined) return yield { item: badBytes(reader, encoding, badOffset), encoding };
  for (const item of reader.end()) yield { item, encoding };
}

/** The item that ends a file at a byte that its encoding does not have. */
export function badBytes(reader: CsvReader, encoding: string, offset: number): ReaderItem {
  return {
    kind: "bad-file",
    problem: {
      code: "CSV_BYTES",
      place: `line ${reader.line}`,
      message: `byte ${offset} of the file is not ${encoding}`,
    },
  };
}
