import { describe, expect, test } from "vitest";
import { placeText } from "../../../src/core/place.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { csvMessage, csvProfile, hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const ORDER = ["ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE"];

async function map(type: string, segments: readonly string[], definition: ProfileDefinition = {}) {
  return mapOne(await hl7Profile(definition), hl7Message(hl7Text(type, segments)));
}

async function labelsOf(type: string, segments: readonly string[], definition: ProfileDefinition = {}) {
  const { orders, problems } = await map(type, [PID, ...segments], definition);
  expect(problems).toEqual([]);
  return orders.flatMap(({ containers }) => containers.map(({ label }) => label));
}

async function refusedAt(segments: readonly string[], type: string, definition: ProfileDefinition = {}) {
  const { verdict, orders, problems } = await map(type, segments, definition);
  expect(verdict).toBe("refused");
  expect(orders).toEqual([]);
  return problems.map(({ code, place }) => `${code} ${placeText(place)}`);
}

describe("the label of a container", () => {
  test.each([
    ["an empty SAC-3 beside one that is filled", ["SPM|1|S1||EMB", "SAC|||EM5-A", "SAC|||"], "SAC[2]-3.1"],
    ["a SAC without any field", ["SPM|1|S1||EMB", "SAC|||EM5-A", "SAC"], "SAC[2]-3.1"],
    ["an empty SAC-3 alone", ["SPM|1|S1||EMB", "SAC|||"], "SAC-3.1"],
    ["a SAC-3 of blanks", ["SPM|1|S1||EMB", "SAC|||  "], "SAC-3.1"],
    ["a SAC-3 whose first component is empty", ["SPM|1|S1||EMB", "SAC|||^NORTH"], "SAC-3.1"],
    ["a SAC-3 whose first repetition is empty", ["SPM|1|S1||EMB", "SAC|||~EM5-B"], "SAC-3.1"],
    ['a SAC-3 that says "" (delete)', ["SPM|1|S1||EMB", 'SAC|||""'], "SAC-3.1"],
    ["an empty SAC-3 below another specimen", ["SPM|1|S1", "SAC|||A", "SPM|2|S2", "SAC|||"], "SAC[2]-3.1"],
    ["a specimen without a SAC beside one with it", ["SPM|1|S1", "SAC|||A", "SPM|2|S2"], "SPM[2]"],
    ["an empty SPM-2.1 beside one that is filled", ["SPM|1|S1||EMB", "SPM|2|^F2||EMB"], "SPM[2]-2.1.1"],
  ])("is never taken from elsewhere for %s, and the order is refused whole", async (_, specimens, place) => {
    expect(await refusedAt([PID, ...ORDER, ...specimens], "OML^O21")).toEqual([
      `MAPPING_NO_CONTAINER message 1, ${place}`,
    ]);
  });

  test("is never taken from elsewhere in OML^O33 either", async () => {
    const segments = [PID, "SPM|1|S1", "SAC|||A", "SPM|2|S2", "SAC|||"];
    const ordered = segments.flatMap((segment) =>
      segment.startsWith("SAC") ? [segment, ...ORDER] : [segment],
    );
    expect(await refusedAt(ordered, "OML^O33")).toEqual(["MAPPING_NO_CONTAINER message 1, SAC[2]-3.1"]);
  });

  test("is never what OBR-15 says where an OBX that names a container leaves it empty", async () => {
    const obr = "OBR|1|A-1||CRYO-STORE|||||||||||SEM^^L-1";
    const segments = [PID, "ORC|NW|A-1", obr, "OBX|1|ST|CONTAINER||V1", "OBX|2|ST|CONTAINER||"];
    expect(await refusedAt(segments, "ORM^O01")).toEqual(["MAPPING_NO_CONTAINER message 1, OBX[2]-5.1"]);
    expect(await refusedAt(segments.toSpliced(3, 1), "ORM^O01")).toEqual([
      "MAPPING_NO_CONTAINER message 1, OBX-5.1",
    ]);
  });

  test("is that of OBR-15 where the order has observations, and none names a container", async () => {
    const segments = ["ORC|NW|A-1", "OBR|1|A-1||CRYO-STORE|||||||||||SEM^^L-1", "OBX|1|ST|COLOUR||green"];
    expect(await labelsOf("ORM^O01", segments)).toEqual(["L-1"]);
  });

  test("is the specimen's number in orders that have no SAC, and the filler's where none has the placer's", async () => {
    expect(await labelsOf("OML^O21", [...ORDER, "SPM|1|S1", "SPM|2|S2"])).toEqual(["S1", "S2"]);
    expect(await labelsOf("OML^O21", [...ORDER, "SPM|1|^F1", "SPM|2|^F2"])).toEqual(["F1", "F2"]);
  });

  test("is never a default or a constant of the profile where the place is there and empty", async () => {
    const specimens = [PID, ...ORDER, "SPM|1|S1", "SAC|||"];
    for (const label of [{ from: "SAC-3.1", default: "X" }, ["SAC-3.1", { value: "X" }]]) {
      expect(await refusedAt(specimens, "OML^O21", { containers: { label } })).toEqual([
        "MAPPING_NO_CONTAINER message 1, SAC-3.1",
      ]);
    }
  });
});

