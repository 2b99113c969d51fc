import { createHash } from "node:crypto";
import { Failure, type Problem } from "../../core/failures.ts";
import type { FileDialect, IncomingMessage } from "../../core/intake.ts";
import {
  type CsvDialect,
  type CsvReading,
  delimiterName,
  requireDialect,
} from "../../formats/csv/dialect.ts";
import { type CsvItem, type CsvLimits, readCsv } from "../../formats/csv/read.ts";
import { throwProblem } from "../../formats/csv/reader.ts";
import { findEncoding } from "../../formats/encoding.ts";
import { type ForeignUtf8, ForeignUtf8Finder } from "../../formats/foreign-utf8.ts";
import { findMisguess, OTHER_ENCODINGS } from "../../formats/misguess.ts";
import type { CheckLine } from "../connector.ts";
import type { FileContent, FileFormat, ReadableFile } from "../drop-folder/settings.ts";
import { OrderAssembler, RowKeys } from "./orders.ts";
import { ScatterFinder } from "./scattered-orders.ts";
import {
  type CsvHeader,
  type CsvRowItem,
  columnProblems,
  columnsOf,
  dialectOf,
  noRowTest,
  StructureCheck,
  withColumnNames,
} from "./structure.ts";
import { TrailerCheck } from "./trailer.ts";

const DEFAULT_MAX_BYTES = 2 * 1024 * 1024 * 1024;
/** One commit each: enough orders to share its cost, few enough to keep it short. */
const BATCH_ORDERS = 500;
const BATCH_BYTES = 4 * 1024 * 1024;
/** That many lines are named of a damaged file; it is not read any further. */
const MOST_PROBLEMS = 100;

/** The settings of a CSV drop folder beyond its folders. */
interface CsvFileSettings {
  readonly reading: CsvReading;
  readonly maxBytes?: number | undefined;
  readonly limits?: CsvLimits | undefined;
}

/**
 * CSV files of any size: read as a stream, never kept whole, and twice. The first pass checks the structure to the end, so that
 * nothing is taken of a damaged file; the second one puts rows together to orders; each order is a message, and so is what rows want of one.
 */
export function csvFileFormat({ maxBytes, reading, limits = {} }: CsvFileSettings): FileFormat {
  const dialect = dialectOf(reading);
  return {
    type: "csv-drop",
    maxBytes: maxBytes ?? DEFAULT_MAX_BYTES,
    isWholeFile: reading.wholeFile,
    dialect: expectedDialect(dialect),
    examine: (file) => examine({ file, reading, dialect, limits }),
    check: () => [checkDialect(dialect)],
  };
}

/** How a file is taken to be written of which nothing is known: what is found out from files is a comma and UTF-8. */
function expectedDialect({ delimiter, encoding }: CsvDialect): FileDialect {
  return {
    delimiter: delimiter === "auto" ? "," : delimiter,
    encoding: encoding === "auto" ? "utf-8" : encoding,
    hasByteOrderMark: false,
  };
}

/** A file and how it is read. */
interface Source {
  readonly file: ReadableFile;
  readonly reading: CsvReading;
  readonly dialect: CsvDialect;
  readonly limits: CsvLimits;
}

async function examine(source: Source): Promise<FileContent> {
  try {
    const { sha256, problems, dialect, hasControl, batches } = await surveyFile(source);
    return problems.length > 0
      ? { sha256, problems: await withHeadings(problems, source), dialect, batches: noBatches }
      : { sha256, problems, dialect, isRepeatable: hasControl, batches };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // What stopped the reading stops it here as well: a file of gigabytes is not read on for its digest.
    const { code, message, hint, place = "file" } = error;
    const problems = await withHeadings([{ code, place, message, hint }], source);
    return { sha256: undefined, problems, batches: noBatches };
  }
}

/** A title and what else may stand above the headings. */
const MOST_LINES_ABOVE = 20;

