import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { compileProfile } from "../../../src/mapping/profile/compile-profile.ts";
import { importFrom } from "../../../src/mapping/profile/module.ts";
import { profileSchema } from "../../../src/mapping/profile/schema.ts";
import { csvProfile, hl7Message, hl7Profile, hl7Text, mapOne, problemsOf } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna";

describe("a profile", () => {
  test("names every mistake at once, each with its place inside the profile", async () => {
    const definition = {
      extends: "builtin/hl7-orders",
      operation: { from: "OBR4.1", table: { X: "FREEZE" } },
      subject: { code: "PID-3[5=MR.1", dateOfBirth: { from: "PID-7", as: { date: ["dd.MM.yy"] } } },
      containers: { each: "OBX[nonsense]" },
      delimiter: ";" as const,
      results: { timeZone: "Mars/Olympus" },
    };
    expect(await problemsOf(definition)).toEqual([
      expect.stringMatching(/^results\.timeZone: Mars\/Olympus is no time zone/),
      "delimiter: is for CSV profiles",
      expect.stringMatching(/^containers\.each: .*OBX\[nonsense\]/),
      "operation.table.X: FREEZE: expected STORE, RETRIEVAL or REGISTER",
      expect.stringMatching(/^operation: path "OBR4\.1"/),
      expect.stringMatching(/^subject\.code: path "PID-3\[5=MR\.1"/),
      "subject.dateOfBirth: date format dd.MM.yy: write the year as yyyy",
    ]);
  });

  test("that extends nothing says what it may build on", async () => {
    expect(await problemsOf({ accept: ["ORM^O01"] })).toEqual([
      "extends: expected a profile to build on, such as builtin/hl7-orders or builtin/csv-orders",
    ]);
  });

  test("that extends an unknown one lists the known ones", async () => {
    const problems = await problemsOf({ extends: "hl7" }, { clinic: {} });
    expect(problems).toEqual([
      "extends: no profile is called hl7; known: builtin/hl7-orders, builtin/csv-orders, clinic",
    ]);
  });

  test("that extends itself over another is refused with the circle", async () => {
    const problems = await problemsOf({ extends: "other" }, { other: { extends: "test" } });
    expect(problems).toEqual(["extends: goes in a circle: test -> other -> test"]);
  });

  test("may build on another profile, whose tables it adds to", async () => {
    const base = { extends: "builtin/hl7-orders", operation: { table: { FREEZE: "STORE" } } };
    const compiled = await compileProfile(
      "ours",
      { extends: "base", operation: { table: { THAW: "RETRIEVAL" } } },
      { profiles: { base }, loadModule: async () => ({}) },
    );
    if (!compiled.ok) throw new Error("expected a profile");
    const operations = ["CRYO-STORE", "FREEZE", "THAW"].map((code) => {
      const segments = [PID, "ORC|NW|A", `OBR|1|||${code}|||||||||||^^L-1`];
      return mapOne(compiled.profile, hl7Message(hl7Text("ORM^O01", segments))).orders[0]?.operation;
    });
    expect(operations).toEqual(["STORE", "STORE", "RETRIEVAL"]);
  });

  test("keeps transforms and table where it only names another place", async () => {
    const profile = await hl7Profile({ operation: "OBR-44.1" });
    const obr = `OBR|1|||X${"|".repeat(11)}^^L-1${"|".repeat(29)}cryo-store`;
    const mapped = mapOne(profile, hl7Message(hl7Text("ORM^O01", [PID, "ORC|NW|A", obr])));
    expect(mapped.orders[0]?.operation).toBe("STORE");
  });

  test("drops the inherited table for a constant", async () => {
    const profile = await hl7Profile({ operation: { value: "RETRIEVAL" } });
    const mapped = mapOne(
      profile,
      hl7Message(hl7Text("ORM^O01", [PID, "ORC|NW|A", "OBR|1|||X|||||||||||^^L-1"])),
    );
    expect(mapped.orders[0]?.operation).toBe("RETRIEVAL");
  });

  test("replaces lists", async () => {
    const { accept } = await hl7Profile({ accept: ["ORM^O01"] });
    expect(accept).toEqual([{ messageCode: "ORM", triggerEvent: "O01" }]);
  });

  test("refuses columns by name where a file has no header line", async () => {
    const [first] = await problemsOf({ extends: "builtin/csv-orders", header: false });
    expect(first).toBe("operation: operation: without a header line columns are called 1, 2, 3 and so on");
  });

  test("says which columns a CSV file must have", async () => {
    const { reading } = await csvProfile({
      subject: { code: ["patient", "pid"] },
      facility: { value: "NORTH" },
    });
    expect(reading.requiredColumns).toEqual([
      ["operation"],
      ["patient", "pid"],
      ["order_number"],
      ["container_label"],
    ]);
  });

  test("that only registers needs neither order numbers nor labels", async () => {
    const { reading } = await csvProfile({ operation: { value: "REGISTER" } });
    expect(reading.requiredColumns).toEqual([["facility"], ["subject_code"]]);
  });

  test("lets a file that only cancels lack what only orders need", async () => {
    const { reading } = await csvProfile();
    expect(reading.controlListLacks).toEqual({
      all: [["facility"], ["container_label"]],
      any: [["subject_code"]],
    });
  });

  test("has no files that only cancel where every row has the same operation", async () => {
    const { reading } = await csvProfile({ operation: { value: "STORE" } });
    expect(reading.controlListLacks).toBeUndefined();
  });

  test("refuses two date formats that read one text as different days", async () => {
    const problems = await problemsOf({
      extends: "builtin/csv-orders",
      dateFormats: ["dd/MM/yyyy", "MM/dd/yyyy"],
    });
    expect(problems).toEqual([
      "subject.dateOfBirth: date formats dd/MM/yyyy and MM/dd/yyyy read the same text as different days",
    ]);
  });
});

