import { createHash } from "node:crypto";
import { Failure, type Problem } from "../../core/failures.ts";
import type { IncomingMessage } from "../../core/intake.ts";
import { type CsvDialect, requireDialect } from "../../formats/csv/dialect.ts";
import { type CsvItem, type CsvLimits, readCsv } from "../../formats/csv/read.ts";
import { throwProblem } from "../../formats/csv/reader.ts";
import { surveyCsv } from "../../formats/csv/survey.ts";
import { findEncoding } from "../../formats/encoding.ts";
import { type ForeignUtf8, ForeignUtf8Finder } from "../../formats/foreign-utf8.ts";
import type { CheckLine } from "../connector.ts";
import type { FileContent, FileFormat, ReadableFile } from "../drop-folder/format.ts";
import { DoubtfulOrders } from "./doubtful-orders.ts";
import { DoubtfulRows } from "./doubtful-rows.ts";
import { type CsvRowItem, type Grouping, isRemark, RowKeys } from "./order-key.ts";
import { OrderAssembler } from "./order-rows.ts";
import { OrderSurvey, type ScatteredOrders } from "./order-survey.ts";
import {
  type CsvHeader,
  type CsvReading,
  columnProblems,
  columnsOf,
  dialectOf,
  lacksNumber,
  withColumnNames,
} from "./reading.ts";

const DEFAULT_MAX_BYTES = 2 * 1024 * 1024 * 1024;
/** One commit each: enough orders to share its cost, few enough to keep it short. */
const BATCH_ORDERS = 500;
const BATCH_BYTES = 4 * 1024 * 1024;

/** What a CSV drop folder is told beyond its folders. */
export interface CsvFileSettings {
  readonly maxBytes?: number | undefined;
  readonly reading?: CsvReading | undefined;
  readonly limits?: CsvLimits | undefined;
}

/** What the first pass over a file found. */
interface Survey {
  readonly dialect: CsvDialect;
  readonly header: CsvHeader;
  readonly scattered: ScatteredOrders;
  /** Orders that an unreadable row may hold a row of: its line by the key's digest. */
  readonly doubtful: ReadonlyMap<string, number>;
  /** Whether a row wants something of an earlier order. */
  readonly hasWish: boolean;
  /** Why nothing of the file can be taken. */
  readonly problems: readonly Problem[];
}

