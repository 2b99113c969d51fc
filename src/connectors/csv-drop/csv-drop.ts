import { Failure, type Problem, problemOf } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import type { FileDialect } from "../../core/intake.ts";
import { atLine, FILE } from "../../core/place.ts";
import {
  type CsvDialect,
  type CsvReading,
  delimiterName,
  requireDialect,
} from "../../formats/csv/dialect.ts";
import { type CsvLimits, openCsv } from "../../formats/csv/read.ts";
import type { CsvRecord } from "../../formats/csv/row.ts";
import { type CsvText, decodeCsv } from "../../formats/csv/text.ts";
import { OTHER_ENCODINGS } from "../../formats/misguess.ts";
import type { CheckLine } from "../connector.ts";
import { type FileContent, type FileFormat, inBatches } from "../drop-folder/settings.ts";
import { OrdersOfFile } from "./orders.ts";
import { columnProblems, noRowTest, StructureCheck } from "./structure.ts";
import { TrailerCheck } from "./trailer.ts";

/** More than files of the largest size have, unless their rows are so short that they would fill the memory. */
const MOST_ROWS = 250_000;
/** That many lines are named of a damaged file; it is not read any further. */
const MOST_PROBLEMS = 100;

/** The settings of a CSV drop folder beyond its folders. */
interface CsvFileSettings {
  readonly reading: CsvReading;
  readonly maxBytes: number;
  readonly limits?: Limits | undefined;
}

interface Limits extends CsvLimits {
  /** Most rows of a file; 250,000 unless given. */
  readonly maxRows?: number;
}

/**
 * CSV files: decoded and parsed once, checked to their end, so that nothing is taken of a damaged file, and put together to
 * orders. Each order is a message, and so is what rows want of one. A file is kept in memory while it is read, hence the bound.
 */