test("the schema can be written as a JSON Schema", () => {
  const schema = z.toJSONSchema(profileSchema) as { properties: object; additionalProperties: unknown };
  expect(Object.keys(schema.properties)).toContain("operation");
  expect(schema.additionalProperties).toBe(false);
});

describe("the example profile legacy-orm", () => {
  const folder = new URL("../../../config/profiles/", import.meta.url);
  const TEXT = hl7Text(
    "ORM^O01",
    [
      "PID|1||000815||Beispiel^Anna",
      "ORC|NW|7",
      "OBR|1|7-1||CRYO-RETRIEVE",
      "OBX|1|ST|LABEL||v-1",
      "NTE|1||REL-9",
    ],
    "2.3",
  );

  async function mapLegacy(text: string) {
    const definition = profileSchema.parse(parse(await readFile(new URL("legacy-orm.yaml", folder), "utf8")));
    const compiled = await compileProfile("legacy-orm", definition, {
      loadModule: importFrom(folder.pathname),
    });
    if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems));
    return mapOne(compiled.profile, hl7Message(text));
  }

  test("takes a retrieval with a release number", async () => {
    const { orders } = await mapLegacy(TEXT);
    expect(orders[0]).toMatchObject({ placerOrderNumber: "7", containers: [{ label: "V-1" }] });
    expect(orders[0]?.subject.code.reveal()).toBe("815");
  });

  test("refuses one without, in its module's words", async () => {
    const { problems } = await mapLegacy(TEXT.replace("REL-9", "soon"));
    expect(problems.map(({ message }) => message)).toEqual(["NTE-3 holds no release number such as REL-123"]);
  });
});

describe("a tab as the delimiter", () => {
  test("is the word tab", async () => {
    const definition = profileSchema.parse({ delimiter: "tab", results: { delimiter: "tab" } });
    const { reading, results } = await csvProfile(definition);
    expect([reading.delimiter, results.delimiter]).toEqual(["\t", "\t"]);
  });

  test("is not two characters, as YAML has them in single quotes", () => {
    const messages = ["delimiter: '\\t'", "results: { delimiter: '\\t' }"].map(
      (text) => profileSchema.safeParse(parse(text)).error?.issues[0]?.message,
    );
    expect(messages).toEqual([
      "expected a comma, semicolon or | in quotes, or the word tab or auto",
      "expected a comma, semicolon or | in quotes, or the word tab",
    ]);
  });
});

describe("the example profiles", () => {
  const folder = new URL("../../../config/profiles/", import.meta.url);
  test.each(["clinic-oml", "legacy-orm", "lab-b"])("%s compiles with its module", async (name) => {
    const definition = profileSchema.parse(parse(await readFile(new URL(`${name}.yaml`, folder), "utf8")));
    const compiled = await compileProfile(name, definition, { loadModule: importFrom(folder.pathname) });
    expect(compiled.ok ? [] : compiled.problems).toEqual([]);
  });
});
