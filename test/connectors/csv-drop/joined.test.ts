import { describe, expect, test } from "vitest";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { chunksOf } from "../../formats/csv/source.ts";
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
  const format = csvFileFormat({ reading: profile.reading });
  const content = await format.examine({ sizeBytes: bytes.length, chunks: () => chunksOf(bytes) });
  const lines = content.problems.map(({ code, place, message }) => `${code} ${place}: ${message}`);
  for await (const batch of content.batches()) {
    for (const message of batch) {
      const { orders, problems } = mapOne(profile, message);
      for (const { placerOrderNumber, containers } of orders) {
        lines.push(`${placerOrderNumber}: ${containers.map(({ label }) => label).join(" ")}`);
      }
      for (const { code, place } of problems) lines.push(`${code} ${place}`);
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
