import { describe, expect, test } from "vitest";
import { csvMessage, csvProfile, mapOne, problemsOf } from "../mapped.ts";

const ROW = {
  order_number: "A-1",
  operation: "STORE",
  facility: "NORTH",
  subject_code: "MRN-1",
  first_name: "Anna",
  last_name: "Beispiel",
  date_of_birth: "1984-02-29",
  container_label: "ST-1",
  container_description: "semen",
};
const CANCEL = { order_number: "A-1", operation: "CANCEL" };

async function map(rows: readonly Record<string, string>[], definition = {}) {
  return mapOne(await csvProfile(definition), csvMessage(rows));
}

describe("a row with the operation CANCEL", () => {
  test("needs nothing but the order's number", async () => {
    expect(await map([CANCEL])).toMatchObject({
      verdict: "accepted",
      placerOrderNumber: "A-1",
      orders: [],
      controlRequests: [{ control: "cancel", placerOrderNumber: "A-1" }],
      problems: [],
    });
  });

  test("names the subject where that cell is filled", async () => {
    const { controlRequests } = await map([{ ...CANCEL, subject_code: "MRN-1", facility: "NOWHERE" }]);
    expect(controlRequests?.map(({ subjectCode }) => subjectCode?.reveal())).toEqual(["MRN-1"]);
  });

  test("is refused without a number", async () => {
    expect(await map([{ operation: "CANCEL", order_number: " " }])).toMatchObject({
      verdict: "refused",
      problems: [{ code: "MAPPING_VALUE_MISSING", place: "line 2, column order_number" }],
      asRead: { operation: "CANCEL" },
    });
  });

  test("is refused for a number that a spreadsheet has shortened", async () => {
    expect((await map([{ ...CANCEL, order_number: "1.23E+05" }])).problems).toMatchObject([
      { code: "MAPPING_VALUE_INVALID", place: "line 2, column order_number" },
    ]);
  });

  test("says what to do about a number that a spreadsheet took for a date, as a row of an order does", async () => {
    const { problems } = await map([{ ...CANCEL, order_number: "01.02.2026" }]);
    expect(problems).toMatchObject([
      { code: "MAPPING_VALUE_INVALID", hint: expect.stringContaining("the format Text") },
    ]);
    const [ofOrder] = (await map([{ ...ROW, order_number: "01.02.2026" }])).problems;
    expect(problems[0]?.hint).toBe(ofOrder?.hint);
  });

  test("is one request with others of the same number", async () => {
    expect((await map([CANCEL, CANCEL])).controlRequests).toHaveLength(1);
  });

  test("is refused when rows of one number name two subjects", async () => {
    const rows = ["MRN-1", "MRN-2"].map((subject_code) => ({ ...CANCEL, subject_code }));
    expect((await map(rows)).problems).toMatchObject([{ code: "MAPPING_VALUES_DISAGREE", place: "line 3" }]);
  });

  test("is refused with the rows of an order that it waited with for a word", async () => {
    const mapped = await map([ROW, { ...ROW, ...CANCEL }]);
    expect(mapped).toMatchObject({
      verdict: "refused",
      placerOrderNumber: "A-1",
      problems: [{ code: "MAPPING_VALUES_DISAGREE", place: "lines 2 and 3" }],
    });
    expect(mapped.orders).toEqual([]);
  });

  test("may be called otherwise by the site", async () => {
    const definition = { operation: { from: "operation", table: { STORNO: "CANCEL" } } } as const;
    const mapped = await map([{ ...CANCEL, operation: "storno" }], definition);
    expect(mapped.controlRequests).toHaveLength(1);
  });
});

describe("rows with the operation HOLD, RELEASE or STATUS", () => {
  const requestOf = (operation: string, number = "A-1") => ({ order_number: number, operation });

  test.each([
    ["HOLD", "hold"],
    ["RELEASE", "release"],
    ["STATUS", "status"],
  ])("%s is a request about the order of that number", async (operation, control) => {
    expect(await map([requestOf(operation)])).toMatchObject({
      verdict: "accepted",
      orders: [],
      controlRequests: [{ control, placerOrderNumber: "A-1" }],
    });
  });

  test("are requests in the order of the rows, also where one comes again", async () => {
    const rows = ["HOLD", "HOLD", "STATUS", "RELEASE", "HOLD"].map((operation) => requestOf(operation));
    const { controlRequests } = await map(rows);
    expect(controlRequests?.map(({ control }) => control)).toEqual(["hold", "status", "release", "hold"]);
  });
});

test("the words of a table are those of orders and of order control", async () => {
  const definition = { extends: "builtin/csv-orders", operation: { table: { STOP: "PAUSE" } } };
  expect(await problemsOf(definition)).toEqual([
    "operation.table.STOP: PAUSE: expected STORE, RETRIEVAL, REGISTER, CANCEL, HOLD, RELEASE or STATUS",
  ]);
});

test("CANCEL is no operation of an HL7 profile, where ORC-1 says it", async () => {
  const definition = { extends: "builtin/hl7-orders", operation: { table: { DROP: "CANCEL" } } };
  expect(await problemsOf(definition)).toEqual([
    "operation.table.DROP: CANCEL: expected STORE, RETRIEVAL or REGISTER",
  ]);
});