/** CSV files of any size: read as a stream, never held. Each order's rows make up one message. */
export function csvFileFormat({ maxBytes, reading = {}, limits = {} }: CsvFileSettings): FileFormat {
  const dialect = dialectOf(reading);
  return {
    type: "csv-drop",
    maxBytes: maxBytes ?? DEFAULT_MAX_BYTES,
    isWholeFile: reading.wholeFile ?? false,
    examine: (file) => examine({ file, reading, dialect, limits }),
    check: () => [checkDialect(dialect)],
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
  let survey: Survey;
  try {
    survey = await surveyFile(source);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // What stopped the reading stops it here as well: a file of gigabytes is not read on for its digest.
    const problems = [{ code: error.code, place: "file", message: error.message }];
    return { sha256: undefined, problems, batches: noBatches };
  }
  const { sha256, foreign } = await readBytes(source);
  if (foreign !== undefined) {
    return { sha256, problems: [utf8Problem(foreign, source.dialect.encoding)], batches: noBatches };
  }
  const problems = [...columnProblems(survey.header, source.reading), ...survey.problems];
  if (survey.scattered.isTooMuch) problems.push(tooScattered(source.reading));
  if (problems.length > 0) return { sha256, problems, batches: noBatches };
  return {
    sha256,
    problems,
    isRepeatable: survey.hasWish,
    batches: () => inBatches({ ...source, dialect: survey.dialect }, survey),
  };
}

/** One pass with what is known of the dialect; if its bytes are no UTF-8, the encoding is found out and it is read again. */
async function surveyFile(source: Source): Promise<Survey> {
  const { file, dialect, limits } = source;
  try {
    return await surveyOrders(source);
  } catch (error) {
    const isGuess = dialect.encoding === "auto";
    if (!isGuess || !(error instanceof Failure) || error.code !== "CSV_BYTES") throw error;
  }
  const found = await surveyCsv(file.chunks(), dialect, limits);
  const problem = found.problems.at(-1);
  if (!found.isReadable && problem) throwProblem(problem);
  return surveyOrders({ ...source, dialect: found.dialect });
}

async function surveyOrders(source: Source): Promise<Survey> {
  const { identify } = source.reading;
  const orders = new OrderSurvey();
  let header: CsvHeader | undefined;
  let keys: RowKeys | undefined;
  let hasWish = false;
  let isAnyInDoubt = false;
  let last: CsvRowItem | undefined;
  for await (const item of readRows(source)) {
    if (item.kind === "header") {
      header = item;
      keys = new RowKeys(grouping(item, source));
    } else if (keys) {
      const isReadable = item.kind === "row";
      const { key } = keys.add(item);
      last = item;
      orders.add(key, Buffer.byteLength(isReadable ? item.row.raw : item.raw), isReadable);
      const identity = isReadable ? identify?.(item.row.values) : undefined;
      isAnyInDoubt ||= !isReadable || (key === "" && identity !== undefined && lacksNumber(identity));
      hasWish ||= identity?.isWish === true;
    }
  }
  if (!header) throw new Failure("CSV_EMPTY", "the file holds no header");
  const found = { dialect: source.dialect, header, scattered: orders.result(), hasWish };
  const cut = cutProblems(last, found.scattered);
  const doubts = isAnyInDoubt
    ? await findDoubtful(source, header, orders)
    : { doubtful: new Map(), problems: [] };
  return { ...found, ...doubts, problems: cut.length > 0 ? cut : doubts.problems };
}

/** The orders that may lack a row, since one that can't be read may be theirs; and why none is certain, if so. */
async function findDoubtful(
  source: Source,
  header: CsvHeader,
  orders: OrderSurvey,
): Promise<Pick<Survey, "doubtful" | "problems">> {
  const columns = columnsOf(header, source.reading);
  const column = source.reading.numberColumns?.find((name) => columns.includes(name));
  if (column === undefined) return { doubtful: new Map(), problems: [] };
  const doubtful = new DoubtfulOrders(grouping(header, source), orders, column);
  for await (const item of readRows(source)) {
    if (item.kind === "header") continue;
    doubtful.add(item);
    if (doubtful.problem) return { doubtful: new Map(), problems: [doubtful.problem] };
  }
  return { doubtful: doubtful.lineByDigest, problems: [] };
}

/**
 * Why nothing is taken of a file that was cut: it ends within a row, and where the rows of its orders needn't stand
 * together, each of them may have had more. A quote that is never closed may be a cut as well; where the last line has its
 * end, it counts as one only if orders are seen to be scattered.
 */
function cutProblems(last: CsvRowItem | undefined, { lastRowByDigest }: ScatteredOrders): Problem[] {
  if (last?.kind !== "bad-row") return [];
  const { code } = last.problem;
  // A sender that never ends the last line writes just that, and one whose quote is missing ends it.
  const isCertain = !/[\r\n]$/.test(last.raw) && code !== "CSV_ROW_UNFINISHED";
  const isPossible = code === "CSV_ROW_UNFINISHED" || code === "CSV_QUOTE_UNCLOSED";
  if (!isCertain && !(isPossible && lastRowByDigest.size > 0)) return [];
  if (isRemark(last)) return [];
  const message =
    "the file ends within a row, so it was cut short, and nobody knows which of its orders are whole; none was taken";
  return [last.problem, { code: "CSV_ROW_UNFINISHED", place: "file", message }];
}

async function* inBatches(
  source: Source,
  { header, scattered, doubtful }: Survey,
): AsyncGenerator<readonly IncomingMessage[]> {
  const keys = new RowKeys(grouping(header, source));
  const orders = new OrderAssembler(header.raw, scattered, doubtful);
  let batch: IncomingMessage[] = [];
  let bytes = 0;
  for await (const item of readRows(source)) {
    if (item.kind === "header") continue;
    for (const message of orders.add(keys.add(item))) {
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

async function* readRows({ file, reading, dialect, limits }: Source): AsyncGenerator<CsvItem> {
  const rows = new DoubtfulRows(reading, dialect.quote);
  for await (const item of readCsv(file.chunks(), dialect, limits)) {
    yield* rows.add(withColumnNames(item, reading));
  }
  yield* rows.end();
}

function grouping(header: CsvHeader, { reading, dialect }: Source): Grouping {
  const columns = columnsOf(header, reading);
  return { header, columns, identify: reading.identify, quote: dialect.quote };
}

function tooScattered({ numberColumns = [] }: CsvReading): Problem {
  const names = numberColumns.map((name) => `"${name}"`).join(" or ");
  const message = `rows with the same value in column ${names} must stand near each other; too many of them don't`;
  return { code: "CSV_ORDERS_SCATTERED", place: "file", message };
}

function checkDialect(dialect: CsvDialect): CheckLine {
  const subject = "CSV settings";
  try {
    requireDialect(dialect);
    return { subject, isOk: true, detail: `delimiter ${dialect.delimiter}, encoding ${dialect.encoding}` };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { subject, isOk: false, detail: `${error.message}. ${error.hint}` };
  }
}

/** The file's digest, and where it is UTF-8 though another encoding is set. */
async function readBytes({
  file,
  reading,
  dialect,
}: Source): Promise<{ readonly sha256: string; readonly foreign: ForeignUtf8 | undefined }> {
  const digest = createHash("sha256");
  const encoding = reading.isEncodingForced === true ? undefined : findEncoding(dialect.encoding);
  const finder = encoding && new ForeignUtf8Finder(encoding);
  for await (const chunk of file.chunks()) {
    digest.update(chunk);
    finder?.push(chunk);
  }
  return { sha256: digest.digest("hex"), foreign: finder?.end() };
}

function utf8Problem({ line, offset }: ForeignUtf8, encoding: string): Problem {
  return {
    code: "CSV_ENCODING_UTF8",
    place: `line ${line}`,
    message: `is UTF-8 (byte ${offset} of the file), and the configured encoding is ${encoding}; expected encoding: auto or utf-8, or encoding: { name: ${encoding}, forced: true } for the connector`,
  };
}

async function* noBatches(): AsyncGenerator<readonly IncomingMessage[]> {}
