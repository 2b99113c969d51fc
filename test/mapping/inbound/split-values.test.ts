import { describe, expect, test } from "vitest";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { placeWith } from "../../support/places.ts";
import { csvMessage, csvProfile, hl7Message, hl7Profile, hl7Text, mapOne, problemsOf } from "../mapped.ts";

const ROW = {
  order_number: "A-1",
  operation: "STORE",
  facility: "NORTH",
  subject_code: "S-1",
  container_label: "V-1",
  container_description: "Sperm",
};
type Containers = NonNullable<ProfileDefinition["containers"]>;

async function mapCsv(containers: Containers, ...rows: Partial<Record<string, string>>[]) {
  const profile = await csvProfile({ containers });
  return mapOne(profile, csvMessage(rows.map((row) => ({ ...ROW, ...row }) as Record<string, string>)));
}

const LABEL = { from: "container_label", split: "|" } as const;
const containersOf = (mapped: Awaited<ReturnType<typeof mapCsv>>) =>
  mapped.orders[0]?.containers.map(({ label, description }) => `${label}: ${description}`);

describe("several labels in one cell", () => {
  test("are a container each, with one description for all", async () => {
    const mapped = await mapCsv({ label: LABEL }, { container_label: "V-1 | V-2|V-3" });
    expect(containersOf(mapped)).toEqual(["V-1: Sperm", "V-2: Sperm", "V-3: Sperm"]);
    expect(mapped.orders[0]?.sources).toMatchObject({
      "containers[1].label": "line 2, column container_label, part 2",
    });
  });

  test("and in the cells of several rows are one order", async () => {
    const rows = [{ container_label: "V-1|V-2" }, { container_label: "V-3" }];
    expect(containersOf(await mapCsv({ label: LABEL }, ...rows))).toHaveLength(3);
  });

  test("have a description each where that is taken apart too", async () => {
    const description = { from: "container_description", split: ";" };
    const row = { container_label: "V-1|V-2", container_description: "Sperm; Egg" };
    expect(containersOf(await mapCsv({ label: LABEL, description }, row))).toEqual([
      "V-1: Sperm",
      "V-2: Egg",
    ]);
    const one = { ...row, container_description: "Sperm" };
    expect(containersOf(await mapCsv({ label: LABEL, description }, one))).toEqual([
      "V-1: Sperm",
      "V-2: Sperm",
    ]);
    const gap = { ...row, container_description: ";Egg" };
    expect(containersOf(await mapCsv({ label: LABEL, description }, gap))).toEqual(["V-1: ", "V-2: Egg"]);
  });

  test("are refused with other than as many descriptions", async () => {
    const description = { from: "container_description", split: ";" };
    const row = { container_label: "V-1|V-2", container_description: "a;b;c" };
    const { problems, orders } = await mapCsv({ label: LABEL, description }, row);
    expect(orders).toEqual([]);
    expect(problems).toContainEqual({
      code: "MAPPING_VALUES_DISAGREE",
      place: "line 2, column container_description",
      message: "are 3 descriptions of 2 labels; expected as many, or one for all",
    });
  });

  test.each<[string, string, string, string]>([
    ["an empty part", "V-1||V-3", "part 2", "is empty"],
    ["an empty last part", "V-1|V-2|", "part 3", "is empty"],
    ["the same part twice", "V-1|V-1", "part 2", "gives the same label as"],
    ["a part that is several itself", "V-1|V-2;V-3", "part 2", "several labels"],
    ["a part that a spreadsheet has shortened", "V-1|1.23E+05", "", "shortened"],
    ["a part that is a formula's error", "V-1|#N/A", "part 2", "formula failed"],
    ["a part that is too long", `V-1|${"x".repeat(201)}`, "part 2", "201 characters"],
  ])("are refused for %s", async (_, value, part, message) => {
    const { problems, orders } = await mapCsv({ label: LABEL }, { container_label: value });
    expect(orders).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({
      place: placeWith(part === "" ? "part 2" : `line 2, column container_label, ${part}`),
      message: expect.stringContaining(message),
    });
  });

  test("are refused where they are more than anybody writes", async () => {
    const value = Array.from({ length: 1_001 }, (_, i) => `V-${i}`).join("|");
    const { problems } = await mapCsv({ label: LABEL }, { container_label: value });
    expect(problems).toMatchObject([
      { code: "MAPPING_TOO_MANY_LABELS", place: "line 2, column container_label" },
    ]);
  });

  test("may be parted by line ends, by several signs, and by what a regex knows", async () => {
    const split = { from: "container_label", split: ["lines", ", ", " + ", "."] };
    const mapped = await mapCsv({ label: split }, { container_label: "V-1\r\nV-2\nV-3, V-4 + V-5.V-6" });
    expect(containersOf(mapped)).toHaveLength(6);
  });

  test("go through the transforms one by one", async () => {
    const label = { ...LABEL, as: ["trim" as const, { prefix: "LAB-" }] };
    const mapped = await mapCsv({ label }, { container_label: "1|LAB-2" });
    expect(containersOf(mapped)).toEqual(["LAB-1: Sperm", "LAB-2: Sperm"]);
  });

  test("are refused without the setting, which the hint names", async () => {
    const { problems } = await mapCsv({}, { container_label: "V-1;V-2" });
    expect(problems[0]?.message).toContain("seems to hold several labels");
    expect(problems[0]?.hint).toContain('`containers: { label: { split: ";" } }` in the profile');
  });

  test("are refused where something else stands between them, and the hint has both", async () => {
    const { problems } = await mapCsv({ label: LABEL }, { container_label: "V-1;V-2" });
    expect(problems[0]?.hint).toContain('`containers: { label: { split: ["|",";"] } }`');
  });
});

