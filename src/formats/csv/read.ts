import { setImmediate as nextTurn } from "node:timers/promises";
import { type Encoding, findByteOrderMark } from "../encoding.ts";
import { StreamDecoder } from "../stream-decoder.ts";
import { type CsvDialect, requireDialect } from "./dialect.ts";
import { type CsvLimits, CsvReader, type ReaderItem, throwProblem } from "./reader.ts";

export type { CsvDialect } from "./dialect.ts";
export type { CsvLimits, CsvRecord } from "./reader.ts";

const NO_UTF8 =
  "Set `encoding` to what the sender writes, such as `encoding: windows-1252` in Western Europe, and see with `preview --show-phi` that the names are right; or have the file saved as UTF-8.";

/** What a CSV file holds, in order: its header once, then each row. */
export type CsvItem =
  | (Extract<ReaderItem, { kind: "header" }> & {
      readonly encoding: Encoding;
      readonly hasByteOrderMark: boolean;
    })
  | Extract<ReaderItem, { kind: "row" | "bad-row" }>;

/**
 * Reads a CSV file as it streams by, in constant memory and without holding the event loop. A bad row is an item like
 * any other and reading goes on: CSV_ROW_RAGGED, CSV_ROW_QUOTES, and CSV_QUOTE_UNCLOSED as the last.
 * Without a header the columns are `1`, `2`, … and the header item's `raw` is empty.
 *
 * With encoding `auto` a byte order mark decides, else UTF-8 is read strictly: one pass can't know what comes later.
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
  let encoding = requireDialect(dialect).encoding ?? "utf-8";
  const reader = new CsvReader(dialect, options);
  let decoder = new StreamDecoder(encoding);
  let hasByteOrderMark = false;
  const named = (item: ReaderItem): CsvItem => {
    if (item.kind === "bad-file") throwProblem(item.problem);
    return item.kind === "header" ? { ...item, encoding, hasByteOrderMark } : item;
  };
  const failAt = (offset: number) =>
    throwProblem({
      code: "CSV_BYTES",
      place: `line ${reader.line}`,
      message: `byte ${offset} of the file is not ${encoding}`,
      ...(encoding === "utf-8" ? { hint: NO_UTF8 } : {}),
    });
  const bytes = withoutByteOrderMark(blocksOf(source), (mark) => {
    if (mark === undefined) return;
    encoding = mark.encoding;
    hasByteOrderMark = true;
    decoder = new StreamDecoder(encoding, mark.length);
  });
  for await (const block of bytes) {
    const { text, badOffset } = decoder.write(block);
    for (const item of reader.push(text)) yield named(item);
    if (badOffset !== undefined) failAt(badOffset);
  }
  const { text, badOffset } = decoder.end();
  for (const item of reader.push(text)) yield named(item);
  if (badOffset !== undefined) failAt(badOffset);
  for (const item of reader.end()) yield named(item);
}

/** Small enough that parsing one block takes a few milliseconds. */
const BLOCK_BYTES = 65_536;

/**
 * A source in blocks of at most 64 KiB, the event loop getting its turn after each, however large the chunks and
 * however fast they come.
 */
async function* blocksOf(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    for (let from = 0; from < chunk.length; from += BLOCK_BYTES) {
      yield chunk.subarray(from, from + BLOCK_BYTES);
      await nextTurn();
    }
  }
}

/** What byte order marks and {@link NO_TEXT} need. */
const OPENING_BYTES = 4;

/** How files begin that people drop by mistake. */
const NO_TEXT: readonly (readonly [bytes: string, what: string])[] = [
  ["\x89PNG", "a picture (PNG)"],
  ["\xff\xd8\xff", "a picture (JPEG)"],
  ["%PDF", "a PDF"],
  ["PK\x03\x04", "a ZIP archive or an Excel workbook (.xlsx)"],
  ["\xd0\xcf\x11\xe0", "an Excel workbook (.xls)"],
];

/** Takes the byte order mark off the beginning of a source, even when it comes byte by byte. */
async function* withoutByteOrderMark(
  source: AsyncIterable<Buffer>,
  found: (mark: ReturnType<typeof findByteOrderMark>) => void,
): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of source) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    if (head.length < OPENING_BYTES) continue;
    yield openingOf(head, found);
    head = undefined;
  }
  if (head !== undefined) yield openingOf(head, found);
}

function openingOf(head: Buffer, found: (mark: ReturnType<typeof findByteOrderMark>) => void): Buffer {
  const opening = head.toString("latin1", 0, OPENING_BYTES);
  const [, what] = NO_TEXT.find(([bytes]) => opening.startsWith(bytes)) ?? [];
  if (what !== undefined)
    throwProblem({ code: "CSV_BINARY", place: "line 1", message: `expected text, found ${what}` });
  const mark = findByteOrderMark(head);
  found(mark);
  return head.subarray(mark?.length ?? 0);
}
