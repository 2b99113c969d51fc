import { asFailure } from "../../core/failures.ts";
import { type Encoding, findEncoding, isEncodable, isWide } from "../../formats/encoding.ts";
import type { ResultEncoding } from "../../formats/hl7/charset.ts";
import type { CsvColumn, CsvResultSettings } from "../outbound/csv-cells.ts";
import { compileOverride, type FieldOverride } from "../outbound/field-overrides.ts";
import { type Hl7FileName, parseFileName, parseHl7FileName } from "../outbound/file-name.ts";
import { dateFormatMistake, isTimeZone } from "../outbound/timestamp.ts";
import type { Complain } from "./compile-rules.ts";
import { delimiterOf } from "./delimiter.ts";
import type { ResultSettings } from "./profile.ts";
import {
  ANSWERS,
  csvResultColumns,
  type FormedColumn,
  isFormed,
  REPORTED_STATES,
  RESULT_COLUMNS,
  type ResultColumn,
  type ResultsDefinition,
  type ResultWords,
} from "./results-schema.ts";
import type { ProfileDefinition } from "./schema.ts";
import { nameOfPart, placeOfPart } from "./transform-schema.ts";
import { compileTransform, tableTransform } from "./transforms.ts";

const HL7_KEYS = [
  "format",
  "formats",
  "controlAnswers",
  "fields",
  "batchResponse",
  "namespace",
  "version",
  "sender",
  "receiver",
  "statusMap",
  "suffix",
] as const;

const CSV_KEYS = [
  "byteOrderMark",
  "delimiter",
  "quote",
  "columns",
  "joinContainers",
  "header",
  "dateFormat",
  "decimal",
] as const;

/** The settings of what is sent to the lab, defaults filled in. */
export function compileResults(whole: ProfileDefinition, complain: Complain): ResultSettings {
  const given = whole.results ?? {};
  const [foreign, owner] =
    whole.format === "csv" ? ([HL7_KEYS, "HL7"] as const) : ([CSV_KEYS, "CSV"] as const);
  for (const key of foreign) {
    if (given[key] !== undefined) complain(`results.${key}`, `is for ${owner} profiles`);
  }
  const timeZone = given.timeZone ?? "UTC";
  if (!isTimeZone(timeZone)) {
    complain(
      "results.timeZone",
      `${timeZone} is no time zone; expected a name such as Europe/Vienna or an offset such as +02:00`,
    );
  }
  const encoding = compileEncoding(whole, complain);
  const hl7FileName = whole.format === "csv" ? undefined : compileHl7FileName(given, complain);
  const send = new Set(given.send ?? []);
  if (given.controlAnswers === "none" && (whole.cancel ?? []).length > 0 && !send.has("cancelled")) {
    complain(
      "results.controlAnswers",
      "none needs cancelled in results.send: nothing else would report to the lab that an order was cancelled",
    );
  }
  for (const answer of ANSWERS) {
    if (given.formats?.[answer] !== "ssu") continue;
    complain(
      `results.formats.${answer}`,
      "ssu is about containers, and an answer has none; expected oru or orm",
    );
  }
  return {
    format: given.format ?? "oru",
    formats: given.formats,
    controlAnswers: given.controlAnswers ?? "response",
    fields: compileFields(given.fields ?? {}, complain),
    batchResponse: given.batchResponse,
    namespace: given.namespace ?? "CRYOBRIDGE",
    send,
    timeZone,
    words: compileWords(whole.format, given, complain),
    encoding,
    marker: compileMarker(whole.format, given, complain),
    reasons: compileReasons(whole.format, given.reasons, complain),
    suffix: given.suffix ?? (hl7FileName && endingOf(given.fileName)),
    hl7FileName,
    csv: compileCsvResults(given, whole.format === "csv", encoding, complain),
    version: given.version,
    sender: given.sender,
    receiver: given.receiver,
    statusMap: given.statusMap,
  };
}

/** Failures whose words may have the code in them that no table knows. */
const UNKNOWN_CODES: readonly string[] = [
  "MAPPING_FACILITY_UNKNOWN",
  "MAPPING_OPERATION_UNKNOWN",
  "MAPPING_EARLIER_WAITS",
];

/** An answer to a message that waits begins with a sentence of its own, which no other language may follow. */
function compileReasons(
  format: ProfileDefinition["format"],
  reasons: ResultsDefinition["reasons"],
  complain: Complain,
): ResultsDefinition["reasons"] {
  for (const [name, words = ""] of Object.entries(reasons ?? {})) {
    const [field] = words.match(/\{\w+\}/g)?.filter((each) => !mayHave(name, each)) ?? [];
    if (field === undefined) continue;
    const own = ["{code}", "{column}", "{expected}"].filter((each) => mayHave(name, each));
    const those = own.length === 0 ? "" : `; expected ${own.join(", ")} or none`;
    complain(`results.reasons.${name}`, `${field} stands for nothing here${those}`);
  }
  const given: Readonly<Record<string, unknown>> = reasons ?? {};
  // Those are the failures of messages that wait, too.
  const unworded = UNKNOWN_CODES.find((code) => given[code] !== undefined);
  if (format !== "csv" && unworded !== undefined && reasons?.onHold === undefined) {
    complain(
      "results.reasons.onHold",
      `is missing, which stands before ${unworded} in the answer to a message that waits`,
    );
  }
  return reasons;
}