/** What is wrong with the headings, with a hint where those that the profile needs stand on another line, or are in another encoding. */
async function withHeadings(problems: readonly Problem[], source: Source): Promise<readonly Problem[]> {
  const { reading } = source;
  const isAboutHeader = problems.some(({ code }) =>
    /^CSV_(COLUMN_MISSING|HEADER_(EMPTY|DOUBLED))$/.test(code),
  );
  if (!isAboutHeader || reading.header !== true || reading.requiredColumns.length === 0) return problems;
  const hint = (await hintOfLine(source)) ?? (await hintOfEncoding(source));
  // What the wrong line lacks besides says nothing.
  return hint === undefined ? problems : problems.slice(0, 1).map((problem) => ({ ...problem, hint }));
}

async function hintOfLine(source: Source): Promise<string | undefined> {
  const { skipLines: set } = source.reading;
  for (let skipLines = 0; skipLines <= Math.max(MOST_LINES_ABOVE, set); skipLines++) {
    if (skipLines === set) continue;
    const line = await findHeadings(source, { skipLines });
    if (line === undefined) continue;
    const setting = skipLines === 0 ? "leave `skipLines` out of" : `set \`skipLines: ${skipLines}\` in`;
    const pattern = skipLines > set ? ", or `noRow` with a pattern for what stands above them" : "";
    return `The headings stand in line ${line}, and \`skipLines\` is ${set}: ${setting} the profile${pattern}.`;
  }
  return undefined;
}

/** A heading with an umlaut is another one where it is read in another encoding. */
async function hintOfEncoding(source: Source): Promise<string | undefined> {
  const { skipLines } = source.reading;
  for (const encoding of ["utf-8", "windows-1252", ...OTHER_ENCODINGS]) {
    if ((await findHeadings(source, { skipLines, encoding })) === undefined) continue;
    return `The headings are right when the file is read as ${encoding}: set \`encoding: ${encoding}\` in the profile or the connector, or have the sender save it as "CSV UTF-8".`;
  }
  return undefined;
}

