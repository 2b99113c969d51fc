import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { csvMessage, csvProfile, hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

const VALUES = {
  number: "A-1",
  subject: "S-1",
  first: "Anna",
  last: "Beispiel",
  birth: "1980-01-01",
  label: "V-1",
};
type Name = keyof typeof VALUES;

/** One order with these values, the two ways that orders come in, and through a site's module. */
const WAYS = {
  hl7: async (values: typeof VALUES, definition: ProfileDefinition = {}) => {
    const { number, subject, first, last, birth, label } = values;
    const text = hl7Text("ORM^O01", [
      `PID|1||${subject}^^^LAB^MR||${last}^${first}||${birth.replaceAll("-", "")}`,
      `ORC|NW|${number}`,
      `OBR|1|${number}||CRYO-STORE^Store|||20261120||||||||||||||NORTH`,
      `SPM|1|${label}||SER`,
    ]);
    return mapOne(await hl7Profile(definition), hl7Message(text));
  },
  csv: async (values: typeof VALUES, definition: ProfileDefinition = {}) =>
    mapOne(await csvProfile(definition), csvMessage([rowOf(values)])),
  module: async (values: typeof VALUES) => {
    const module = {
      order: () => ({
        operation: "STORE",
        facility: "NORTH",
        placerOrderNumber: values.number,
        subject: {
          code: values.subject,
          firstName: values.first,
          lastName: values.last,
          dateOfBirth: values.birth,
        },
        containers: [{ label: values.label }],
      }),
    };
    return mapOne(await csvProfile({ module: "./m.ts" }, module), csvMessage([rowOf(VALUES)]));
  },
};

const rowOf = ({ number, subject, first, last, birth, label }: typeof VALUES) => ({
  order_number: number,
  operation: "STORE",
  facility: "NORTH",
  subject_code: subject,
  first_name: first,
  last_name: last,
  date_of_birth: birth,
  container_label: label,
});

const verdictOf = async (way: keyof typeof WAYS, change: Partial<typeof VALUES>) => {
  const { verdict, problems } = await WAYS[way]({ ...VALUES, ...change });
  return verdict === "accepted" ? verdict : problems.map(({ code }) => code);
};

const CODES: readonly Name[] = ["number", "subject", "label"];
const NO_CODES = [
  ...["null", "NULL", "(null)", "<NA>", "undefined", "N/A", "n.a.", "k.A.", "None", "nan", "NaN", "nil"],
  ...["[object Object]", "\\N", "#REF!", "#WERT!", "#####", "Err:502", "TRUE", "WAHR", "-", "--", "?", "."],
  ...["01.02.2003", "1/2/2003", "2003-02-01", "2003-02-01 00:00:00", "2003-02-01T00:00:00Z", "10:30"],
  ...["2/1/2003 0:00", "1-Feb-03", "Sep-01", "1. Mrz", "2-Sep", "1.23E+15", "4711.0", "1,234,567", "50%"],
  ...["'0123", '="0123"'],
];
const REAL_CODES = [
  ...["NULL-1", "1-2-3", "1.2.3", "01.02.03", "MAR-01", "MARCH1", "Sep-1", "31.31.2003", "2003-13-45"],
  ...["20030201", "2024-01-15-7", "N1", "0", "007", "A-", "=W000007123456", "10:30-2", "1-2003", "#12"],
];

describe.each(Object.keys(WAYS) as (keyof typeof WAYS)[])("by way of %s", (way) => {
  test.each(CODES)("what is no code is refused as %s", async (name) => {
    for (const value of NO_CODES) {
      // In HL7 a backslash escapes.
      const written = way === "hl7" ? value.replace("\\", "\\E\\") : value;
      expect([value, await verdictOf(way, { [name]: written })]).toEqual([value, ["MAPPING_VALUE_INVALID"]]);
    }
  });

  test.each(CODES)("what may be a code is taken as %s", async (name) => {
    for (const value of REAL_CODES)
      expect([value, await verdictOf(way, { [name]: value })]).toEqual([value, "accepted"]);
  });

  test.each(["first", "last"] as const)(
    "a program's word is refused as a %s name, a person's is not",
    async (name) => {
      for (const value of [
        "null",
        "NULL",
        "undefined",
        "N/A",
        "None",
        "NaN",
        "[object Object]",
        "#N/A",
        "-",
        "?",
      ])
        expect([value, await verdictOf(way, { [name]: value })]).toEqual([value, ["MAPPING_VALUE_INVALID"]]);
      for (const value of ["Null", "Nan", "NAN", "Na", "Nil", "True", "Nonnemann", "Müller", "李"])
        expect([value, await verdictOf(way, { [name]: value })]).toEqual([value, "accepted"]);
    },
  );

  test("a birth date in the future, or of more than 130 years ago, is refused", async () => {
    const year = new Date().getUTCFullYear();
    for (const birth of [`${year + 1}-06-01`, `${year - 131}-06-01`])
      expect(await verdictOf(way, { birth })).toEqual(["MAPPING_DATE_INVALID"]);
    for (const birth of [new Date().toISOString().slice(0, 10), `${year - 100}-06-01`])
      expect(await verdictOf(way, { birth })).toBe("accepted");
  });
});

describe.each(["hl7", "csv"] as const)("a profile for %s", (way) => {
  const places =
    way === "csv" ? { number: "order_number", last: "last_name" } : { number: "ORC-2.1", last: "PID-5.1.1" };

  test("may say that its codes look like dates, and its names like words for none", async () => {
    const values = { ...VALUES, number: "01.02.2003", last: "NULL" };
    const definition = {
      placerOrderNumber: { from: places.number, allow: ["dates" as const] },
      subject: { lastName: { from: places.last, allow: ["words" as const] } },
    };
    const { orders } = await WAYS[way](values, definition);
    expect(orders[0]?.placerOrderNumber).toBe("01.02.2003");
    expect(orders[0]?.subject.lastName?.reveal()).toBe("NULL");
  });

  test("can't make a code of a word for none by what it puts around it", async () => {
    const definition = { placerOrderNumber: { from: places.number, as: { prefix: "LAB-" } } };
    const { problems } = await WAYS[way]({ ...VALUES, number: "null" }, definition);
    expect(problems).toMatchObject([{ code: "MAPPING_VALUE_INVALID" }]);
  });

  test("takes the same codes whatever they are as the other way does", async () => {
    const code = fc.stringMatching(/^[-A-Za-z0-9./:]{1,12}$/);
    await fc.assert(
      fc.asyncProperty(code, async (number) => {
        expect(await verdictOf("csv", { number })).toEqual(await verdictOf("hl7", { number }));
      }),
      { numRuns: 60 },
    );
  });
});