/** Whether words may have something put in. */
function mayHave(name: string, field: string): boolean {
  if (name === "fileRefused") return field === "{file}";
  if (field === "{code}") return UNKNOWN_CODES.includes(name);
  return (field === "{column}" || field === "{expected}") && /^(?:CSV|MAPPING)_/.test(name);
}

/** HL7 has codes for operations and facilities, and a text for the status of an order alone. */
function compileWords(
  format: ProfileDefinition["format"],
  { words = {} }: ResultsDefinition,
  complain: Complain,
): ResultWords {
  if (format === "csv") return words;
  const { status = {}, ...others } = words;
  for (const name of Object.keys(others)) complain(`results.words.${name}`, "is for CSV profiles");
  const known: readonly string[] = ["refused", "waiting", ...REPORTED_STATES];
  for (const name of Object.keys(status)) {
    if (!known.includes(name))
      complain(`results.words.status.${name}`, `is for CSV profiles; HL7 results have ${known.join(", ")}`);
  }
  return words;
}

/** Undefined for one that can't be. */
function compileEncoding(whole: ProfileDefinition, complain: Complain): ResultEncoding | undefined {
  const given = whole.results ?? {};
  const isCsv = whole.format === "csv";
  const { encoding: name = isCsv ? "as-received" : "utf-8", byteOrderMark } = given;
  if (name === "as-received") {
    const received = findEncoding(whole.encoding ?? "");
    if (received !== undefined) checkTexts(given, received, "encoding", complain);
    return name;
  }
  const encoding = findEncoding(name);
  if (encoding === undefined) {
    complain("results.encoding", `${name} is no encoding that Cryobridge knows`);
    return undefined;
  }
  if (!isCsv && isWide(encoding)) {
    complain(
      "results.encoding",
      `${encoding} is for CSV profiles: the header of an HL7 message is read byte by byte`,
    );
    return undefined;
  }
  if (byteOrderMark === true && encoding !== "utf-8" && !isWide(encoding))
    complain("results.byteOrderMark", `is for UTF-8; ${encoding} has none`);
  checkTexts(given, encoding, "results.encoding", complain);
  return encoding;
}

/** Complains of each text of the profile that the character set of the results does not have. */
function checkTexts(
  given: ResultsDefinition,
  encoding: Encoding,
  setting: "encoding" | "results.encoding",
  complain: Complain,
): void {
  const { columns: _, fileName: __, ...texts } = given;
  const columns = (given.columns ?? csvResultColumns).map(columnText);
  for (const [path, text] of textsOf({ ...texts, columns })) {
    if (isEncodable(text, encoding)) continue;
    const lacking = new Set([...text].filter((character) => !isEncodable(character, encoding)));
    const named = [...lacking].slice(0, MOST_CHARACTERS).map(nameOfCharacter).join(", ");
    const and = lacking.size > MOST_CHARACTERS ? " and others" : "";
    complain(`results.${path}`, `holds ${named}${and}, which ${encoding} of ${setting} does not have`);
  }
}

/** More of them are no help. */
const MOST_CHARACTERS = 5;

function nameOfCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `${character} (U+${code.toString(16).toUpperCase().padStart(4, "0")})`;
}

/** Every text of a section, by its path. */
function textsOf(value: unknown, path = ""): [path: string, text: string][] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value !== "object" || value === null) return [];
  const below = (key: string) =>
    Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
  return Object.entries(value).flatMap(([key, each]) => textsOf(each, below(key)));
}

/** Undefined for a wrong one, and for the shipped names. */
function compileHl7FileName(
  { fileName, suffix }: ResultsDefinition,
  complain: Complain,
): Hl7FileName | undefined {
  if (fileName === undefined) return undefined;
  if (suffix !== undefined)
    complain("results.suffix", "stands in results.fileName already; expected one of the two");
  const parsed = parseHl7FileName(fileName);
  if (typeof parsed !== "string") return parsed;
  complain("results.fileName", parsed);
  return undefined;
}

function endingOf(fileName = ""): string {
  return /\.[^.{}]*$/.exec(fileName)?.[0] ?? "";
}

/** A marker by the name of the file itself would be the file. */
function compileMarker(
  format: ProfileDefinition["format"],
  { marker, suffix = ".hl7", fileName = format === "csv" ? DEFAULT_FILE_NAME : undefined }: ResultsDefinition,
  complain: Complain,
): string | undefined {
  const ending = fileName === undefined ? suffix : endingOf(fileName);
  if (marker === `{stem}${ending}`)
    complain(
      "results.marker",
      `${marker} is the name of the file of results itself; expected another ending`,
    );
  return marker;
}

