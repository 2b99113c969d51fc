import type { Problem } from "../../core/failures.ts";
import { compileBoundedRegex, REGEX_MAX_RESULT_LENGTH, REGEX_MAX_VALUE_LENGTH } from "./bounded-regex.ts";
import type { TransformDefinition } from "./transform-schema.ts";

/** What a transform makes of a value: the new one, or what is wrong, in words that do not repeat it. */
type Transformed =
  | string
  | (Omit<Problem, "place"> & {
      /** The pattern that it does not match, for operators: a lab is sent what was expected in words. */
      readonly pattern?: string;
    });

/** One compiled step of a pipeline. */
export type Transform = (value: string) => Transformed;

export interface TransformSettings {
  /** The profile's `dateFormats`; without them `date` reads HL7 and ISO dates. */
  readonly dateFormats?: readonly string[] | undefined;
  /** Whether an error may quote the value: true for codes (operation, facility), false for what may be a patient's. */
  readonly mayQuote: boolean;
  /** The table of the shipped profile below. */
  readonly shipped?: Readonly<Record<string, string | null>> | undefined;
  /** Receives, in words, each mistake of the definition. */
  readonly complain: (trouble: string) => void;
}

/** Compiles one step. Mistakes of the definition go to `complain`; the step then passes values through. */
export function compileTransform(definition: TransformDefinition, settings: TransformSettings): Transform {
  if (typeof definition === "string") {
    if (definition === "date") return dateTransform(settings.dateFormats, settings);
    return PLAIN[definition];
  }
  if ("date" in definition) return dateTransform([definition.date].flat(), settings);
  if ("pad" in definition) return padTransform(definition.pad);
  if ("regex" in definition) return regexTransform(definition.regex, settings);
  if ("table" in definition) return tableTransform(definition, settings);
  if ("prefix" in definition) {
    const { prefix } = definition;
    return (value) => (value.startsWith(prefix) ? value : prefix + value);
  }
  if ("suffix" in definition) {
    const { suffix } = definition;
    return (value) => (value.endsWith(suffix) ? value : value + suffix);
  }
  return decimalTransform(definition.decimal);
}

const PLAIN: Readonly<Record<"trim" | "upper" | "lower" | "collapse" | "digits", Transform>> = {
  trim: (value) => value.trim(),
  upper: (value) => value.toUpperCase(),
  lower: (value) => value.toLowerCase(),
  collapse: (value) => value.trim().replace(/\s\s+|[^\S ]/g, " "),
  digits: (value) => value.replace(/[^0-9]/g, ""),
};

/** One transform with settings, as a profile writes it. */
type Written<Key extends string> = Extract<TransformDefinition, Readonly<Record<Key, unknown>>>;

/** The steps that a value of a profile goes through: its transforms, then its table. */
export function compilePipeline(
  {
    as = [],
    table,
    caseSensitive,
  }: {
    readonly as?: TransformDefinition | readonly TransformDefinition[] | undefined;
    readonly table?: Readonly<Record<string, string>> | undefined;
    readonly caseSensitive?: boolean | undefined;
  },
  settings: TransformSettings,
): Transform[] {
  const steps = [as].flat().map((step) => compileTransform(step, settings));
  if (table !== undefined) steps.push(tableTransform({ table, caseSensitive }, settings));
  else if (caseSensitive !== undefined)
    settings.complain("caseSensitive is for a table; expected table beside it");
  return steps;
}

/** What two codes have in common that are one code to a table. */
export function tableKey(code: string, caseSensitive: boolean | undefined): string {
  const plain = code.trim().normalize("NFC");
  // In capitals first, so that ß is SS whoever wrote it.
  return caseSensitive === true ? plain : plain.toUpperCase().toLowerCase();
}

/**
 * Translates by a table; a value that is not listed is an error that names the known ones. A shipped code is among them only
 * where the site has none of its own for the same.
 */
