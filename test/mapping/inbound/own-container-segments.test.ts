import { describe, expect, test } from "vitest";
import { type ProfileDefinition, profileSchema } from "../../../src/mapping/profile/schema.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne, problemsOf } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const ORDER = ["ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE"];
const ZVL = { each: "ZVL", label: "ZVL-2.1", description: "ZVL-3" };

async function map(containers: ProfileDefinition["containers"], ...segments: string[]) {
  return mapOne(await hl7Profile({ containers }), hl7Message(hl7Text("ORM^O01", [PID, ...segments])));
}
const labelsOf = ({ orders }: Awaited<ReturnType<typeof map>>) =>
  orders.map(({ containers }) => containers.map(({ label, description }) => `${label}: ${description}`));

describe("containers in segments of the sender's own", () => {
  test("are read below their OBR, each with its values", async () => {
    const more = ["ORC|NW|A-2", "OBR|1|A-2||CRYO-STORE", "ZVL|1|V-3|Egg"];
    expect(labelsOf(await map(ZVL, ...ORDER, "ZVL|1|V-1|Sperm", "NTE|1", "ZVL|2|V-2", ...more))).toEqual([
      ["V-1: Sperm", "V-2: "],
      ["V-3: Egg"],
    ]);
  });

  test("are known by a condition among others of the name", async () => {
    const nte = { each: "NTE[4.1=VIAL]", label: "NTE-3", description: { value: "Vial" } };
    expect(
      labelsOf(await map(nte, "NTE|1||a patient's note", ...ORDER, "NTE|1||urgent", "NTE|2||V-1|VIAL")),
    ).toEqual([["V-1: Vial"]]);
  });

  test("without a label are refused by their place", async () => {
    expect((await map(ZVL, ...ORDER, "ZVL|1|V-1", "ZVL|2||Egg")).problems).toMatchObject([
      { code: "MAPPING_VALUE_MISSING", place: "message 1, ZVL[2]-2.1" },
    ]);
  });

  test.each([
    ["before the orders", ["ZVL|1|V-0", ...ORDER, "ZVL|2|V-1"]],
    ["before their OBR", ["ORC|NW|A-1", "ZVL|1|V-0", "OBR|1|A-1||CRYO-STORE", "ZVL|2|V-1"]],
    ["beside a specimen", [...ORDER, "ZVL|1|V-0", "SPM|1|S-1", "SAC|||V-1"]],
  ])("refuse the message where they stand %s", async (_, segments) => {
    const { problems, orders } = await map(
      { ...ZVL, each: ["SAC", "ZVL"], label: ["SAC-3.1", "ZVL-2.1"] },
      ...segments,
    );
    expect(orders).toEqual([]);
    expect(problems).toContainEqual(
      expect.objectContaining({ code: "MAPPING_CONTAINER_UNEXPECTED", place: "message 1, ZVL" }),
    );
  });

  test("that are none of an order are a mistake of the profile", async () => {
    for (const each of ["PID", "ORC", "zvl", "ZV"]) {
      expect(profileSchema.safeParse({ containers: { each } }).success).toBe(false);
    }
    expect(await problemsOf({ extends: "builtin/hl7-orders", containers: { each: "ZVL[2]" } })).toHaveLength(
      1,
    );
  });
});
