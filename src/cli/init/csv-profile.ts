import { Failure } from "../../core/failures.ts";
import { delimiterName } from "../../formats/csv/dialect.ts";
import { headingOf } from "../../formats/csv/headings.ts";
import type { RowOperation } from "../../mapping/profile/operations.ts";
import { csvResultColumns } from "../../mapping/profile/results-schema.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import { counted } from "../../operator/text.ts";
import { trailerOf } from "./csv-lines.ts";
import { type CsvTable, guessColumns, valuesOf } from "./csv-table.ts";
import { guessDateFormats } from "./date-formats.ts";
import { type Draft, type Given, onlyGiven, type Place } from "./given.ts";
import type { Meaning } from "./headings.ts";
import type { Questions } from "./questions.ts";

/** What each order has to have, as a person is asked for it. */
const NEEDED: readonly (readonly [Place & Meaning, string])[] = [
  ["order_number", "the order number"],
  ["subject_code", "the patient's or donor's number"],
  ["container_label", "the container's label"],
];

/** A profile for a table, but for the words of operations and facilities. What can't be known is asked for. */
export async function draftCsv(table: CsvTable, given: Given, questions: Questions): Promise<Draft> {
  const columns = new Map<Meaning, string>(guessColumns(table));
  for (const [place, column] of given.places) {
    if (place === "container")
      throw new Failure("CLI_USAGE", "--place container=…: is for HL7; a row is one container");
    take(columns, place, requireColumn(table, place, column));
  }
  for (const [meaning, words] of NEEDED) {
    if (!columns.has(meaning)) await askColumn(table, columns, meaning, words, questions);
  }
  const hasOperation = columns.has("operation") || given.everyOperation !== undefined;
  if (!hasOperation) await askOperation(table, columns, questions);
  const dates = await datesOf(table, columns.get("date_of_birth"), given, questions);
  return draftOf(table, columns, dates, given);
}

/** A column that somebody names has no other meaning. */
function take(columns: Map<Meaning, string>, meaning: Meaning, column: string): void {
  for (const [other, its] of [...columns]) if (its === column && other !== meaning) columns.delete(other);
  columns.set(meaning, column);
}

function requireColumn({ columns }: CsvTable, place: string, wanted: string): string {
  const name = headingOf(wanted);
  const found = columns.find((column) => column === name);
  if (found !== undefined) return found;
  throw new Failure("CLI_USAGE", `--place ${place}=${wanted}: the sample has ${columns.join(", ")}`);
}

function freeColumns(table: CsvTable, columns: ReadonlyMap<Meaning, string>): string[] {
  const taken = new Set(columns.values());
  return table.columns.filter((column) => !taken.has(column) && valuesOf(table, column).length > 0);
}

async function askColumn(
  table: CsvTable,
  columns: Map<Meaning, string>,
  meaning: Meaning & Place,
  words: string,
  questions: Questions,
): Promise<void> {
  const free = freeColumns(table, columns);
  const answer = await questions.ask({
    text: `Which column holds ${words}? ${free.map((column) => shownColumn(table, column)).join(", ")}:`,
    flag: `--place ${meaning}=COLUMN`,
    trouble: (name) => (free.includes(headingOf(name)) ? undefined : `expected one of ${free.join(", ")}`),
  });
  if (answer !== undefined) columns.set(meaning, headingOf(answer));
}

async function askOperation(
  table: CsvTable,
  columns: Map<Meaning, string>,
  questions: Questions,
): Promise<void> {
  const free = freeColumns(table, columns);
  const answer = await questions.ask({
    text: `Which column holds the operation (store, retrieve)? ${free.map((column) => shownColumn(table, column)).join(", ")}:`,
    flag: "--place operation=COLUMN, or --operation STORE where all orders are to store",
    trouble: (name) => (free.includes(headingOf(name)) ? undefined : `expected one of ${free.join(", ")}`),
  });
  if (answer !== undefined) columns.set("operation", headingOf(answer));
}

/** A heading; of a column without one the form of its first value, since the value may be a patient's. */
function shownColumn(table: CsvTable, column: string): string {
  if (table.hasHeader) return column;
  const [value = ""] = valuesOf(table, column);
  const form = value.slice(0, 20).replace(/\p{L}/gu, "A").replace(/\d/g, "9");
  return `${column} (${form === "" ? "empty" : form})`;
}

async function datesOf(
  table: CsvTable,
  column: string | undefined,
  { dateFormats }: Given,
  questions: Questions,
): Promise<readonly string[]> {
  if (column === undefined || dateFormats.length > 0) return dateFormats;
  const guess = guessDateFormats(valuesOf(table, column));
  if (guess.kind === "known") return guess.formats;
  if (guess.kind === "none") return [];
  const answer = await questions.ask({
    text: `How are dates in column ${column} written? ${guess.among.join(" or ")}:`,
    flag: `--date-format ${guess.among.join(" or ")}`,
    trouble: (format) => (guess.among.includes(format) ? undefined : `expected ${guess.among.join(" or ")}`),
  });
  return answer === undefined ? [] : [answer];
}

