import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { linesOf, placeText } from "../../../src/core/place.ts";
import { at } from "../../support/places.ts";
import { csvMessage, csvProfile, hl7Message, mapOne } from "../mapped.ts";

const ROW = {
  order_number: "A-1",
  operation: "STORE",
  facility: "NORTH",
  subject_code: "S-1",
  first_name: "Anna",
  last_name: "Beispiel",
  date_of_birth: "1980-01-01",
  container_label: "V-1",
  container_description: "vial",
};

describe("the rows of a CSV order", () => {
  test("make up one order with a container each", async () => {
    const rows = [ROW, { ...ROW, container_label: "V-2", container_description: "" }];
    const { orders } = mapOne(await csvProfile(), csvMessage(rows));
    expect(orders[0]?.containers).toEqual([
      { label: "V-1", description: "vial" },
      { label: "V-2", description: "" },
    ]);
  });

  test.each(["operation", "facility", "subject_code", "first_name", "last_name", "date_of_birth"])(
    "must agree on %s; both lines are named",
    async (column) => {
      const other =
        { operation: "RETRIEVAL", facility: "SOUTH", date_of_birth: "1980-01-02" }[column] ?? "Other";
      const rows = [ROW, { ...ROW, container_label: "V-2", [column]: other }];
      const { problems } = mapOne(await csvProfile(), csvMessage(rows));
      expect(problems).toEqual([
        {
          code: "MAPPING_VALUES_DISAGREE",
          place: at(`lines 2 and 3, column ${column}`),
          message: "the rows of one order must have the same value",
          hint: expect.stringMatching(/^Rows with one order number are one order/),
        },
      ]);
    },
  );

  test.each([
    [{ container_label: "" }, "MAPPING_NO_CONTAINER", /container's label into the cell.*`containers\.label`/],
    [{ subject_code: "" }, "MAPPING_VALUE_MISSING", /fill in the cell/],
    [
      { date_of_birth: "1.2.1980" },
      "MAPPING_DATE_INVALID",
      /in profile test, such as `dateFormats: \[dd\.MM\.yyyy\]`\. A running daemon/,
    ],
    [{ operation: "REGISTER" }, "MAPPING_CONTAINER_UNEXPECTED", /label of a registration empty/],
  ])("have hints about cells and columns: %j", async (own, code, hint) => {
    const { problems } = mapOne(await csvProfile(), csvMessage([{ ...ROW, ...own }]));
    expect(problems).toMatchObject([{ code, hint: expect.stringMatching(hint) }]);
    expect(problems[0]?.hint).not.toMatch(/""|HL7|segment|message/);
  });

  test("may not leave out the subject in a later row", async () => {
    const rows = [ROW, { ...ROW, container_label: "V-2", subject_code: "" }];
    const { problems } = mapOne(await csvProfile(), csvMessage(rows));
    expect(problems.map(({ place }) => place)).toEqual(["lines 2 and 3, column subject_code"]);
  });

  test("report each container's trouble at its own line", async () => {
    const rows = [ROW, { ...ROW, container_label: " " }, { ...ROW, container_label: "V-1 " }];
    const { problems } = mapOne(await csvProfile(), csvMessage(rows));
    expect(problems.map(({ code, place }) => `${code} ${placeText(place)}`)).toEqual([
      "MAPPING_NO_CONTAINER line 3, column container_label",
      "MAPPING_CONTAINER_LABEL_TWICE line 4, column container_label",
      "CSV_ROW_OF_REFUSED_ORDER line 2",
    ]);
  });

  test("are each named where one of them refuses the others, and keep what was read of them", async () => {
    const rows = [
      { ...ROW, order_number: "7" },
      { ...ROW, order_number: "7.0", subject_code: "S-2", container_label: "V-2" },
    ];
    const mapped = mapOne(await csvProfile(), csvMessage(rows));
    expect(mapped.problems).toMatchObject([
      { code: "MAPPING_VALUES_DISAGREE", place: at("lines 2 and 3, column subject_code") },
      { code: "MAPPING_VALUE_INVALID", place: at("line 3, column order_number") },
    ]);
    const same = mapOne(await csvProfile(), csvMessage([rows[0] ?? ROW, { ...ROW, order_number: "7.0" }]));
    expect(same.problems.map(({ place }) => place)).toContainEqual("line 2");
    expect(mapped).toMatchObject({ verdict: "refused", placerOrderNumber: "7" });
    expect(mapped.asRead?.rows).toMatchObject([
      { line: 2, placerOrderNumber: "7", labels: ["V-1"] },
      { line: 3, placerOrderNumber: undefined, labels: ["V-2"] },
    ]);
    expect(mapped.asRead?.rows?.map(({ subjectCode }) => subjectCode?.reveal())).toEqual(["S-1", "S-2"]);
  });

  test("are all named by their lines whatever is wrong with some of them", async () => {
    const profile = await csvProfile();
    const columns = ["order_number", "subject_code", "container_label", "facility", "none"];
    const broken = fc.array(fc.constantFrom(...columns), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(broken, fc.constantFrom("7.0", "NULL", "", "#N/A"), (drawn, value) => {
        const rows = drawn.map((column, n) => ({ ...ROW, container_label: `V-${n}`, [column]: value }));
        const { verdict, problems } = mapOne(profile, csvMessage(rows));
        if (verdict !== "refused") return;
        const lines = problems.flatMap(({ place }) => linesOf(place).map(String));
        expect([...new Set(lines)].sort()).toEqual(rows.map((_, n) => String(n + 2)));
      }),
    );
  });

  test.each(["order_number", "subject_code", "container_label"])(
    "are refused where a spreadsheet has shortened a number in %s, which may stand for two",
    async (column) => {
      for (const value of ["1.23E+05", "2,00457E+11", "1E+15"]) {
        const { problems } = mapOne(await csvProfile(), csvMessage([{ ...ROW, [column]: value }]));
        expect(problems).toEqual([
          {
            code: "MAPPING_VALUE_INVALID",
            place: at(`line 2, column ${column}`),
            message: expect.stringContaining("give the column the format Text"),
          },
        ]);
      }
    },
  );

  test("may have codes with an E in them", async () => {
    const row = { ...ROW, order_number: "1E5", subject_code: "12E+05", container_label: "E+05" };
    expect(mapOne(await csvProfile(), csvMessage([row])).verdict).toBe("accepted");
  });

  test("without a needed column say so once", async () => {
    const { subject_code, ...rest } = ROW;
    const { problems } = mapOne(await csvProfile(), csvMessage([rest, rest]));
    expect(problems).toEqual([
      {
        code: "CSV_COLUMN_MISSING",
        place: at("line 2"),
        message: "the file has no column subject_code",
        columns: ["subject_code"],
      },
    ]);
  });

  test("keep their order number when they are refused", async () => {
    const mapped = mapOne(await csvProfile(), csvMessage([{ ...ROW, subject_code: "" }]));
    expect(mapped).toMatchObject({ verdict: "refused", placerOrderNumber: "A-1" });
  });

  test("say what was read of an order that is refused, and nothing that they disagree about", async () => {
    const wrong = { ...ROW, date_of_birth: "1980" };
    const read = async (...rows: Readonly<Record<string, string>>[]) => {
      const { asRead } = mapOne(await csvProfile(), csvMessage(rows));
      const { rows: _, ...agreed } = asRead ?? { labels: [] };
      return { ...agreed, subjectCode: asRead?.subjectCode?.reveal() };
    };
    const both = [wrong, { ...wrong, container_label: "V-2" }, { ...wrong, container_label: "" }] as const;
    const known = { operation: "STORE", facilityCode: "NORTH", subjectCode: "S-1" };
    expect(await read(...both)).toEqual({ ...known, labels: ["V-1", "V-2"] });
    expect(await read(both[0], { ...both[1], subject_code: "S-2" })).toEqual({
      ...{ operation: undefined, facilityCode: undefined, subjectCode: undefined },
      labels: ["V-1", "V-2"],
    });
    const list = Array.from({ length: 501 }, (_, n) => ({ ...ROW, container_label: `V-${n}` }));
    expect(await read(...list)).toEqual({ ...known, labels: [] });
  });

  test("are no input for an HL7 profile, nor the reverse", async () => {
    const mapped = mapOne(await csvProfile(), hl7Message("MSH|^~\\&|"));
    expect(mapped.problems[0]).toMatchObject({
      code: "CONFIG_INVALID",
      message: "profile test is for CSV, not HL7",
    });
  });

  test("named like parts of JavaScript objects are columns like any other", async () => {
    const profile = await csvProfile({ containers: { description: "__proto__" } });
    const message = csvMessage([]);
    const values = new Map([...Object.entries(ROW), ["__proto__", "kept"]]);
    if (message.content.kind !== "csv") throw new Error("expected rows");
    const rows = message.content.rows;
    (rows.reveal() as unknown[]).push({ line: 2, values });
    expect(mapOne(profile, message).orders[0]?.containers[0]?.description).toBe("kept");
  });
});