export function tableTransform(
  { table, caseSensitive }: Written<"table">,
  settings: Pick<TransformSettings, "mayQuote" | "shipped" | "complain">,
): Transform {
  const byCode = new Map<string, string>();
  const codeByKey = new Map<string, string>();
  for (const [code, translated] of Object.entries(table)) {
    const key = tableKey(code, caseSensitive);
    const before = byCode.get(key);
    if (before !== undefined && before !== translated) {
      const how = caseSensitive === true ? "blanks around them" : "case";
      const remedy = caseSensitive === true ? "" : ", or caseSensitive: true beside the table";
      settings.complain(
        `${codeByKey.get(key)} and ${code} of the table differ only in ${how}; expected one of them${remedy}`,
      );
    }
    byCode.set(key, translated);
    codeByKey.set(key, code);
  }
  const isShipped = (code: string) => settings.shipped?.[code] === table[code];
  const ownValues = new Set(Object.keys(table).flatMap((code) => (isShipped(code) ? [] : [table[code]])));
  const known = Object.keys(table)
    .filter((code) => !isShipped(code) || !ownValues.has(table[code]))
    .map((code) => code.trim());
  // Nearly every code is written as the table has it, and a file may have a million.
  const asWritten = new Map(Object.entries(table));
  return (value) => {
    const translated = asWritten.get(value) ?? byCode.get(tableKey(value, caseSensitive));
    if (translated !== undefined) return translated;
    const holds = settings.mayQuote ? `holds ${quote(value)}` : "holds an unknown code";
    const near = settings.mayQuote ? nearInCase(value, asWritten.keys()) : "";
    const message = `${holds}, expected one of ${known.join(", ")}${near}`;
    return { code: "MAPPING_CODE_UNKNOWN", message, expected: known };
  };
}

/** Which of the known codes it is but for upper and lower case, for the end of a sentence. */
export function nearInCase(code: string, known: Iterable<string>): string {
  const near = [...known].find((each) => tableKey(each, false) === tableKey(code, false));
  return near === undefined ? "" : `; ${near.trim()} differs only in case`;
}

/** A code as error messages quote it, cut where it is longer than any code is. */
export function quote(code: string): string {
  // Never through the middle of a character of two units.
  const shown = code.length > 40 ? `${code.slice(0, 40).replace(/[\ud800-\udbff]$/, "")}…` : code;
  return `"${shown.replace(/\p{Cc}/gu, " ")}"`;
}

function dateTransform(formats: readonly string[] | undefined, settings: TransformSettings): Transform {
  if (formats === undefined) return standardDate;
  const compiled: DateFormat[] = [];
  for (const format of formats) {
    const result = compileDateFormat(format);
    if (typeof result === "string") settings.complain(result);
    else compiled.push(result);
  }
  const clash = formats.flatMap((one, i) =>
    formats.slice(i + 1).flatMap((other) => (areAmbiguous(one, other) ? [`${one} and ${other}`] : [])),
  );
  const written = formats.map((each) => (each === "excel" ? "Excel's serial number" : each)).join(" or ");
  const shown = formats.map((each) => (each === "excel" ? "Excel" : each));
  for (const pair of clash) settings.complain(`date formats ${pair} read the same text as different days`);
  return (value) => {
    for (const { parse } of compiled) {
      const date = parse(value.trim());
      if (date !== undefined) return date;
    }
    const partial = formats.every((format) => format.startsWith("yyyy"))
      ? partOfDate(value.trim())
      : undefined;
    return partial === undefined
      ? {
          code: "MAPPING_DATE_INVALID",
          message: `expected a day that exists, written as ${written}`,
          expected: shown,
        }
      : {
          code: "MAPPING_DATE_INVALID",
          message: `${partial}, expected a full date as ${written}`,
          expected: shown,
          hint: WHOLE_DATE,
        };
  };
}

const standardDate: Transform = (value) => {
  const result = parseStandardDate(value.trim());
  if (typeof result === "string") return result;
  return {
    code: "MAPPING_DATE_INVALID",
    message: `${result.message}, expected a full date as YYYYMMDD or YYYY-MM-DD`,
    expected: ["YYYYMMDD", "YYYY-MM-DD"],
    ...(partOfDate(value.trim()) === undefined ? {} : { hint: WHOLE_DATE }),
  };
};

