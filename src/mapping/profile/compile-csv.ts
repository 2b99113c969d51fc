import { asFailure, Failure } from "../../core/failures.ts";
import type { CsvRow, RowIdentity } from "../../core/intake.ts";
import type { CsvReading, CsvTotal } from "../../formats/csv/dialect.ts";
import { headingOf } from "../../formats/csv/headings.ts";
import { isInRow, readCode, readRow } from "../inbound/csv-values.ts";
import { compileCsvResults } from "./compile-results.ts";
import { compileRules } from "./compile-rules.ts";
import { controlOfRow } from "./message-type.ts";
import { settingOf } from "./misread.ts";
import { isOperation } from "./operations.ts";
import type { CsvProfile, OrderRules, ProfileBase } from "./profile.ts";
import {
  csvSettings,
  hl7Settings,
  orderValues,
  type ProfileDefinition,
  type ValueDefinition,
} from "./schema.ts";
import { type Complain, compileSettings, refuseForeign } from "./settings.ts";
import { type CompileSettings, compileValue, type ValueRule } from "./value.ts";

/** The part of a profile that CSV files are read by. Mistakes go to `complain`. */
export function compileCsv(
  whole: ProfileDefinition,
  complain: Complain,
): () => Omit<CsvProfile, keyof ProfileBase> {
  const results = compileCsvResults(whole, (place, message) => complain(`results.${place}`, message));
  refuseForeign({ ...csvSettings, ...orderValues }, hl7Settings, whole, "HL7", complain);
  if (whole.containers?.each !== undefined)
    complain("containers.each", "is for HL7 profiles; a row is one container");
  if (whole.subject?.priorCode !== undefined) complain("subject.priorCode", "is for HL7 profiles");
  const settings = compileSettings(csvSettings, whole, complain);
  const { header, dateFormats, trailer } = settings;
  const isFilled = settings.shortRows === "fill";
  if (isFilled && header !== true)
    complain("shortRows", "fill is for files whose first line names the columns (header: true)");
  const csv = {
    parsePlace: (text: string) => requireColumn(text, header),
    spotOf: (column: string) => ({ column }),
    dateFormats,
  };
  const rules = compileRules<string>(whole, { ...csv, areAllPartsNeeded: true }, complain);
  checkGroupBy(whole, rules, header, complain);
  const sum = compileSum(whole.trailer?.sum, csv, complain);
  const requiredColumns = [...listRequiredColumns(rules), ...(sum === undefined ? [] : columnsNeeded(sum))];
  return () => ({
    format: "csv",
    results,
    rules,
    reading: {
      ...settings,
      identify: (values) => identifyRow(values, rules),
      numberColumns: listColumns(rules.placerOrderNumber),
      operationColumns: listOperationColumns(rules),
      requiredColumns,
      optionalColumns: listOptionalColumns(rules),
      wholeColumns: listWholeColumns(rules),
      neverShort: isFilled ? requiredColumns.flat() : undefined,
      trailer: trailer && { ...trailer, sum: sum && totalOf(sum, trailer.sumGroup) },
      controlListLacks: listControlLacks(rules),
      settingFor: (column, heading) => {
        const name = valueOfColumn(column, rules);
        return name && settingOf(name, JSON.stringify(heading));
      },
    },
  });
}

/**
 * Rows are put together by their order number. A profile may still name the column; another one would tear an order apart,
 * so that a part of its containers went out alone.
 */
function checkGroupBy(
  { groupBy }: ProfileDefinition,
  rules: OrderRules<string>,
  header: boolean | readonly string[],
  complain: Complain,
): void {
  if (groupBy === undefined) return;
  let column: string;
  try {
    column = requireColumn(groupBy, header);
  } catch (error) {
    complain("groupBy", asFailure(error).message);
    return;
  }
  const columns = listColumns(rules.placerOrderNumber);
  if (columns.length === 0 || columns.includes(column)) return;
  complain(
    "groupBy",
    `${groupBy} is not where placerOrderNumber is read from (${columns.join(", ")}); rows with one order number are one order: name that column, or leave groupBy out`,
  );
}