export function csvFileFormat({ reading, maxBytes, limits = {} }: CsvFileSettings): FileFormat {
  return {
    ...{ type: "csv-drop", maxBytes },
    isWholeFile: reading.wholeFile,
    dialect: expectedDialect(reading),
    examine: (bytes) => examine(bytes, { reading, limits }),
    check: () => [checkDialect(reading)],
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

interface Settings {
  readonly reading: CsvReading;
  readonly limits: Limits;
}

async function examine(bytes: Buffer, settings: Settings): Promise<FileContent> {
  let text: CsvText | undefined;
  try {
    text = await decodeCsv(bytes, settings.reading);
    const { problems, ...content } = await readOrders(text, settings);
    if (problems.length === 0) return { problems, ...content };
    return {
      problems: await withHeadings(problems, { bytes, text }, settings),
      dialect: content.dialect,
      batches: () => inBatches([]),
    };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const problems = [problemOf(error, error.place ?? FILE)];
    return {
      problems: text ? await withHeadings(problems, { bytes, text }, settings) : problems,
      batches: () => inBatches([]),
    };
  }
}

/** All of a file: what is wrong with it, and its orders, which are to be taken where nothing is. */
async function readOrders(text: CsvText, { reading, limits }: Settings): Promise<FileContent> {
  const { maxRows = MOST_ROWS } = limits;
  const file = await openCsv(text, reading, limits);
  const { delimiter, encoding, hasByteOrderMark } = file;
  const orders = new OrdersOfFile(reading);
  const batches = () => inBatches(orders.messages(file.header));
  const problems = columnProblems(file, reading);
  const content = { problems, dialect: { delimiter, encoding, hasByteOrderMark }, batches };
  const isNoRow = noRowTest(file.columns, reading);
  const structure = new StructureCheck(file, reading);
  const trailer = new TrailerCheck(reading);
  let last: CsvRecord | undefined;
  let rows = 0;
  // Below headings that lack a column each row would look damaged.
  if (problems.length > 0) return content;
  for await (const row of file.rows) {
    if (isNoRow(row) || trailer.add(row)) continue;
    last = row;
    rows += 1;
    if (rows > maxRows) throw tooManyRows(row, maxRows);
    const problem = structure.problemOf(row);
    if (problem) problems.push(problem);
    else if (problems.length === 0) orders.add(row);
    if (problems.length === MOST_PROBLEMS) return content;
  }
  const cut = structure.lastLineProblem(last);
  if (cut) problems.push(cut);
  problems.push(...trailer.end());
  return { ...content, isRepeatable: orders.hasControl };
}

function tooManyRows({ line }: CsvRecord, maxRows: number): Failure {
  return new Failure("FILE_TOO_LARGE", {
    place: atLine(line),
    message: `the file has more than ${maxRows} rows, which is what is taken at once`,
    expected: [String(maxRows)],
    hint: "Split the file: each part begins with the headings, all rows of an order stand in one part, and where the profile has a `trailer` it ends with one of its own.",
  });
}

/** A file whose headings are looked for elsewhere. */
interface Source {
  readonly bytes: Buffer;
  readonly text: CsvText;
}

const HEAD_BYTES = 1024 * 1024;

/** A title and what else may stand above the headings. */
const MOST_LINES_ABOVE = 20;

/** What is wrong with the headings, with a hint where those that the profile needs stand on another line, or are in another encoding. */
async function withHeadings(
  problems: readonly Problem[],
  file: Source,
  settings: Settings,
): Promise<readonly Problem[]> {
  const { reading } = settings;
  const isAboutHeader = problems.some(({ code }) =>
    /^CSV_(COLUMN_MISSING|HEADER_(EMPTY|DOUBLED))$/.test(code),
  );
  if (!isAboutHeader || reading.header !== true || reading.requiredColumns.length === 0) return problems;
  const hint = (await hintOfLine(file, settings)) ?? (await hintOfEncoding(file, settings));
  // What the wrong line lacks besides says nothing.
  return hint === undefined ? problems : problems.slice(0, 1).map((problem) => ({ ...problem, hint }));
}

async function hintOfLine({ text }: Source, settings: Settings): Promise<string | undefined> {
  const { skipLines: set = 0 } = settings.reading;
  for (let skipLines = 0; skipLines <= Math.max(MOST_LINES_ABOVE, set); skipLines++) {
    if (skipLines === set) continue;
    const line = await findHeadings(text, settings, skipLines);
    if (line === undefined) continue;
    const setting = skipLines === 0 ? "leave `skipLines` out of" : `set \`skipLines: ${skipLines}\` in`;
    const pattern = skipLines > set ? ", or `noRow` with a pattern for what stands above them" : "";
    return byReload(
      `The headings stand in line ${line}, and \`skipLines\` is ${set}: ${setting} the profile${pattern}.`,
    );
  }
  return undefined;
}

/** A heading with an umlaut is another one where it is read in another encoding. */
async function hintOfEncoding({ bytes }: Source, settings: Settings): Promise<string | undefined> {
  const { reading } = settings;
  // Headings are looked for in the first lines.
  const end = bytes.length > HEAD_BYTES ? bytes.lastIndexOf(0x0a, HEAD_BYTES) + 1 : bytes.length;
  for (const encoding of ["utf-8", "windows-1252", ...OTHER_ENCODINGS]) {
    const dialect = { ...reading, encoding, isEncodingForced: true };
    const text = await decodeCsv(bytes.subarray(0, end), dialect).catch(undefinedForFailure);
    if (text === undefined || (await findHeadings(text, settings, reading.skipLines)) === undefined) continue;
    return byReload(
      `The headings are right when the file is read as ${encoding}: set \`encoding: ${encoding}\` in the profile or the connector, or have the sender save it as "CSV UTF-8".`,
    );
  }
  return undefined;
}

/** The line of the headings, where all columns that the profile needs stand in the first line below these. */
async function findHeadings(
  text: CsvText,
  { reading, limits }: Settings,
  skipLines: number | undefined,
): Promise<number | undefined> {
  const file = await openCsv(text, { ...reading, skipLines }, limits).catch(undefinedForFailure);
  return file && columnProblems(file, reading).length === 0 ? file.line : undefined;
}

function undefinedForFailure(error: unknown): undefined {
  if (!(error instanceof Failure)) throw error;
}

function checkDialect(dialect: CsvDialect): CheckLine {
  const subject = "CSV settings";
  try {
    requireDialect(dialect);
    const detail = `delimiter ${delimiterName(dialect.delimiter)}, encoding ${dialect.encoding}`;
    return { subject, detail };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { subject, level: "act", stopsIntake: true, detail: error.message, hint: error.hint };
  }
}
