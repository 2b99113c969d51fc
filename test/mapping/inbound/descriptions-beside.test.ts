import { describe, expect, test } from "vitest";
import { placeText } from "../../../src/core/place.ts";
import { findUnreached } from "../../../src/mapping/inbound/unreached.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const ORDER = ["ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE"];
const TUBES = { each: "OBX[3.1=TUBE]", label: "OBX-5.1", description: "OBX[3.1=VOL]-5" };
const tube = (label: string) => `OBX||ST|TUBE||${label}`;
const volume = (text: string) => `OBX||ST|VOL||${text}`;

async function map(...segments: string[]) {
  const profile = await hl7Profile({ containers: TUBES });
  const { orders, problems } = mapOne(profile, hl7Message(hl7Text("ORM^O01", [PID, ...segments])));
  return {
    containers: orders.map((order) =>
      order.containers.map(({ label, description }) => `${label}: ${description}`),
    ),
    problems: problems.map(({ place, message }) => `${placeText(place)} ${message}`),
  };
}

describe("a description in a segment of its own", () => {
  test("is that of all containers below its OBR, and of no others", async () => {
    const next = ["OBR|2|A-1||CRYO-STORE", tube("T-3"), "ORC|NW|A-2", "OBR|3|A-2||CRYO-STORE"];
    const { containers } = await map(
      ...ORDER,
      tube("T-1"),
      tube("T-2"),
      volume("2 ml"),
      ...next,
      volume("3 ml"),
      tube("T-4"),
    );
    expect(containers).toEqual([["T-1: 2 ml", "T-2: 2 ml", "T-3: "], ["T-4: 3 ml"]]);
  });

  test("is refused where the order has different ones, or it stands between two containers", async () => {
    const different = await map(...ORDER, tube("T-1"), volume("2 ml"), tube("T-2"), volume("3 ml"));
    expect(different.problems[0]).toContain("OBX[2]-5 and OBX[4]-5 are different descriptions");
    const between = await map(...ORDER, tube("T-1"), volume("2 ml"), tube("T-2"));
    expect(between.problems[0]).toContain("OBX[2]-5 is a description between two containers");
  });

  test("is read below its specimen", async () => {
    const containers = { each: "SAC", label: "SAC-3.1", description: "OBX[3.1=VOL]-5" };
    const segments = [...ORDER, "SPM|1", "SAC|||S-1", volume("1 ml"), "SPM|2", "SAC|||S-2", volume("2 ml")];
    const message = hl7Message(hl7Text("OML^O21", [PID, ...segments]));
    const { orders } = mapOne(await hl7Profile({ containers }), message);
    expect(orders[0]?.containers.map(({ description }) => description)).toEqual(["1 ml", "2 ml"]);
  });
});

test("a label of another kind of segment than the containers is never read", async () => {
  const profile = await hl7Profile({ containers: { ...TUBES, label: "OBX[3.1=LABEL]-5" } });
  expect(findUnreached(profile)).toEqual([{ name: "containers.label", places: "OBX[3.1=LABEL]-5" }]);
  expect(findUnreached(await hl7Profile({ containers: TUBES }))).toEqual([]);
});
