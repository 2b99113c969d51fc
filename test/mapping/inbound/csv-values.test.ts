import { describe, expect, test } from "vitest";
import { csvMessage, csvProfile, mapOne } from "../mapped.ts";

const ROW = {
  order_number: "A-1",
  operation: "STORE",
  facility: "NORTH",
  subject_code: "S-1",
  first_name: "Anna",
  last_name: "Beispiel",
  date_of_birth: "1980-01-01",
  container_label: "V-1",
};

const profile = await csvProfile();
const map = (change: Partial<typeof ROW>) => mapOne(profile, csvMessage([{ ...ROW, ...change }]));
const CODES = ["order_number", "subject_code", "container_label"] as const;

describe.each(CODES)("a code in %s", (column) => {
  const read = (value: string) => {
    const [order] = map({ [column]: value }).orders;
    const { placerOrderNumber, subject, containers } = order ?? {};
    return {
      order_number: placerOrderNumber,
      subject_code: subject?.code.reveal(),
      container_label: containers?.[0]?.label,
    }[column];
  };

  test.each([
    ["a formula that failed", "#N/A"],
    ["a formula that failed, in German", "#NV"],
    ["a column too narrow", "########"],
    ["a database's word for nothing", "NULL"],
    ["a program's word for nothing", "nan"],
    ["decimals", "815.0"],
    ["a date made of a code", "2-Sep"],
    ["a date made of a code, in German", "01. Mrz"],
    ["a small shortened number", "1.20E-05"],
    ["a formula", '="0123"'],
    ["an apostrophe", "'0123"],
    ["quotation marks of a typesetter", "“V-1”"],
    ["a zero-width space", "V\u200b-1"],
    ["a soft hyphen", "V\u00ad1"],
    ["a space that doesn't break", "V\u00a01"],
  ])("is refused for %s", (_, value) => {
    expect(map({ [column]: value })).toMatchObject({
      verdict: "refused",
      problems: [
        {
          code: expect.stringMatching(/^MAPPING_(VALUE|CHARACTER)_INVALID$/),
          place: `line 2, column ${column}`,
          message: expect.not.stringContaining(value),
        },
      ],
    });
  });

  test.each(["#12", "NULL-1", "N-1", "40.10", "10.", "12-34", "MAR-01", "1-mars", "5'", "A 1", "Ü-1", "07"])(
    "may be %s",
    (value) => expect(read(value)).toBe(value),
  );

  test("is the same with blanks around it, which no break may be among", () => {
    expect(read("\u00a0 V-1 ")).toBe("V-1");
  });

  test("is the same with composed and with decomposed letters", () => {
    expect(read("Ro\u0308hre-1")).toBe("Röhre-1");
  });

  test("is read back from our results, where an apostrophe stands before what looks like a formula", () => {
    expect(read("'-80-12")).toBe("-80-12");
  });
});

test("blanks around a code don't count either where the profile has transforms of its own", async () => {
  const own = await csvProfile({ containers: { label: { from: "container_label", as: "upper" } } });
  const mapped = mapOne(own, csvMessage([{ ...ROW, container_label: "v-1 " }]));
  expect(mapped.orders[0]?.containers[0]?.label).toBe("V-1");
});

describe("a cell with a label", () => {
  test.each(["V-1;V-2", "V-1; W-2", "V-1|V-2", "V-1, V-2", "12,5"])(
    "is refused for %s, which may be several",
    (value) => {
      expect(map({ container_label: value }).problems).toMatchObject([
        { code: "MAPPING_VALUE_INVALID", message: expect.stringContaining("several labels") },
      ]);
    },
  );

  test.each(["Box 3, Pos 4", "V-1;", "A/B", "1+2"])("may hold %s", (value) => {
    expect(map({ container_label: value }).orders[0]?.containers[0]?.label).toBe(value);
  });
});

test.each(["first_name", "last_name"] as const)("a %s that a failed formula left is refused", (column) => {
  expect(map({ [column]: "#NAME?" }).problems).toMatchObject([{ place: `line 2, column ${column}` }]);
  expect(map({ [column]: "Null" }).verdict).toBe("accepted");
});