function draftOf(
  table: CsvTable,
  byMeaning: ReadonlyMap<Meaning, string>,
  dates: readonly string[],
  given: Given,
): Draft {
  const { hasHeader, skipLines, delimiter } = table;
  const nameByColumn = new Map([...byMeaning].map(([meaning, column]) => [column, meaning]));
  // Without a line of headings the profile names the columns.
  const nameOf = (column: string) => (hasHeader ? column : (nameByColumn.get(column) ?? `column_${column}`));
  const at = (meaning: Meaning) => {
    const column = byMeaning.get(meaning);
    return column === undefined ? undefined : nameOf(column);
  };
  // Where the profile names the columns, a value that has none must not be looked for.
  const optional = (meaning: Meaning) => at(meaning) ?? (hasHeader ? undefined : { value: "" });
  const codesIn = (meaning: Meaning) => [...new Set(valuesOf(table, byMeaning.get(meaning) ?? ""))];
  const label = byMeaning.get("container_label");
  const separator = label === undefined ? undefined : separatorIn(valuesOf(table, label));
  const [operation, facility, fullName] = [at("operation"), at("facility"), at("full_name")];
  const isSplit =
    fullName !== undefined &&
    valuesOf(table, byMeaning.get("full_name") ?? "").every((name) => /^[^,]+,[^,]+$/.test(name));
  const names = isSplit
    ? {
        lastName: { from: fullName, as: [{ regex: { match: "^([^,]*),.*$", replace: "$1" } }] },
        firstName: { from: fullName, as: [{ regex: { match: "^[^,]*, *(.*)$", replace: "$1" } }] },
      }
    : onlyGiven({ firstName: optional("first_name"), lastName: optional("last_name") });
  const constant = given.everyOperation;
  const last = table.closing && trailerOf(table.closing, table.linesAbove);
  const definition = onlyGiven({
    extends: "builtin/csv-orders",
    delimiter: delimiter === "\t" ? ("tab" as const) : (delimiter as "," | ";" | "|"),
    header: hasHeader ? undefined : table.columns.map(nameOf),
    skipLines: skipLines > 0 ? skipLines : undefined,
    noRow: table.remarks.length > 0 ? [...table.remarks] : undefined,
    trailer: last,
    encoding: given.encoding,
    dateFormats: dates.length > 0 ? [...dates] : undefined,
    placerOrderNumber: at("order_number"),
    operation: constant !== undefined && operation === undefined ? { value: constant } : operation,
    facility,
    subject: onlyGiven({ code: at("subject_code"), ...names, dateOfBirth: optional("date_of_birth") }),
    containers: onlyGiven({
      label:
        separator === undefined ? at("container_label") : { from: at("container_label"), split: separator },
      description: optional("container_description"),
    }),
    results: hasHeader ? { columns: resultColumns(at) } : undefined,
  }) as ProfileDefinition;
  return {
    definition,
    tail: tailOf(table, byMeaning, last),
    comments: commentsOf(table, dates),
    findings: findingsOf(table, byMeaning, { nameOf, dates, trailer: last, encoding: given.encoding }),
    codes: { operations: codesIn("operation"), facilities: codesIn("facility") },
    lacksFacility: facility === undefined,
  };
}

/** The columns of the results, each under the lab's own heading for it where no other one has that. */
function resultColumns(at: (meaning: Meaning) => string | undefined): (string | Record<string, string>)[] {
  const taken = new Set<string>(csvResultColumns);
  return csvResultColumns.map((column) => {
    const heading = OWN_RESULTS.has(column) ? at(column as Meaning) : undefined;
    if (heading === undefined || taken.has(heading)) return column;
    taken.add(heading);
    return { [column]: heading };
  });
}

/** What results repeat of an order. */
const OWN_RESULTS: ReadonlySet<string> = new Set<Meaning>([
  "order_number",
  "operation",
  "subject_code",
  "container_label",
]);

/**
 * The same profile, whose results have the lab's own words for operations. Where the sample shows several for one, which may differ
 * in what they mean to the lab, ours stays.
 */
export function withResultWords(
  definition: ProfileDefinition,
  operations: ReadonlyMap<string, RowOperation>,
): ProfileDefinition {
  const { results } = definition;
  const words = Object.groupBy(operations, ([, operation]) => operation);
  const own = Object.entries(words).flatMap(([operation, [first, ...others]]) =>
    first === undefined ? [] : [[operation, others.length > 0 ? operation : first[0]] as const],
  );
  if (results === undefined || own.every(([operation, word]) => operation === word)) return definition;
  return { ...definition, results: { ...results, words: { operation: Object.fromEntries(own) } } };
}

