import type { Problem } from "../../core/failures.ts";
import { decodeBytes, type Encoding } from "../encoding.ts";
import { Utf8Census } from "../utf8-census.ts";
import { type CsvDialect, requireDialect } from "./dialect.ts";
import { badBytes, readItems } from "./read.ts";
import { type CsvLimits, CsvReader, type ReaderItem } from "./reader.ts";
import { blocksOf, withoutByteOrderMark } from "./source.ts";

/** What a first pass over a CSV file found. */
export interface CsvSurvey {
  /** Whether rows can be read at all; otherwise the last problem says why not. */
  readonly isReadable: boolean;
  /** The dialect with encoding and delimiter settled where they could be: what {@link readCsv} is given. */
  readonly dialect: CsvDialect;
  readonly encoding: Encoding | undefined;
  readonly delimiter: string | undefined;
  /** Empty when the header cannot be read. */
  readonly columns: readonly string[];
  /** Good rows. */
  readonly rowCount: number;
  readonly badRowCount: number;
  /** The first hundred bad rows, and what is wrong with the file as a whole. */
  readonly problems: readonly Problem[];
}

const MAX_PROBLEMS = 100;

/**
 * Reads a CSV file once, in constant memory, to settle what can only be known at its end, before any row is delivered.
 *
 * Encoding `auto` is settled by one rule: a byte order mark decides; else the file is UTF-8 when all of it is; else it
 * is Windows-1252 when nothing above ASCII in it reads as UTF-8 and Windows-1252 has every byte; else (texts of two
 * encodings in one file, or of some third) the file is refused with CSV_BYTES at the first byte that is not UTF-8.
 *
 * Throws CSV_DIALECT_INVALID; everything else is among the problems.
 */
export async function surveyCsv(
  source: AsyncIterable<Buffer>,
  dialect: CsvDialect,
  options: CsvLimits = {},
): Promise<CsvSurvey> {
  const tally = new Tally(dialect);
  if (requireDialect(dialect).encoding === undefined) {
    await surveyUnknownEncoding(source, dialect, options, tally);
  } else {
    await surveyKnownEncoding(source, dialect, options, tally);
  }
  return tally.result();
}

async function surveyKnownEncoding(
  source: AsyncIterable<Buffer>,
  dialect: CsvDialect,
  options: CsvLimits,
  tally: Tally,
): Promise<void> {
  for await (const { item, encoding } of readItems(source, dialect, options)) {
    tally.encoding = encoding;
    tally.add(item);
    if (item.kind === "bad-file") return;
  }
}

/**
 * Quotes, delimiters and line ends are the same bytes in UTF-8 and Windows-1252, so records are found with each byte
 * as one character, while a census of the bytes finds out what they are.
 */
async function surveyUnknownEncoding(
  source: AsyncIterable<Buffer>,
  dialect: CsvDialect,
  options: CsvLimits,
  tally: Tally,
): Promise<void> {
  const peeked = await peekByteOrderMark(source);
  if (peeked.encoding !== undefined) {
    return surveyKnownEncoding(peeked.source, { ...dialect, encoding: peeked.encoding }, options, tally);
  }
  const reader = new CsvReader(dialect, { ...options, isByteText: true });
  const census = new Utf8Census();
  let bad: ReaderItem | undefined;
  for await (const block of blocksOf(peeked.source)) {
    const badOffset = census.firstBadOffset;
    const blockOffset = census.offset;
    census.push(block);
    let from = 0;
    if (badOffset === undefined && census.firstBadOffset !== undefined) {
      from = Math.max(0, census.firstBadOffset - blockOffset);
      tally.addAll(reader.push(block.toString("latin1", 0, from)));
      bad = badBytes(reader, "utf-8", census.firstBadOffset);
    }
    tally.addAll(reader.push(block.toString("latin1", from)));
    if (!tally.isReadable) return;
  }
  census.end();
  tally.addAll(reader.end());
  if (census.firstBadOffset === undefined) {
    tally.encoding = "utf-8";
  } else if (census.multiByteCount === 0 && census.isWindows1252) {
    tally.encoding = "windows-1252";
  } else {
    tally.add(bad ?? badBytes(reader, "utf-8", census.firstBadOffset));
  }
  tally.decodeColumns();
}

/** The encoding that a byte order mark tells, and the source with the mark still in it. */
async function peekByteOrderMark(
  source: AsyncIterable<Buffer>,
): Promise<{ encoding: Encoding | undefined; source: AsyncIterable<Buffer> }> {
  const iterator = source[Symbol.asyncIterator]();
  let encoding: Encoding | undefined;
  const taken: Buffer[] = [];
  const head = withoutByteOrderMark(
    (async function* () {
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        taken.push(next.value);
        yield next.value;
      }
    })(),
    (mark) => {
      encoding = mark?.encoding;
    },
  );
  await head.next();
  return { encoding, source: resume(taken, iterator) };
}

async function* resume(taken: readonly Buffer[], iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* taken;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  } finally {
    // Left early, the source is told, so that a file is closed.
    await iterator.return?.();
  }
}

/** Counts what a survey sees. */
class Tally {
  encoding: Encoding | undefined;
  isReadable = true;
  readonly #dialect: CsvDialect;
  #delimiter: string | undefined;
  #columns: readonly string[] = [];
  #rowCount = 0;
  #badRowCount = 0;
  readonly #problems: Problem[] = [];

  constructor(dialect: CsvDialect) {
    this.#dialect = dialect;
  }

  addAll(items: readonly ReaderItem[]): void {
    for (const item of items) this.add(item);
  }

  add(item: ReaderItem): void {
    if (item.kind === "row") {
      this.#rowCount++;
    } else if (item.kind === "header") {
      this.#columns = item.columns;
      this.#delimiter = item.delimiter;
    } else if (item.kind === "bad-row") {
      this.#badRowCount++;
      if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(item.problem);
    } else {
      this.isReadable = false;
      this.#problems.push(item.problem);
    }
  }

  /** Reads column names again that were taken byte by byte. */
  decodeColumns(): void {
    const { encoding } = this;
    this.#columns = this.#columns.map((column) => {
      const decoded = encoding && decodeBytes(Buffer.from(column, "latin1"), encoding);
      return decoded?.ok ? decoded.text : column;
    });
  }

  result(): CsvSurvey {
    const delimiter = this.#delimiter as CsvDialect["delimiter"] | undefined;
    return {
      isReadable: this.isReadable,
      dialect: {
        ...this.#dialect,
        delimiter: delimiter ?? this.#dialect.delimiter,
        encoding: this.encoding ?? this.#dialect.encoding,
      },
      encoding: this.encoding,
      delimiter,
      columns: this.#columns,
      rowCount: this.#rowCount,
      badRowCount: this.#badRowCount,
      problems: this.#problems,
    };
  }
}