/** What a total adds up: a value like any other, so that the site's transforms make numbers of `12 Stk` too. */
function compileSum(
  definition: ValueDefinition | undefined,
  settings: Pick<CompileSettings<string>, "parsePlace" | "spotOf" | "dateFormats">,
  complain: Complain,
): ValueRule<string> | undefined {
  if (definition === undefined) return undefined;
  const place = "trailer.sum";
  const rule = compileValue(definition, {
    ...settings,
    mayQuote: false,
    complain: (trouble) => complain(place, trouble),
  });
  const [column, ...more] = listColumns(rule);
  if (column === undefined || more.length > 0) complain(place, "expected one column, whose values are added");
  return rule;
}

function totalOf(rule: ValueRule<string>, group: number | undefined): CsvTotal {
  const textOf = (values: ReadonlyMap<string, string>) => {
    const reading = readRow(rule, { line: 0, values });
    if (reading.status === "bad") return undefined;
    return reading.status === "found" ? reading.value : "";
  };
  return { column: listColumns(rule)[0] ?? "", group, textOf };
}

/** The columns that a value is read from. */
function listColumns(rule: ValueRule<string>): string[] {
  return rule.sources.flatMap(columnsOfSource);
}

function columnsOfSource(source: ValueRule<string>["sources"][number]): string[] {
  return source.kind === "place" ? [source.path, ...(source.joined?.paths ?? [])] : [];
}

/** Columns of values that an order may lack. A constant in the list makes up for a missing column of any name. */
function listOptionalColumns({ subject, containers }: OrderRules<string>): string[][] {
  const rules = [subject.firstName, subject.lastName, subject.dateOfBirth, containers.description];
  return rules.map(listColumns).filter((columns) => columns.length > 0);
}

/** The beginning of an operation code is no code, and that of a description does no harm. */
function listWholeColumns(rules: OrderRules<string>): string[] {
  const { facility, placerOrderNumber, subject, containers } = rules;
  const { code, firstName, lastName, dateOfBirth } = subject;
  return [facility, placerOrderNumber, code, firstName, lastName, dateOfBirth, containers.label].flatMap(
    listColumns,
  );
}

/** Columns of values that every order needs; a list of places needs only one of its columns. */
function listRequiredColumns(rules: OrderRules<string>): string[][] {
  const [operation] = rules.operation.sources;
  const isRegistration = operation?.kind === "constant" && operation.value === "REGISTER";
  const ofOrder = isRegistration ? [] : columnsNeeded(rules.placerOrderNumber);
  const ofContainers = isRegistration ? [] : labelColumns(rules.containers.label);
  const { code, firstName, lastName, dateOfBirth } = rules.subject;
  const required = [firstName, lastName, dateOfBirth, rules.containers.description].filter(
    ({ isRequired }) => isRequired,
  );
  const needed = [rules.operation, rules.facility, code, ...required];
  return [...needed.flatMap(columnsNeeded), ...ofOrder, ...ofContainers];
}

/** The columns that a value needs, each entry with its alternatives; none when it can come from elsewhere. */
function columnsNeeded({ sources, fallback }: ValueRule<string>): string[][] {
  const places = sources.filter(({ kind }) => kind === "place");
  if (fallback !== undefined || places.length < sources.length || places.length === 0) return [];
  const [only, ...others] = places.map(columnsOfSource);
  // Of several places one is enough, whatever the others are joined of.
  if (others.length > 0) return [[only, ...others].flatMap((columns) => columns?.slice(0, 1) ?? [])];
  return only?.map((column) => [column]) ?? [];
}

/** Where each column may name a container, a missing one would leave out what it was to name. */
function labelColumns(label: ValueRule<string>): string[][] {
  return label.every === true ? listColumns(label).map((column) => [column]) : columnsNeeded(label);
}

/** The columns of operations; none where a row may have its operation from elsewhere. */
function listOperationColumns({ operation }: OrderRules<string>): string[] {
  return columnsNeeded(operation).flat();
}