/** What the sample may want and nobody but a person knows, as comments. */
function tailOf(
  table: CsvTable,
  byMeaning: ReadonlyMap<Meaning, string>,
  trailer: ProfileDefinition["trailer"],
): string[] {
  const { rows, lastLine, characters } = table;
  const isOther = (row: ReadonlyMap<string, string>) => !isOrderRow(row, byMeaning);
  const isLast = trailer === undefined && lastLine?.values !== undefined && isOther(lastLine.values);
  const others = rows.filter(isOther).length;
  return [
    ...(others > 0
      ? [
          'noRow: ["BEGINNING.*"] # passes over lines that are no orders and begin like this; the sample has such',
        ]
      : []),
    ...(isLast
      ? [
          'trailer: { line: "BEGINNING.*" } # where each file ends with such a line: one without it may be cut, and is refused whole',
        ]
      : []),
    ...(characters === undefined
      ? []
      : [`encoding: ${characters} # as the sample is; without this line it is found in each file`]),
  ];
}

/** What stands between labels of one cell, where some cells have several. */
function separatorIn(labels: readonly string[]): string | undefined {
  return ["|", ";"].find((separator) =>
    labels.some((text) => text.split(separator).filter((part) => part.trim()).length > 1),
  );
}

function commentsOf({ hasHeader }: CsvTable, dates: readonly string[]): ReadonlyMap<string, string> {
  return new Map([
    ["delimiter", "what separates the columns; auto finds it in the first line of each file"],
    ["header", "the columns in their order; the files have no line of headings"],
    ["skipLines", "lines above the headings"],
    ["noRow", "remarks, which are passed over"],
    ["trailer", "the last line of each file; one without it may be cut, and is refused whole"],
    ["encoding", "of the files; without this line it is found in each file: UTF-8 or Windows-1252"],
    ["dateFormats", dates.length > 0 ? "how dates are written in the sample" : "how dates are written"],
    [
      "placerOrderNumber",
      `${hasHeader ? "the column with " : ""}the order number; rows with one number are one order`,
    ],
    ["operation", "what is to be done, and the lab's words for it"],
    ["facility", "where; a name under `facilities` of the configuration"],
    ["subject.code", "the patient's or donor's number"],
    ["containers.label", "one label for each container"],
    [
      "results",
      "the columns of what goes back, under the lab's own headings; docs/guide/mapping-cookbook.md has more",
    ],
  ]);
}

/** A row without any of them is a unit, a total or a remark. */
const MARKS = ["operation", "subject_code", "container_label"] as const;

function isOrderRow(row: ReadonlyMap<string, string>, byMeaning: ReadonlyMap<Meaning, string>): boolean {
  return MARKS.some((meaning) => row.get(byMeaning.get(meaning) ?? "")?.trim());
}

function findingsOf(
  table: CsvTable,
  byMeaning: ReadonlyMap<Meaning, string>,
  {
    nameOf,
    dates,
    trailer,
    encoding,
  }: {
    readonly nameOf: (column: string) => string;
    readonly dates: readonly string[];
    readonly trailer: ProfileDefinition["trailer"];
    readonly encoding: string | undefined;
  },
): string[] {
  const { hasHeader, headingLine, delimiter, characters, columns, rows, remarks } = table;
  const used = new Set(byMeaning.values());
  const unused = columns.filter((column) => !used.has(column));
  const others = rows.filter((row) => !isOrderRow(row, byMeaning)).length;
  return [
    [
      `CSV: ${columns.length} columns between ${delimiterName(delimiter)}`,
      `${rows.length} rows`,
      hasHeader ? `headings in line ${headingLine}` : "no headings",
      ...[encoding, characters && `${characters} in this sample`].filter((words) => words !== undefined),
    ].join(", "),
    ...[...byMeaning].map(([meaning, column]) => `${meaning}: column ${hasHeader ? nameOf(column) : column}`),
    ...(dates.length > 0 ? [`dates: ${dates.join(", ")}`] : []),
    ...(remarks.length > 0
      ? [`remarks, passed over by noRow: ${remarks.join(", ")}; see that no order ever begins so`]
      : []),
    ...(trailer === undefined
      ? []
      : [
          `last line, named as trailer${trailer.count === undefined ? "" : " with the number of rows"}: a file without it is refused, since it may be cut; leave trailer out where not each file ends so`,
        ]),
    ...(others > 0
      ? [
          `${counted(others, "row")} without ${MARKS.join(", ")}: name such lines in noRow of the profile, unless they are orders`,
        ]
      : []),
    ...(unused.length > 0 ? [`not read: ${unused.join(", ")}`] : []),
  ];
}
