import type { FailureCode } from "../../core/failures.ts";
import { compileBoundedRegex, REGEX_MAX_RESULT_LENGTH, REGEX_MAX_VALUE_LENGTH } from "./bounded-regex.ts";
import { areAmbiguous, compileDateFormat, type DateFormat, parseStandardDate } from "./date-format.ts";
import type { TransformDefinition } from "./transform-schema.ts";

/** What a transform makes of a value: the new one, or what is wrong, in words that do not repeat it. */
export type Transformed = string | { readonly code: FailureCode; readonly trouble: string };

/** One compiled step of a pipeline. */
export type Transform = (value: string) => Transformed;

export interface TransformSettings {
  /** The profile's `dateFormats`; without them `date` reads HL7 and ISO dates. */
  readonly dateFormats?: readonly string[] | undefined;
  /** Whether an error may quote the value: true for codes (operation, facility), false for what may be a patient's. */
  readonly mayQuote: boolean;
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
  if ("table" in definition) return tableTransform(definition.table, settings);
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

/** Translates by a table; a value that is not listed is an error that names the known ones. */
export function tableTransform(
  table: Readonly<Record<string, string>>,
  settings: Pick<TransformSettings, "mayQuote">,
): Transform {
  const byCode = new Map(Object.entries(table));
  const known = [...byCode.keys()].join(", ");
  return (value) => {
    const translated = byCode.get(value);
    if (translated !== undefined) return translated;
    const holds = settings.mayQuote ? `holds ${quote(value)}` : "holds a value that is not in the table";
    return { code: "MAPPING_CODE_UNKNOWN", trouble: `${holds}, expected one of ${known}` };
  };
}

/** A code as error messages quote it, cut where it is longer than any code is. */
export function quote(code: string): string {
  const clean = code.replace(/\p{Cc}/gu, " ");
  // Never through the middle of a character of two units.
  return clean.length > 40 ? `"${clean.slice(0, 40).replace(/[\ud800-\udbff]$/, "")}…"` : `"${clean}"`;
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
  for (const pair of clash) settings.complain(`date formats ${pair} read the same text as different days`);
  return (value) => {
    for (const { parse } of compiled) {
      const date = parse(value.trim());
      if (date !== undefined) return date;
    }
    return {
      code: "MAPPING_DATE_INVALID",
      trouble: `is no full and real date, expected ${formats.join(" or ")}`,
    };
  };
}

const standardDate: Transform = (value) => {
  const result = parseStandardDate(value.trim());
  if (typeof result === "string") return result;
  return {
    code: "MAPPING_DATE_INVALID",
    trouble: `${result.trouble}, expected a full date as YYYYMMDD or YYYY-MM-DD`,
  };
};

function padTransform(pad: {
  readonly length: number;
  readonly with?: string | undefined;
  readonly side?: "left" | "right" | undefined;
}): Transform {
  const { length, with: filler = "0", side = "left" } = pad;
  return (value) => (side === "left" ? value.padStart(length, filler) : value.padEnd(length, filler));
}

function regexTransform(
  { match, replace }: { readonly match: string; readonly replace: string },
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
        trouble: `is longer than the ${REGEX_MAX_VALUE_LENGTH} characters that a regex transform looks at`,
      };
    }
    if (!pattern.test(value)) {
      return { code: "MAPPING_VALUE_INVALID", trouble: `does not match the profile's pattern ${match}` };
    }
    const result = value.replace(pattern, replace);
    if (result.length <= REGEX_MAX_RESULT_LENGTH) return result;
    return {
      code: "MAPPING_VALUE_INVALID",
      trouble: `becomes longer than ${REGEX_MAX_RESULT_LENGTH} characters by the profile's pattern ${match}`,
    };
  };
}

function decimalTransform(sign: "," | "."): Transform {
  return (value) => {
    const text = value.trim();
    const isNumber = sign === "," ? /^[+-]?\d+(?:,\d+)?$/ : /^[+-]?\d+(?:\.\d+)?$/;
    if (isNumber.test(text)) return text.replace(",", ".");
    return { code: "MAPPING_VALUE_INVALID", trouble: `is no number with "${sign}" as its decimal sign` };
  };
}