/** The value of the profile that is read from this column and no other; undefined where there is none, or several. */
function valueOfColumn(column: string, rules: OrderRules<string>): string | undefined {
  const { subject, containers, ...others } = rules;
  const all = [...Object.values(others), ...Object.values(subject), ...Object.values(containers)];
  const [rule, ...more] = all.filter((each) => listColumns(each).includes(column));
  const isAlone = more.length === 0 && rule?.sources.length === 1 && listColumns(rule).length === 1;
  return isAlone ? rule.name : undefined;
}

/** What a file without any order need not have; undefined where every row has the same operation. */
function listControlLacks(rules: OrderRules<string>): CsvReading["controlListLacks"] {
  if (!rules.operation.sources.some(({ kind }) => kind === "place")) return undefined;
  return {
    all: columnsNeeded(rules.facility).concat(labelColumns(rules.containers.label)),
    any: columnsNeeded(rules.subject.code),
  };
}

function requireColumn(text: string, header: boolean | readonly string[]): string {
  const name = headingOf(text);
  if (header === true) return name;
  if (header === false) {
    if (/^[1-9]\d{0,3}$/.test(name)) return name;
    throw new Failure(
      "CONFIG_INVALID",
      `${name}: without a header line columns are called 1, 2, 3 and so on`,
    );
  }
  if (header.includes(name)) return name;
  throw new Failure("CONFIG_INVALID", `${name} is not among the columns that header lists`);
}

/**
 * Says which order a row belongs to, by the same rules by which the order is read: rows that are put together by anything
 * else could become two orders with one number, each with a part of the containers. Each answer is found when it is asked
 * for, since there may be a million rows.
 *
 * @param values by column name; a column that isn't there has no value
 */
function identifyRow(values: ReadonlyMap<string, string>, rules: OrderRules<string>): RowIdentity {
  const row: CsvRow = { line: 0, values };
  const operation = () => {
    const reading = readRow(rules.operation, row);
    return reading.status === "found" ? reading.value : "";
  };
  const hasOperation = (word: string) => isOperation(word) || controlOfRow(word) !== undefined;
  const orderNumber = () => {
    const number = readCode(rules.placerOrderNumber, row);
    if (number.status === "bad") return withoutUnseen(asItStands(rules, values).replace(MARKS, ""));
    return number.status === "found" && isInRow(number) ? withoutUnseen(number.value) : "";
  };
  return {
    get orderNumber() {
      return orderNumber();
    },
    get needsNumber() {
      if (operation() === "REGISTER") return false;
      const number = readCode(rules.placerOrderNumber, row);
      return number.status !== "found" || isInRow(number);
    },
    get subjectCode() {
      const subject = readCode(rules.subject.code, row);
      return subject.status === "found" ? subject.value : "";
    },
    get isControl() {
      return controlOfRow(operation()) !== undefined;
    },
    get hasOperation() {
      return hasOperation(operation());
    },
    get isOrder() {
      const reading = readRow(rules.operation, row);
      const isOwn = reading.status === "found" && isInRow(reading) && hasOperation(reading.value);
      return isOwn && orderNumber() !== "";
    },
  };
}

/** What a spreadsheet or an export puts around a number; the row is refused, and with it the order that it belongs to. */
const MARKS = /^[='"`´‘’‚‛“”„‟«»‹›\s]+|[.,]0+$|['"`´‘’‚‛“”„‟«»‹›\s]+$/gu;

/** So that a row whose number looks like that of others is taken for one of theirs, and refuses them. */
function withoutUnseen(number: string): string {
  return /^[!-~]*$/.test(number)
    ? number
    : number
        .replace(/[\p{Cf}\p{Cc}]/gu, "")
        .replace(/\p{Z}+/gu, " ")
        .trim();
}

function asItStands(rules: OrderRules<string>, values: ReadonlyMap<string, string>): string {
  for (const source of rules.placerOrderNumber.sources) {
    const value = source.kind === "place" ? (values.get(source.path)?.trim() ?? "") : "";
    if (value !== "") return value;
  }
  return "";
}
