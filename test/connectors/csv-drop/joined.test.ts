import { describe, expect, test } from "vitest";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import { placeText } from "../../../src/core/place.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { csvProfile, mapOne } from "../../mapping/mapped.ts";

const HEADER =
  "order_number,department,operation,facility,subject_code,first_name,last_name,date_of_birth,rack,container_label\n";
const row = (number: string, department: string, rack: string, label: string) =>
  `${number},${department},STORE,NORTH,P-1,Anna,Muster,1980-01-01,${rack},${label}\n`;

const JOINED: ProfileDefinition = {
  placerOrderNumber: { from: { join: ["order_number", "department"], with: "/" } },
  containers: {
    label: { from: { join: ["rack", "container_label"], with: "-" } },
    description: { from: { join: ["rack", "department"], with: " " }, required: false },
  },
};

/** What a file comes to: a line for each message. */
async function outcomeOf(file: string): Promise<string[]> {
  const profile = await csvProfile(JOINED);
  const bytes = Buffer.from(file);
  const format = csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading });
  const content = await format.examine(bytes);
  const lines = content.problems.map(({ code, place, message }) => `${code} ${placeText(place)}: ${message}`);
  for await (const batch of content.batches()) {
    for (const message of batch) {
      const { orders, problems } = mapOne(profile, message);
      for (const { placerOrderNumber, containers } of orders) {
        lines.push(`${placerOrderNumber}: ${containers.map(({ label }) => label).join(" ")}`);
      }
      for (const { code, place } of problems) lines.push(`${code} ${placeText(place)}`);
    }
  }
  return lines;
}

describe("codes that are joined of several columns", () => {
  test("make up orders by the whole number, and labels of their own", async () => {
    const file = HEADER + row("7", "A", "R1", "V1") + row("7", "B", "R1", "V2") + row("7", "A", "R2", "V1");
    expect((await outcomeOf(file)).sort()).toEqual(["7/A: R1-V1 R2-V1", "7/B: R1-V2"]);
  });

  test.each([
    ["the number", row("7", "", "R1", "V1"), "department"],
    ["the label", row("7", "A", "R1", ""), "container_label"],
  ])(
    "are refused where a part of %s is empty, instead of being another code",
    async (_what, line, column) => {
      expect(await outcomeOf(HEADER + line)).toEqual([`MAPPING_VALUE_MISSING line 2, column ${column}`]);
    },
  );

  test("need each of their columns", async () => {
    const [first] = await outcomeOf(HEADER.replace("department", "ward") + row("7", "A", "R1", "V1"));
    expect(first).toContain('CSV_COLUMN_MISSING header: expected a column named "department"');
  });
});

describe("a description that is joined of several columns", () => {
  const read = async (cells: string, description: ProfileDefinition["containers"]) => {
    const profile = await csvProfile({ containers: { label: "container_label", ...description } });
    const bytes = Buffer.from(
      `order_number,operation,facility,subject_code,container_label,embryos,cane,goblet,partner\nA-1,STORE,NORTH,P-1,V-1,${cells}\n`,
    );
    const content = await csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading }).examine(bytes);
    const found: string[] = [];
    for await (const batch of content.batches())
      for (const message of batch)
        for (const order of mapOne(profile, message).orders)
          found.push(...order.containers.map((container) => container.description));
    return found;
  };
  const join = ["embryos", "cane", "goblet", "partner"];
  const named = join.map((from) => ({ from, name: `${from} ` }));

  test.each([
    ["2,7,G1,Ada", "2/7/G1/Ada"],
    [",7,G1,Ada", "/7/G1/Ada"],
    ["2,,G1,Ada", "2//G1/Ada"],
    ["2,7,G1,", "2/7/G1/"],
    [" ,,,", ""],
  ])("keeps the place of an empty part: %j", async (cells, text) => {
    expect(await read(cells, { description: { from: { join, with: "/" } } })).toEqual([text]);
  });

  test("keeps the place of a column that the file does not have", async () => {
    const from = { join: ["embryos", "colour", "cane"], with: "/" };
    expect(await read("2,7,G1,Ada", { description: { from } })).toEqual(["2//7"]);
  });

  test("names its parts, and leaves out empty ones where the profile says so", async () => {
    const of = (empty?: "drop") => ({
      description: { from: { join: named, with: "; ", ...(empty ? { empty } : {}) } },
    });
    expect(await read("2,,G1,", of())).toEqual(["embryos 2; cane ; goblet G1; partner"]);
    expect(await read("2,,G1,", of("drop"))).toEqual(["embryos 2; goblet G1"]);
  });
});

test("a code of the first columns that a file has is refused where a part of it is no column of the file", async () => {
  const from = [{ join: ["rack", "box", "tube"], with: "-" }, "container_label"];
  const profile = await csvProfile({ containers: { label: { from } } });
  const values = new Map([
    ...([
      ["order_number", "A-1"],
      ["operation", "STORE"],
      ["facility", "NORTH"],
      ["subject_code", "P-1"],
    ] as const),
    ...([
      ["rack", "R1"],
      ["tube", "3"],
    ] as const),
  ]);
  const bytes = Buffer.from(`${[...values.keys()].join(",")}\n${[...values.values()].join(",")}\n`);
  const content = await csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading }).examine(bytes);
  for await (const batch of content.batches())
    expect(batch.map((message) => mapOne(profile, message).problems)).toMatchObject([
      [{ code: "MAPPING_VALUE_MISSING", place: "line 2, column rack" }],
    ]);
});