describe("a number or a date of a list of places", () => {
  test("is never another identifier of the patient where the kind that counts is there and empty", async () => {
    const order = [...ORDER, "SPM|1|S1"];
    expect(await refusedAt(["PID|1||^^^N^MR~PI-7^^^N^PI||A^B", ...order], "OML^O21")).toEqual([
      "MAPPING_VALUE_MISSING message 1, PID-3[1].1",
    ]);
    expect(await refusedAt(["PID|1||X-7^^^N^XX~ ^^^N^PI||A^B", ...order], "OML^O21")).toEqual([
      "MAPPING_VALUE_MISSING message 1, PID-3[2].1",
    ]);
    const { orders } = await map("OML^O21", ["PID|1||PI-7^^^N^PI||A^B", ...order]);
    expect(orders[0]?.subject.code.reveal()).toBe("PI-7");
  });

  test("is never another identifier of a merge", async () => {
    const segments = [PID, "MRG|^^^N^MR~PI-7^^^N^PI"];
    expect(await refusedAt(segments, "ADT^A40")).toEqual(["MAPPING_VALUE_MISSING message 1, MRG-1[1].1"]);
  });

  test("is read from the first place whose segment is there", async () => {
    const definition = {
      placerOrderNumber: { from: ["ZOR-1", "ORC-2.1"], agree: false },
      subject: { dateOfBirth: ["ZPI-1", "PID-7"] },
    };
    const order = [...ORDER, "SPM|1|S1"];
    const { orders } = await map("OML^O21", [PID, ...order], definition);
    expect(orders).toMatchObject([{ placerOrderNumber: "A-1" }]);
    expect(orders[0]?.subject.dateOfBirth?.reveal()).toBe("1980-01-01");
    const empty = [PID, "ZPI|", ORDER[0] ?? "", "ZOR|", ORDER[1] ?? "", "SPM|1|S1"];
    expect(await refusedAt(empty, "OML^O21", definition)).toEqual(["MAPPING_VALUE_MISSING message 1, ZOR-1"]);
    expect((await map("ADT^A04", [PID, "ZPI|"], definition)).problems).toMatchObject([
      { code: "MAPPING_VALUE_MISSING", place: "message 1, ZPI-1" },
    ]);
  });

  test("has no default where its segment is there, also where all places must agree", async () => {
    const definition = { placerOrderNumber: { from: ["ORC-2.1", "OBR-2.1"], default: "X" } };
    expect(await refusedAt([PID, "ORC|NW", "OBR|1|||CRYO-STORE", "SPM|1|S1"], "OML^O21", definition)).toEqual(
      ["MAPPING_VALUE_MISSING message 1, ORC-2.1 or OBR-2.1"],
    );
  });

  test("is none that a condition finds twice with different values", async () => {
    const number = { placerOrderNumber: { from: "OBX[3.1=NUMBER]-5", agree: false } };
    const segments = [PID, ...ORDER, "OBX|1|ST|NUMBER||N-1", "OBX|2|ST|NUMBER||N-2", "SPM|1|S1"];
    expect(await refusedAt(segments, "OML^O21", number)).toEqual([
      "MAPPING_VALUES_DISAGREE message 1, OBX-5 and OBX[2]-5",
    ]);
  });

  test("of an order control request is no other where the place that counts is empty", async () => {
    const definition = { placerOrderNumber: { from: ["ORC-2.1", "OBR-2.1"], agree: false } };
    expect(await refusedAt([PID, "ORC|CA|", "OBR|1|A-1"], "ORM^O01", definition)).toEqual([
      "MAPPING_VALUE_MISSING message 1, ORC-2.1",
    ]);
  });

  test("of ours that ORC-3 and OBR-3 give differently cancels nothing", async () => {
    const segments = [PID, "ORC|CA||R7^CRYOBRIDGE", "OBR|1||R8^CRYOBRIDGE"];
    expect(await refusedAt(segments, "ORM^O01")).toEqual([
      "MAPPING_VALUES_DISAGREE message 1, ORC-3 and OBR-3",
    ]);
  });
});

describe("a column of a CSV profile's list", () => {
  const ROW = {
    order_number: "A-1",
    operation: "STORE",
    facility: "NORTH",
    subject_code: "MRN-1",
    first_name: "Anna",
    last_name: "Beispiel",
    date_of_birth: "1980-01-01",
    container_label: "V1",
  };
  const mapRows = async (rows: readonly Record<string, string>[], definition: ProfileDefinition) =>
    mapOne(await csvProfile(definition), csvMessage(rows));

  test.each<[string, ProfileDefinition, Record<string, string>]>([
    ["label", { containers: { label: ["tube", "container_label"] } }, { tube: "" }],
    ["order number", { placerOrderNumber: ["tube", "order_number"] }, { tube: " " }],
    ["subject code", { subject: { code: ["tube", "subject_code"] } }, { tube: "" }],
    ["label with a default", { containers: { label: { from: "tube", default: "X" } } }, { tube: "" }],
  ])(
    "gives no %s in place of an earlier one that the file has, and that is empty",
    async (what, definition, cells) => {
      const { verdict, problems } = await mapRows([{ ...ROW, ...cells }], definition);
      expect(verdict).toBe("refused");
      const code = what.startsWith("label") ? "MAPPING_NO_CONTAINER" : "MAPPING_VALUE_MISSING";
      expect(problems).toMatchObject([{ code, place: "line 2, column tube" }]);
    },
  );

  test("gives the value where the file has no earlier one", async () => {
    const definition = { containers: { label: ["tube", "container_label"] } };
    const { orders } = await mapRows([ROW], definition);
    expect(orders[0]?.containers.map(({ label }) => label)).toEqual(["V1"]);
  });

  test("gives no birth date in place of an earlier one that is empty", async () => {
    const definition = { subject: { dateOfBirth: ["born", "date_of_birth"] } };
    const { orders } = await mapRows([{ ...ROW, born: "" }], definition);
    expect(orders).toMatchObject([{ placerOrderNumber: "A-1" }]);
    expect(orders[0]?.subject.dateOfBirth).toBeUndefined();
  });
});
