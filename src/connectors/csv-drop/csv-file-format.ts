import { createHash } from "node:crypto";
import { Failure, type Problem } from "../../core/failures.ts";
import type { IncomingMessage } from "../../core/intake.ts";
import { type CsvDialect, requireDialect } from "../../formats/csv/dialect.ts";
import { type CsvItem, type CsvLimits, readCsv } from "../../formats/csv/read.ts";
import { surveyCsv } from "../../formats/csv/survey.ts";
import type { CheckLine } from "../connector.ts";
import type { FileContent, FileFormat, ReadableFile } from "../drop-folder/format.ts";
import { type KeyedRow, RowKeys } from "./order-key.ts";
import { OrderAssembler } from "./order-rows.ts";
import { OrderSurvey, type ScatteredOrders } from "./order-survey.ts";
import {
  type CsvHeader,
  type CsvReading,
  columnProblems,
  columnsOf,
  dialectOf,
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
  const sha256 = await digestOf(source.file);
  const refuse = (...problems: Problem[]): FileContent => ({ sha256, problems, batches: noBatches });
  try {
    const survey = await surveyFile(source);
    const problems = columnProblems(survey.header, source.reading);
    if (survey.scattered.isTooMuch) problems.push(tooScattered(source.reading.groupBy ?? ""));
    if (problems.length > 0) return refuse(...problems);
    return { sha256, problems, batches: () => inBatches({ ...source, dialect: survey.dialect }, survey) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return refuse({ code: error.code, place: "file", message: error.message });
  }
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
  // What it found wrong is met, and told, in the same words by the next pass.
  return surveyOrders({ ...source, dialect: found.dialect });
}

async function surveyOrders(source: Source): Promise<Survey> {
  const survey = new OrderSurvey();
  let header: CsvHeader | undefined;
  let keys: RowKeys | undefined;
  const count = (rows: readonly KeyedRow[]) => {
    for (const { item, key } of rows) {
      survey.add(key, Buffer.byteLength(item.kind === "row" ? item.row.raw : item.raw));
    }
  };
  for await (const item of readRows(source)) {
    if (item.kind !== "header") {
      if (keys) count(keys.add(item));
      continue;
    }
    header = item;
    keys = rowKeys(item, source);
  }
  if (!header || !keys) throw new Failure("CSV_EMPTY", "the file holds no header");
  count(keys.end());
  return { dialect: source.dialect, header, scattered: survey.result() };
}

async function* inBatches(
  source: Source,
  { header, scattered }: Survey,
): AsyncGenerator<readonly IncomingMessage[]> {
  const keys = rowKeys(header, source);
  const orders = new OrderAssembler(header.raw, scattered);
  let batch: IncomingMessage[] = [];
  let bytes = 0;
  for await (const item of readRows(source)) {
    if (item.kind === "header") continue;
    for (const message of keys.add(item).flatMap((row) => orders.add(row))) {
      batch.push(message);
      bytes += message.raw.reveal().length;
      if (batch.length < BATCH_ORDERS && bytes < BATCH_BYTES) continue;
      yield batch;
      batch = [];
      bytes = 0;
    }
  }
  batch.push(...keys.end().flatMap((row) => orders.add(row)), ...orders.end());
  if (batch.length > 0) yield batch;
}

async function* readRows({ file, reading, dialect, limits }: Source): AsyncGenerator<CsvItem> {
  for await (const item of readCsv(file.chunks(), dialect, limits)) yield withColumnNames(item, reading);
}

function rowKeys(header: CsvHeader, { reading, dialect }: Source): RowKeys {
  const columns = columnsOf(header, reading);
  const groupBy =
    reading.groupBy !== undefined && columns.includes(reading.groupBy) ? reading.groupBy : undefined;
  return new RowKeys({ columns, delimiter: header.delimiter, groupBy, quote: dialect.quote });
}

function tooScattered(groupBy: string): Problem {
  const message = `rows with the same value in column "${groupBy}" must stand near each other; too many of them don't`;
  return { code: "CSV_ORDERS_SCATTERED", place: "file", message };
}

function checkDialect(dialect: CsvDialect): CheckLine {
  const subject = "CSV settings";
  try {
    requireDialect(dialect);
    return { subject, isOk: true, detail: `delimiter ${dialect.delimiter}, encoding ${dialect.encoding}` };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { subject, isOk: false, detail: `${error.message}. ${error.mend}` };
  }
}

async function digestOf(file: ReadableFile): Promise<string> {
  const digest = createHash("sha256");
  for await (const chunk of file.chunks()) digest.update(chunk);
  return digest.digest("hex");
}

async function* noBatches(): AsyncGenerator<readonly IncomingMessage[]> {}
