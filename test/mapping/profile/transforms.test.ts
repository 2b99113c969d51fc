import { describe, expect, test } from "vitest";
import { compileBoundedRegex, REGEX_MAX_VALUE_LENGTH } from "../../../src/mapping/profile/bounded-regex.ts";
import type { TransformDefinition } from "../../../src/mapping/profile/transform-schema.ts";
import {
  areAmbiguous,
  compileDateFormat,
  compileTransform,
  parseStandardDate,
} from "../../../src/mapping/profile/transforms.ts";

function apply(definition: TransformDefinition, value: string): unknown {
  const mistakes: string[] = [];
  const transform = compileTransform(definition, {
    mayQuote: false,
    complain: (text) => mistakes.push(text),
  });
  expect(mistakes).toEqual([]);
  const result = transform(value);
  return typeof result === "string" ? result : result.code;
}

describe("transforms", () => {
  test.each<[TransformDefinition, string, string]>([
    ["trim", "  a b ", "a b"],
    ["upper", "ab", "AB"],
    ["lower", "AB", "ab"],
    ["collapse", " a \r\n b ", "a b"],
    ["digits", "PID 12-3", "123"],
    ["date", "19840229", "1984-02-29"],
    [{ date: "d.M.yyyy" }, "1.2.1984", "1984-02-01"],
    [{ pad: { length: 6 } }, "815", "000815"],
    [{ pad: { length: 4, with: "x", side: "right" } }, "ab", "abxx"],
    [{ regex: { match: "^X(\\d+)$", replace: "N-$1" } }, "X12", "N-12"],
    [{ table: { M: "male" } }, "M", "male"],
    [{ table: { M: "male" } }, " m ", "male"],
    [{ table: { " Straße ": "street" } }, "STRASSE", "street"],
    [{ table: { m: "minus", M: "male" }, caseSensitive: true }, " m", "minus"],
    [{ prefix: "P-" }, "1", "P-1"],
    [{ prefix: "P-" }, "P-1", "P-1"],
    [{ suffix: "!" }, "a", "a!"],
    [{ decimal: "," }, "0,5", "0.5"],
  ])("%j turns %j into %j", (definition, value, expected) => {
    expect(apply(definition, value)).toBe(expected);
  });

  test.each<[TransformDefinition, string, string]>([
    ["date", "198402", "MAPPING_DATE_INVALID"],
    [{ date: "yyyy-MM-dd" }, "1984-02-30", "MAPPING_DATE_INVALID"],
    [{ regex: { match: "^X", replace: "" } }, "Y", "MAPPING_VALUE_INVALID"],
    [{ table: { M: "male" } }, "constructor", "MAPPING_CODE_UNKNOWN"],
    [{ table: { M: "male" }, caseSensitive: true }, "m", "MAPPING_CODE_UNKNOWN"],
    [{ decimal: "," }, "1.000,5", "MAPPING_VALUE_INVALID"],
  ])("%j refuses %j", (definition, value, code) => {
    expect(apply(definition, value)).toBe(code);
  });

  test("a table never quotes what may be a patient's value", () => {
    const transform = compileTransform({ table: { A: "B" } }, { mayQuote: false, complain: () => {} });
    expect(JSON.stringify(transform("Canary"))).not.toContain("Canary");
  });
});