describe("labels in several columns", () => {
  const label = { from: ["container_label", "Tube 2", "Tube 3"], every: true };
  const row = { container_label: "V-1", "Tube 2": "", "Tube 3": "V-3" };

  test("are a container each; an empty one is none", async () => {
    expect(containersOf(await mapCsv({ label }, row))).toEqual(["V-1: Sperm", "V-3: Sperm"]);
  });

  test("have their own descriptions", async () => {
    const description = { from: ["container_description", "Content 2", "Content 3"], every: true };
    const more = { ...row, "Content 2": "?", "Content 3": "Egg" };
    expect(containersOf(await mapCsv({ label, description }, more))).toEqual(["V-1: Sperm", "V-3: Egg"]);
  });

  test("are refused where all are empty, or one column is missing", async () => {
    const empty = await mapCsv({ label }, { container_label: "", "Tube 2": "", "Tube 3": "" });
    expect(empty.problems).toMatchObject([
      {
        code: "MAPPING_NO_CONTAINER",
        place: "line 2, column container_label or column Tube 2 or column Tube 3",
      },
    ]);
    const missing = await mapCsv({ label }, { container_label: "V-1", "Tube 2": "V-2" });
    expect(missing.problems).toMatchObject([
      { code: "CSV_COLUMN_MISSING", message: expect.stringContaining("Tube 3") },
    ]);
  });
});

describe("several labels in an HL7 field", () => {
  const head = ["PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101", "ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE"];
  const map = async (containers: Containers, ...segments: string[]) =>
    mapOne(await hl7Profile({ containers }), hl7Message(hl7Text("ORM^O01", [...head, ...segments])));

  test("are a container each: repetitions, and what a separator stands between", async () => {
    const label = { from: "OBX-5.1", split: ["repetitions", ";"] };
    const first = "OBX|1|ST|CONTAINER||V-1^Sperm~V-2;V-3";
    const mapped = await map({ label }, first, "OBX|2|ST|CONTAINER||V-4^Egg");
    expect(containersOf(mapped)).toEqual(["V-1: Sperm", "V-2: Sperm", "V-3: Sperm", "V-4: Egg"]);
    expect(Object.values(mapped.orders[0]?.sources ?? {})).toEqual(
      expect.arrayContaining(["OBX-5.1", "OBX-5[2].1, part 1", "OBX-5[2].1, part 2", "OBX[2]-5.1"]),
    );
  });

  test("have their own descriptions by repetition", async () => {
    const label = { from: "OBX-5.1", split: "repetitions" };
    const description = { from: "OBX-5.2", split: "repetitions" };
    const mapped = await map({ label, description }, "OBX|1|ST|CONTAINER||V-1^Sperm~V-2^Egg");
    expect(containersOf(mapped)).toEqual(["V-1: Sperm", "V-2: Egg"]);
  });

  test("may be the repetitions of a kind, and the components", async () => {
    const kind = { from: "OBX-5[2=VIAL].1", split: "repetitions" };
    const ofKind = await map({ label: kind }, "OBX|1|ST|CONTAINER||V-1^VIAL~B-1^BOX~V-2^VIAL");
    expect(ofKind.orders[0]?.containers.map(({ label }) => label)).toEqual(["V-1", "V-2"]);
    const each = { from: ["OBX-5.1", "OBX-5.2", "OBX-5.3"], every: true };
    const components = await map({ label: each, description: "OBX-6" }, "OBX|1|ST|CONTAINER||V-1^V-2^|");
    expect(components.orders[0]?.containers.map(({ label }) => label)).toEqual(["V-1", "V-2"]);
  });

  test.each([
    ["V-1~~V-3", "OBX[2]-5[2].1"],
    ["V-1~V-3;", "OBX[2]-5[2].1, part 2"],
    ["V-1~V-1", "OBX[2]-5[2].1"],
    ["V-1~V-9", "OBX[2]-5[2].1"],
  ])("are refused for %s at %s", async (value, place) => {
    const label = { from: "OBX-5.1", split: ["repetitions", ";"] };
    const { problems } = await map({ label }, "OBX|1|ST|CONTAINER||V-9", `OBX|2|ST|CONTAINER||${value}`);
    expect(problems.map((problem) => problem.place)).toEqual([`message 1, ${place}`]);
  });
});

describe("the profile", () => {
  const csv = (definition: ProfileDefinition) => problemsOf({ extends: "builtin/csv-orders", ...definition });

  test.each<[string, ProfileDefinition, string]>([
    ["a facility", { facility: { from: "facility", split: "|" } }, "facility: split is for containers.label"],
    ["a constant", { containers: { label: { value: "V", split: "|" } } }, "expected from"],
    [
      "agreeing places",
      { containers: { label: { from: ["A", "B"], agree: true, every: true } } },
      "not both",
    ],
    [
      "a constant in a list",
      { containers: { label: { from: ["A", { value: "x" }], every: true } } },
      "neither join",
    ],
    ["repetitions of a cell", { containers: { label: { split: "repetitions" } } }, "is for HL7 profiles"],
    [
      "descriptions of every column alone",
      { containers: { description: { from: ["A", "B"], every: true } } },
      "every needs containers.label with every",
    ],
  ])("may not take apart %s", async (_, definition, message) => {
    expect(await csv(definition)).toEqual([expect.stringContaining(message)]);
  });
});