/** No form that the profile could name makes up for a day that is missing. */
const WHOLE_DATE = "Have the lab send the whole date, with year, month and day: none is filled up.";

/** What a date without a day has, in words; undefined for anything else. */
function partOfDate(text: string): string | undefined {
  if (!/^\d{4}(?:-?\d{2})?$/.test(text)) return undefined;
  const result = parseStandardDate(text);
  return typeof result === "object" && result.isPart === true ? result.message : undefined;
}

function padTransform({ length, with: filler = "0", side = "left" }: Written<"pad">["pad"]): Transform {
  return (value) => (side === "left" ? value.padStart(length, filler) : value.padEnd(length, filler));
}

function regexTransform(
  { match, replace, expected }: Written<"regex">["regex"],
  settings: TransformSettings,
): Transform {
  const pattern = compileBoundedRegex(match);
  if (typeof pattern === "string") {
    settings.complain(pattern);
    return (value) => value;
  }
  return (value) => {
    if (value.length > REGEX_MAX_VALUE_LENGTH) {
      return {
        code: "MAPPING_VALUE_INVALID",
        message: `is longer than ${REGEX_MAX_VALUE_LENGTH} characters`,
      };
    }
    if (!pattern.test(value)) {
      const message =
        expected === undefined
          ? "does not have the expected form"
          : `does not have the expected form: ${expected}`;
      const shown = expected === undefined ? {} : { expected: [expected] };
      return { code: "MAPPING_VALUE_INVALID", message, ...shown, pattern: match };
    }
    const result = value.replace(pattern, replace);
    if (result.length <= REGEX_MAX_RESULT_LENGTH) return result;
    return {
      code: "MAPPING_VALUE_INVALID",
      message: `becomes too long, expected at most ${REGEX_MAX_RESULT_LENGTH} characters`,
      pattern: match,
    };
  };
}

function decimalTransform(sign: "," | "."): Transform {
  return (value) => {
    const text = value.trim();
    const isNumber = sign === "," ? /^[+-]?\d+(?:,\d+)?$/ : /^[+-]?\d+(?:\.\d+)?$/;
    if (isNumber.test(text)) return text.replace(",", ".");
    return { code: "MAPPING_VALUE_INVALID", message: `is no number with "${sign}" as its decimal sign` };
  };
}