const DEFAULT_FILE_NAME = "{input}.results-{number}.csv";

function compileCsvResults(
  given: ResultsDefinition,
  isCsv: boolean,
  encoding: ResultEncoding | undefined,
  complain: Complain,
): CsvResultSettings {
  const { dateFormat, byteOrderMark } = given;
  const columns = compileColumns(given, complain);
  const headers = columns.map(({ header }) => header);
  const twice = headers.find((header, index) => headers.indexOf(header) < index);
  if (twice !== undefined)
    complain("results.columns", `two columns have the heading ${twice}; expected each heading once`);
  const mistake = dateFormat === undefined ? undefined : dateFormatMistake(dateFormat);
  if (mistake !== undefined) complain("results.dateFormat", mistake);
  const fileName = parseFileName((isCsv ? given.fileName : undefined) ?? DEFAULT_FILE_NAME);
  if (typeof fileName === "string") complain("results.fileName", fileName);
  return {
    columns,
    joinContainers: given.joinContainers,
    delimiter: delimiterOf(given.delimiter),
    quote: given.quote ?? '"',
    // A character set of its own has nothing to do with the input's mark.
    byteOrderMark: byteOrderMark ?? (encoding === "as-received" ? undefined : false),
    hasHeader: given.header ?? true,
    dateFormat,
    decimal: given.decimal ?? ".",
    fileName: typeof fileName === "string" ? [] : fileName,
  };
}

/** What of a column the profile writes into files by itself. */
function columnText(entry: NonNullable<ResultsDefinition["columns"]>[number]): string {
  if (typeof entry === "string") return entry;
  if (!isFormed(entry)) return Object.values(entry).join("");
  const between = [entry.from]
    .flat()
    .flatMap((source) => (typeof source === "string" ? [] : [source.with, ...source.join.map(nameOfPart)]));
  return [entry.header, entry.default, ...Object.values(entry.table ?? {}), ...between].join("");
}

/** The columns that are named; each has its own name for its heading unless it has another. */
function compileColumns({ columns }: ResultsDefinition, complain: Complain): CsvColumn[] {
  return (columns ?? csvResultColumns).flatMap((entry, index): CsvColumn[] => {
    const refuse = (message: string): CsvColumn[] => {
      complain(`results.columns[${index}]`, message);
      return [];
    };
    if (typeof entry !== "string" && isFormed(entry)) return compileFormed(entry, refuse);
    const { value, header: heading, ...named } = typeof entry === "string" ? { [entry]: entry } : entry;
    if (value !== undefined && heading !== undefined && Object.keys(named).length === 0)
      return [{ header: heading, from: [], transforms: [], fallback: value }];
    const [[name, header] = [], ...more] = Object.entries(named);
    if (name === undefined || value !== undefined || heading !== undefined || more.length > 0)
      return refuse(
        "expected a column, { COLUMN: its heading }, { from: COLUMN, header: its heading }, or { value: a constant, header: its heading }",
      );
    return compileFormed({ from: name, header }, refuse);
  });
}

/** One column of others; mistakes go to `refuse`. */
function compileFormed(
  { from, as = [], table, caseSensitive, default: fallback = "", header = "" }: FormedColumn,
  refuse: (message: string) => CsvColumn[],
): CsvColumn[] {
  const sources = [from]
    .flat()
    .map((source) => (typeof source === "string" ? { join: [source], with: "" } : source));
  const names = sources.flatMap((source) => source.join.map(placeOfPart));
  const unknown = names.find((name) => !isResultColumn(name));
  if (unknown !== undefined)
    return refuse(`there is no column ${unknown}; expected one of ${RESULT_COLUMNS.join(", ")}`);
  if (header.trim() === "") return refuse(`${names.join(", ")}: expected the words of its heading`);
  const settings = { mayQuote: false, complain: refuse };
  const transforms = [as].flat().map((step) => compileTransform(step, settings));
  if (table !== undefined) transforms.push(tableTransform({ table, caseSensitive }, settings));
  else if (caseSensitive !== undefined) refuse("caseSensitive is for a table; expected table beside it");
  const compiled = sources.map((source) => ({
    columns: source.join.map(placeOfPart).filter(isResultColumn),
    between: source.with,
    names: source.join.map(nameOfPart),
    empty: ("empty" in source ? source.empty : undefined) ?? "keep",
  }));
  return [{ header: header.trim(), from: compiled, transforms, fallback }];
}

function isResultColumn(name: string): name is ResultColumn {
  return RESULT_COLUMNS.some((known) => known === name);
}

function compileFields(
  fields: NonNullable<ResultsDefinition["fields"]>,
  complain: Complain,
): readonly FieldOverride[] {
  return Object.entries(fields).flatMap(([place, text]) => {
    try {
      return [compileOverride(place, text)];
    } catch (error) {
      complain(`results.fields.${place}`, asFailure(error).message);
      return [];
    }
  });
}