describe("dates", () => {
  test.each([
    ["19840229", "1984-02-29"],
    ["198402291530", "1984-02-29"],
    ["19840229233000+0900", "1984-02-29"],
    ["19840229+0100", "1984-02-29"],
    ["1984022923", "1984-02-29"],
    ["198402292359-0500", "1984-02-29"],
    ["19840229235959.1234", "1984-02-29"],
    ["1984-02-29", "1984-02-29"],
    ["1984-02-29T23:59:59.000Z", "1984-02-29"],
  ])("%s is read as written, without a shift of zone", (text, date) => {
    expect(parseStandardDate(text)).toBe(date);
  });

  test.each([
    ["1984", "has only a year"],
    ["198402", "has only a year and a month"],
    ["1984-02", "has only a year and a month"],
    ["19830229", "is a day or time that does not exist"],
    ["19841301", "is a day or time that does not exist"],
    ["00000000", "is a day or time that does not exist"],
    ["19000229", "is a day or time that does not exist"],
    ["19840200", "is a day or time that does not exist"],
    ["1984022924", "is a day or time that does not exist"],
    ["198402291", "is a day or time that does not exist"],
    ["198413", "is not written as a date"],
    ["0000", "is not written as a date"],
    ['""', "is not written as a date"],
    ["29.02.1984", "is not written as a date"],
  ])("%s is refused: it %s", (text, message) => {
    expect(parseStandardDate(text)).toMatchObject({ message });
  });

  test.each([
    ["dd.MM.yyyy", "29.02.1984", "1984-02-29"],
    ["d-MMM-yyyy", "3-mar-1985", "1985-03-03"],
    ["M/d/yyyy", "3/4/1985", "1985-03-04"],
    ["yyyy-MM-dd HH:mm:ss", "1985-03-04 00:00:00", "1985-03-04"],
    ["excel", "31234", "1985-07-06"],
    ["excel", "59", "1900-02-28"],
    ["excel", "61", "1900-03-01"],
  ])("%s reads %s", (format, text, date) => {
    const compiled = compileDateFormat(format);
    expect(typeof compiled === "string" ? compiled : compiled.parse(text)).toBe(date);
  });

  test("Excel's 29 February 1900, which never was, is refused", () => {
    const compiled = compileDateFormat("excel");
    expect(typeof compiled === "string" ? compiled : compiled.parse("60")).toBeUndefined();
  });

  test("yyyyMMdd and ddMMyyyy together never read one text as two days", () => {
    const [one, other] = ["yyyyMMdd", "ddMMyyyy"].map(compileDateFormat);
    if (typeof one !== "object" || typeof other !== "object") throw new Error("expected formats");
    for (let year = 1800; year < 2100; year++) {
      for (const rest of ["0101", "1012", "1231", "2011"]) {
        expect(
          [one.parse(`${year}${rest}`), other.parse(`${year}${rest}`)].filter(Boolean).length,
        ).toBeLessThan(2);
      }
    }
    expect(areAmbiguous("yyyyMMdd", "ddMMyyyy")).toBe(false);
  });
});

describe("regex transforms", () => {
  test.each([
    "^(a+)+$",
    "(a|b)*c",
    "(?:a?){20}b",
    ".*.*.*.*.*.*x",
    "(?=a)b",
    "(a)\\1",
    "(",
    `${"(?:a|a)".repeat(30)}b`,
    "a*a*a*b",
    "^a*a*a*a*b",
    ".*.*b",
    `${"(?:a|a)".repeat(12)}b`,
    `${"a{0,9}".repeat(4)}b`,
  ])("%s is refused", (source) => {
    expect(compileBoundedRegex(source)).toBeTypeOf("string");
  });

  test.each([
    "^([A-Z]{1,4})-?0*(\\d{1,8})$",
    "^(.*),(.*),(.*)$",
    "[(|)*]+x",
    "(?<n>\\d+)-x",
    "^(?:ab){2,50}c",
    "^(?:Total|Sum|End);(\\d{1,6});([^;]{0,40});([^;]{0,40})$",
  ])("%s is taken", (source) => {
    expect(compileBoundedRegex(source)).toBeInstanceOf(RegExp);
  });

  test.each(["a*b", "^a*a*a*b", `${"(?:a|a)".repeat(8)}b`, `${"a{0,9}".repeat(3)}b`])(
    "%s, among the worst that are taken, ends at once on the longest value",
    (source) => {
      const pattern = compileBoundedRegex(source);
      if (typeof pattern === "string") throw new Error(pattern);
      // A pattern whose work is not bounded, such as ^(a+)+b, would take years.
      expect(pattern.test("a".repeat(REGEX_MAX_VALUE_LENGTH))).toBe(false);
    },
  );

  test("a result longer than any value may be is refused", () => {
    const regex = { match: "^(.*)$", replace: "$1".repeat(100) };
    expect(apply({ regex }, "a".repeat(20))).toBe("a".repeat(2_000));
    expect(apply({ regex }, "a".repeat(21))).toBe("MAPPING_VALUE_INVALID");
  });

  test("a value longer than the bound is refused, not matched", () => {
    expect(apply({ regex: { match: "a", replace: "b" } }, "a".repeat(101))).toBe("MAPPING_VALUE_INVALID");
  });
});