/** Reads a date written in one format; undefined when the text is not written that way or is no real date. */
interface DateFormat {
  readonly format: string;
  parse(text: string): string | undefined;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** What each token of a format matches. Times are read past: only the date part counts, without any shift of zone. */
const TOKENS: Readonly<Record<string, string>> = {
  yyyy: "(?<year>\\d{4})",
  MMM: "(?<name>[A-Za-z]{3})",
  MM: "(?<month>\\d{2})",
  M: "(?<month>\\d{1,2})",
  dd: "(?<day>\\d{2})",
  d: "(?<day>\\d{1,2})",
  HH: "\\d{2}",
  H: "\\d{1,2}",
  mm: "\\d{2}",
  ss: "\\d{2}",
};

/** Days from Excel's day 1 (1900-01-01) to the Unix epoch, from serial 61 on: Excel counts a 29 February 1900 that never was. */
const EXCEL_EPOCH_DAY = 25_569;

/**
 * Compiles a date format: `yyyy`, `MM`, `M`, `MMM` (Jan to Dec, any case), `dd`, `d`, with `HH`, `H`, `mm`, `ss` read
 * past; every other character stands for itself. `excel` is a spreadsheet's day number (1900 system).
 * Returns words when the format lacks year, month or day, or has a year of two digits (whose century nobody knows).
 */
export function compileDateFormat(format: string): DateFormat | string {
  if (format === "excel") return { format, parse: parseExcelDay };
  const tokens = format.match(/yyyy|MMM|MM|M|dd|d|HH|H|mm|ss|./gs) ?? [];
  if (/(?<!y)y{1,3}(?!y)/.test(format)) return `date format ${format}: write the year as yyyy`;
  for (const [needed, shown] of [
    ["y", "yyyy"],
    ["M", "MM, M or MMM"],
    ["d", "dd or d"],
  ] as const) {
    if (tokens.filter((token) => token in TOKENS && token.startsWith(needed)).length !== 1) {
      return `date format ${format}: expected exactly one of ${shown}`;
    }
  }
  const escaped = tokens.map((token) => TOKENS[token] ?? token.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const pattern = new RegExp(`^${escaped.join("")}$`);
  return {
    format,
    parse: (text) => {
      const parts = pattern.exec(text)?.groups;
      if (parts === undefined) return undefined;
      const month =
        parts.name === undefined ? Number(parts.month) : MONTHS.indexOf(parts.name.toLowerCase()) + 1;
      return formatRealDate(Number(parts.year), month, Number(parts.day));
    },
  };
}

/**
 * Whether two formats read the same text as different days, as `dd/MM/yyyy` and `MM/dd/yyyy` do; a list with both
 * would make a patient's birth date a matter of order.
 */
export function areAmbiguous(one: string, other: string): boolean {
  const shape = (format: string) => format.replace(/MMM/g, "N").replace(/[yMd]+/g, "#");
  const sequence = (format: string) =>
    format
      .replace(/MMM/g, "")
      .replace(/[^yMd]/g, "")
      .replace(/(.)\1*/g, "$1");
  const swapped = sequence(other).replace(/[Md]/g, (letter) => (letter === "M" ? "d" : "M"));
  return shape(one) === shape(other) && sequence(one) === swapped;
}

/**
 * The first year that counts as real. Nobody whose samples are stored was born before, and it keeps `yyyyMMdd` and
 * `ddMMyyyy` apart: the one read as the other gives a month above 12 or a year below this.
 */
const FIRST_YEAR = 1800;

/** `YYYY-MM-DD` when such a day exists in the Gregorian calendar, from year 1800 on. */
function formatRealDate(year: number, month: number, day: number): string | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  const isReal =
    date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isReal && year >= FIRST_YEAR ? date.toISOString().slice(0, 10) : undefined;
}

function parseExcelDay(text: string): string | undefined {
  if (!/^\d{1,5}(?:\.0+)?$/.test(text)) return undefined;
  const serial = Math.trunc(Number(text));
  if (serial < 1 || serial === 60) return undefined;
  const days = serial - EXCEL_EPOCH_DAY + (serial < 60 ? 1 : 0);
  return new Date(days * 86_400_000).toISOString().slice(0, 10);
}

const ISO_DATE =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}(?::\d{2}){1,2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** `YYYY[MM[DD[HH[MM[SS[.S…]]]]]][+/-ZZZZ]`, HL7 chapter 2A. */
const HL7_DATE =
  /^(\d{4})(?:(\d\d)(?:(\d\d)(?:(?:[01]\d|2[0-3])(?:[0-5]\d(?:[0-5]\d(?:\.\d{1,4})?)?)?)?)?)?(?:[+-](?:0\d|1[0-4])[0-5]\d)?$/;

/**
 * The date part of an HL7 date (`YYYYMMDD`, with or without time and zone) or of an ISO 8601 one as `YYYY-MM-DD`, taken
 * as written, with no shift of zone. Otherwise, in words that do not repeat the value, why not: a partial date (`1980`,
 * `198005`) is never filled up, since nobody was born on an invented day.
 */
export function parseStandardDate(
  text: string,
): string | { readonly message: string; readonly isPart?: true } {
  const iso = ISO_DATE.exec(text);
  const [, year, month, day] = iso ?? HL7_DATE.exec(text) ?? [];
  if (day !== undefined) {
    const date = formatRealDate(Number(year), Number(month), Number(day));
    if (date !== undefined) return date;
  } else if (Number(year) > 0) {
    if (month === undefined) return { message: "has only a year", isPart: true };
    if (Number(month) >= 1 && Number(month) <= 12) return { message: PART_OF_DATE, isPart: true };
  }
  if (/^\d{4}-\d{2}$/.test(text)) return { message: PART_OF_DATE, isPart: true };
  if (iso !== null || /^\d{8}/.test(text)) return { message: "is a day or time that does not exist" };
  return { message: "is not written as a date" };
}

const PART_OF_DATE = "has only a year and a month";