/** The line of the headings, where all columns that the profile needs stand in the first line below these. */
async function findHeadings(
  { file, reading, dialect, limits }: Source,
  changed: Partial<CsvDialect>,
): Promise<number | undefined> {
  try {
    for await (const item of readCsv(file.chunks(), { ...dialect, ...changed }, limits)) {
      const isIt = item.kind === "header" && columnProblems(item, reading).length === 0;
      return isIt ? item.line : undefined;
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  return undefined;
}

/**
 * The first pass. Encoding `auto` is decided by one rule: a byte order mark decides; else the file is UTF-8 when all of it
 * is; else it is Windows-1252 when that has every byte and no character beyond ASCII reads as UTF-8; else (two encodings in
 * one file, or some third) it is refused at the first byte that is not UTF-8.
 */
async function surveyFile(source: Source): Promise<Survey> {
  try {
    return await surveyRows(source);
  } catch (error) {
    const isOther =
      source.dialect.encoding === "auto" && error instanceof Failure && error.code === "CSV_BYTES";
    if (!isOther) throw error;
    const guess = { ...source, dialect: { ...source.dialect, encoding: "windows-1252" } };
    const survey = await surveyRows(guess).catch((other: unknown) => {
      if (!(other instanceof Failure && other.code === "CSV_BYTES")) throw other;
      const { message, place } = error;
      throw new Failure("CSV_BYTES", { message, place, hint: NEITHER });
    });
    if (survey.hasUtf8) throw error;
    return survey;
  }
}

/** What the first pass over a file found. */
interface Survey {
  /** Undefined when the file was not read to its end. */
  readonly sha256: string | undefined;
  /** Why nothing of the file can be taken. */
  readonly problems: readonly Problem[];
  readonly dialect: FileDialect | undefined;
  /** Whether a row asks something of an earlier order. */
  readonly hasControl: boolean;
  /** Whether some character beyond ASCII is one in UTF-8, though the file is read in another encoding. */
  readonly hasUtf8: boolean;
  /** The second pass. */
  readonly batches: () => AsyncIterable<readonly IncomingMessage[]>;
}

async function surveyRows(source: Source): Promise<Survey> {
  const { reading, dialect } = source;
  const encoding = findEncoding(dialect.encoding);
  const finder = encoding && new ForeignUtf8Finder(encoding);
  const digest = createHash("sha256");
  const isGuess = dialect.encoding !== reading.encoding;
  const mayBeUtf8 = !isGuess && reading.isEncodingForced !== true;
  const read = rowsOf(source, (chunk) => {
    digest.update(chunk);
    finder?.push(chunk);
  });
  const rows = mayBeUtf8 ? namingUtf8(read, () => finder?.end(), encoding) : read;
  const problems: Problem[] = [];
  const scatter = new ScatterFinder();
  const keys = new RowKeys(reading.identify);
  const trailer = new TrailerCheck(reading);
  let header: CsvHeader | undefined;
  let structure: StructureCheck | undefined;
  let last: CsvRowItem | undefined;
  let hasControl = false;
  let isWhole = true;
  for await (const item of rows) {
    if (item.kind === "header") {
      header = item;
      const guessed = isGuess ? misguessIn(item.columns, `line ${item.line}`) : undefined;
      if (guessed) problems.push(guessed);
      structure = new StructureCheck(item, reading);
      problems.push(...columnProblems(item, reading));
    } else if (!trailer.add(item)) {
      last = item;
      const problem = structure?.problemOf(item) ?? (isGuess ? misguess(item) : undefined);
      if (problem) problems.push(problem);
      if (item.kind === "row") {
        const { key, identity } = keys.add(item.row);
        scatter.add(key, Buffer.byteLength(item.row.raw));
        hasControl ||= identity.isControl;
      }
    }
    isWhole = problems.length === 0 || (last !== undefined && problems.length < MOST_PROBLEMS);
    if (!isWhole) break;
  }
  const scattered = scatter.result();
  const foreign = isWhole ? finder?.end() : undefined;
  if (isWhole) {
    const cut = structure?.lastLineProblem(last);
    if (cut) problems.push(cut);
    problems.push(...trailer.end());
    if (scattered.isTooMuch) problems.push(tooScattered(reading));
    if (foreign && mayBeUtf8) problems.unshift(utf8Problem(foreign, encoding));
  }
  return {
    sha256: isWhole ? digest.digest("hex") : undefined,
    problems,
    dialect: header && {
      delimiter: header.delimiter,
      encoding: header.encoding,
      hasByteOrderMark: header.hasByteOrderMark,
    },
    hasControl,
    hasUtf8: finder?.hasUtf8 ?? false,
    batches: () => inBatches(source, new OrderAssembler(header?.raw ?? "", scattered)),
  };
}

async function* inBatches(
  source: Source,
  orders: OrderAssembler,
): AsyncGenerator<readonly IncomingMessage[]> {
  const keys = new RowKeys(source.reading.identify);
  const trailer = new TrailerCheck(source.reading);
  let batch: IncomingMessage[] = [];
  let bytes = 0;
  for await (const item of rowsOf(source)) {
    if (item.kind === "header" || trailer.add(item)) continue;
    // The first pass found none, so the file is another one by now.
    if (item.kind === "bad-row") throwProblem(item.problem);
    for (const message of orders.add(keys.add(item.row))) {
      batch.push(message);
      bytes += message.raw.reveal().length;
      if (batch.length < BATCH_ORDERS && bytes < BATCH_BYTES) continue;
      yield batch;
      batch = [];
      bytes = 0;
    }
  }
  batch.push(...orders.end());
  if (batch.length > 0) yield batch;
}

/** The header and the rows of a file, without lines that are none. */
async function* rowsOf(
  { file, reading, dialect, limits }: Source,
  tap: (chunk: Buffer) => void = () => {},
): AsyncGenerator<CsvItem> {
  let isNoRow = (_: CsvRowItem) => false;
  for await (const item of readCsv(tapped(file.chunks(), tap), dialect, limits)) {
    if (item.kind === "header") isNoRow = noRowTest(columnsOf(item, reading), reading);
    const named = withColumnNames(item, reading);
    if (named.kind === "header" || !isNoRow(named)) yield named;
  }
}

/** A byte that the encoding does not have may be part of a character in UTF-8: then that is what is wrong with the file. */
async function* namingUtf8(
  items: AsyncIterable<CsvItem>,
  findUtf8: () => ForeignUtf8 | undefined,
  encoding: string | undefined,
): AsyncGenerator<CsvItem> {
  try {
    yield* items;
  } catch (error) {
    const foreign = error instanceof Failure && error.code === "CSV_BYTES" ? findUtf8() : undefined;
    if (foreign) throwProblem(utf8Problem(foreign, encoding));
    throw error;
  }
}

async function* tapped(chunks: AsyncIterable<Buffer>, tap: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    tap(chunk);
    yield chunk;
  }
}

function tooScattered({ numberColumns }: CsvReading): Problem {
  const names = numberColumns.map((name) => `"${name}"`).join(" or ");
  const message = `rows with the same value in column ${names} must stand near each other; too many of them don't`;
  return { code: "CSV_ORDERS_SCATTERED", place: "file", message };
}

function utf8Problem({ line, offset }: ForeignUtf8, encoding: string | undefined): Problem {
  return {
    code: "CSV_ENCODING_UTF8",
    place: `line ${line}`,
    message: `is UTF-8 (byte ${offset} of the file), and ${encoding} was agreed for this interface; expected one character set`,
    hint: `If the sender writes UTF-8, set \`encoding: utf-8\` or \`auto\`; else have the file saved in ${encoding}. If it only looks like UTF-8: \`encoding: { name: ${encoding}, forced: true }\` for the connector.`,
  };
}

const NEITHER = `It is neither UTF-8 nor Windows-1252. ${namingEncodings(OTHER_ENCODINGS)}`;

function namingEncodings(likely: readonly string[]): string {
  return `Set \`encoding\` in the profile or the connector to what the sender writes, such as ${likely.join(" or ")} (Excel's "CSV (MS-DOS)" is cp850 or cp437, its "CSV (Macintosh)" macintosh), or have the file saved as "CSV UTF-8".`;
}

/** A row of a file in no encoding that was agreed, in which a word shows that the guess is wrong. */
function misguess(item: CsvRowItem): Problem | undefined {
  if (item.kind !== "row") return undefined;
  return misguessIn(item.row.values.values(), `line ${item.row.line}`);
}

function misguessIn(cells: Iterable<string>, place: string): Problem | undefined {
  for (const cell of cells) {
    const likely = findMisguess(cell);
    if (likely === undefined) continue;
    const message = `a word is none in Windows-1252, which the file was taken for since it is no UTF-8; it is one in ${likely.join(", ")}`;
    const hint = `${namingEncodings(likely)} If it is Windows-1252, set \`encoding: windows-1252\`.`;
    return { code: "CSV_ENCODING_DOUBTFUL", place, message, hint };
  }
  return undefined;
}

function checkDialect(dialect: CsvDialect): CheckLine {
  const subject = "CSV settings";
  try {
    requireDialect(dialect);
    const detail = `delimiter ${delimiterName(dialect.delimiter)}, encoding ${dialect.encoding}`;
    return { subject, isOk: true, detail };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { subject, isOk: false, detail: `${error.message}. ${error.hint}` };
  }
}

async function* noBatches(): AsyncGenerator<readonly IncomingMessage[]> {}
