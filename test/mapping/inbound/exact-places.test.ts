import { expect, test } from "vitest";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const FIRST = [`ORC|NW|A-1${"|".repeat(15)}NORTH`, "OBR|1|A-1||CRYO-STORE|||||||||||^^L-1"];

test.each<[place: string, what: string, ProfileDefinition, string[], order?: string]>([
  [
    "OBX[2]-5.1",
    "the container's label",
    { containers: { each: "OBX[3.1=VIAL]" } },
    ["OBX|1|ST|VIAL||V", "OBX|2|ST|VIAL"],
  ],
  [
    "OBR[2]-4.1",
    "an operation code",
    {},
    ["ORC|NW|A-2", "OBR|2|A-2||^Freeze|||||||||||^^L-2"],
    "order A-2 (ORC[2]), ",
  ],
  [
    "ORC[2]-17.1",
    "the facility",
    { facility: "ORC-17.1" },
    ["ORC|NW|A-2", "OBR|2|A-2||CRYO-STORE|||||||||||^^L-2"],
    "order A-2, ",
  ],
  ["ORC[2]-2.1 or OBR[2]-2.1", "the order number", {}, ["ORC|NW", "OBR|2|||CRYO-STORE|||||||||||^^L-2"]],
  [
    "OBX[2]-5.1",
    "the facility",
    { facility: "OBX[3.1=WARD]-5.1" },
    ["OBX|1|ST|NOTE||a", "OBX|2|ST|WARD||^x"],
  ],
  ["OBX[3.1=WARD]-5.1", "the facility", { facility: "OBX[3.1=WARD]-5.1" }, ["OBX|1|ST|NOTE||a"]],
])(
  "a message in which %s is empty says that %s is expected there",
  async (place, what, definition, segments, order = "") => {
    const mapped = mapOne(
      await hl7Profile(definition),
      hl7Message(hl7Text("ORM^O01", [PID, ...FIRST, ...segments])),
    );
    expect(mapped.problems).toEqual([
      {
        code: what === "the container's label" ? "MAPPING_NO_CONTAINER" : "MAPPING_VALUE_MISSING",
        place: `message 1, ${order}${place}`,
        message: `is empty; ${what} is expected`,
      },
    ]);
  },
);
