import { describe, expect, test } from "vitest";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const NEW = "ORC|NW|A-1";
const OBR = "OBR|1|A-1||CRYO-STORE";
const LABELLED = `${OBR}|||||||||||SEM^^L-1`;

async function map(type: string, segments: readonly string[], definition: ProfileDefinition = {}) {
  return mapOne(await hl7Profile(definition), hl7Message(hl7Text(type, [PID, ...segments])));
}

describe("a field that repeats with another value is not cut to its first:", () => {
  test.each<[string, string, string[]]>([
    ["OBX-5.1 and OBX-5[2].1", "ORM^O01", [NEW, OBR, "OBX|1|ST|CONTAINER||V1~V2"]],
    ["SAC-3.1 and SAC-3[2].1", "OML^O21", [NEW, OBR, "SPM|1|S1||SEM", "SAC|||V1~V2"]],
    ["SPM-2.1.1 and SPM-2[2].1", "OML^O21", [NEW, OBR, "SPM|1|V1~V2||SEM"]],
    ["OBR-15.3 and OBR-15[2].3", "ORM^O01", [NEW, `${LABELLED}~SEM^^L-2`]],
    ["ORC-2.1 and ORC-2[2].1", "ORM^O01", ["ORC|NW|A-1~A-2", LABELLED.replace("A-1", "")]],
    ["ORC-2.1 and ORC-2[2].1", "ORM^O01", ["ORC|CA|A-1~A-2"]],
    ["OBR-4.1 and OBR-4[2].1", "ORM^O01", [NEW, LABELLED.replace("STORE", "STORE~CRYO-RETRIEVE")]],
  ])("%s of %s", async (place, type, segments) => {
    const { verdict, problems } = await map(type, segments);
    expect(verdict).toBe("refused");
    expect(problems).toMatchObject([{ code: "MAPPING_VALUE_INVALID", place: `message 1, ${place}` }]);
  });

  test("but is read where the others say the same, or nothing", async () => {
    const { orders } = await map("ORM^O01", ["ORC|NW|A-1^X~A-1^Y", `${LABELLED}~SEM^Tube`]);
    expect(orders).toMatchObject([{ placerOrderNumber: "A-1", containers: [{ label: "L-1" }] }]);
  });

  test("but is read where the profile says which repetition is meant", async () => {
    const segments = [NEW, OBR, "OBX|1|ST|NOTE||text", "OBX|2|ST|CONTAINER||V1~V2"];
    const { orders } = await map("ORM^O01", segments, { containers: { label: "OBX-5[2].1" } });
    expect(orders[0]?.containers.map(({ label }) => label)).toEqual(["V2"]);
  });

  test("also in the segment that the profile selects among several", async () => {
    const number = "OBX[3.1=NUMBER]-5";
    const segments = [NEW, LABELLED, "OBX|1|ST|NOTE||text", "OBX|2|ST|NUMBER||N-1~N-2"];
    const { problems } = await map("ORM^O01", segments, {
      placerOrderNumber: { from: number, agree: false },
    });
    expect(problems.map(({ place }) => place)).toEqual(["message 1, OBX[2]-5 and OBX[2]-5[2]"]);
  });
});

describe("a label", () => {
  test("is never a collection method in OBR-15 where there is a specimen", async () => {
    const { problems } = await map("OML^O21", [NEW, `${OBR}|||||||||||SEM^^Venipuncture`, "SPM|1|||SEM"]);
    expect(problems).toEqual([
      {
        code: "MAPPING_NO_CONTAINER",
        place: "message 1, SPM-2.1.1 or SPM-2.2.1",
        message: "is empty; the container's label is expected",
      },
    ]);
  });

  test("may stand in OBR beside specimens where the profile looks there first or nowhere else", async () => {
    for (const label of ["OBR-15.3", ["OBR-15.3", "SAC-3.1"]]) {
      const segments = [NEW, LABELLED, "SPM|1|||SEM"];
      const { orders } = await map("OML^O21", segments, { containers: { label } });
      expect(orders[0]?.containers.map((container) => container.label)).toEqual(["L-1"]);
    }
  });

  test("is never an observation that stands before the orders", async () => {
    const height = "OBX|1|NM|HEIGHT||180";
    expect((await map("ORM^O01", [height, NEW, OBR])).verdict).toBe("refused");
    const { orders } = await map("ORM^O01", [height, NEW, LABELLED]);
    expect(orders[0]?.containers.map(({ label }) => label)).toEqual(["L-1"]);
  });
});

describe("an OBX that names a container is not left out without a word", () => {
  const OBX = "OBX|1|ST|CONTAINER||V1";
  test.each<[string, string, string[]]>([
    ["before its OBR", "ORM^O01", [NEW, OBX, LABELLED]],
    ["before the orders", "ORM^O01", [OBX, NEW, LABELLED]],
    ["beside a specimen", "OML^O21", [NEW, OBR, OBX, "SPM|1|S1||SEM"]],
    ["below a specimen of OML^O33", "OML^O33", ["SPM|1|S1||SEM", OBX, NEW, OBR]],
  ])("%s", async (_, type, segments) => {
    expect((await map(type, segments)).problems).toMatchObject([
      { code: "MAPPING_CONTAINER_UNEXPECTED", place: "message 1, OBX" },
    ]);
  });

  test("while other observations may stand there", async () => {
    const segments = [NEW, OBR, "OBX|1|ST|HEIGHT||180", "SPM|1|S1||SEM"];
    expect((await map("OML^O21", segments)).verdict).toBe("accepted");
  });
});

describe("of several segments of one name the first is not taken:", () => {
  test.each<[string, ProfileDefinition]>([
    ["facility", { facility: "ZFA-1" }],
    ["operation", { operation: "ZFA-1" }],
    ["placer order number", { placerOrderNumber: { from: "ZFA-1", agree: false } }],
    ["subject code", { subject: { code: "ZFA-1" } }],
    ["first name", { subject: { firstName: "ZFA-1" } }],
    ["date of birth", { subject: { dateOfBirth: "ZFA-1" } }],
    ["description", { containers: { description: "ZFA-1" } }],
  ])("the %s is refused where they differ, with both places", async (_, definition) => {
    const segments = [NEW, LABELLED, "ZFA|19800101", "ZFA|19800102"];
    const { verdict, problems } = await map("ORM^O01", segments, definition);
    expect(verdict).toBe("refused");
    expect(problems).toContainEqual(
      expect.objectContaining({
        code: "MAPPING_VALUES_DISAGREE",
        place: "message 1, ZFA-1 and ZFA[2]-1",
        hint: expect.stringMatching(/such as `ZFA\[1\]-1`\. A running|name that place/),
      }),
    );
  });

  test("what the profile says which of them is meant, or is the same in all, is read", async () => {
    const ofSecond: ProfileDefinition = { subject: { firstName: "ZFA[2]-1" } };
    const two = await map("ORM^O01", [NEW, LABELLED, "ZFA|Adam", "ZFA|Bert"], ofSecond);
    expect(two.orders[0]?.subject.firstName?.reveal()).toBe("Bert");
    const same = await map("ORM^O01", [NEW, LABELLED, "ZFA|Adam", "ZFA|Adam"], {
      subject: { firstName: "ZFA-1" },
    });
    expect(same.orders[0]?.subject.firstName?.reveal()).toBe("Adam");
  });

  test("what stands below the order goes before a note or a segment on the patient", async () => {
    const facility: ProfileDefinition = { facility: "ZFA-1" };
    const { orders } = await map("ORM^O01", ["ZFA|SOUTH", NEW, LABELLED, "ZFA|NORTH"], facility);
    expect(orders[0]?.facilityId).toBe(12);
    const operation = { from: "NTE-3", table: { FREEZE: "STORE" } };
    const noted = ["NTE|1||afraid of needles", NEW, LABELLED, "NTE|1||FREEZE"];
    expect((await map("ORM^O01", noted, { operation })).orders[0]?.operation).toBe("STORE");
    const { problems } = await map("ORM^O01", ["ZFA|NORTH", "ZFA|SOUTH", NEW, LABELLED], facility);
    expect(problems.map(({ place }) => place)).toContainEqual("message 1, ZFA-1 and ZFA[2]-1");
  });

  test("a note on the patient is no description of a container", async () => {
    const definition: ProfileDefinition = { containers: { description: "NTE-3" } };
    const notes = ["NTE|1||afraid of needles", "NTE|2||speaks Danish"];
    const own = await map("ORM^O01", [...notes, NEW, LABELLED, "NTE|1||morula"], definition);
    expect(own.orders[0]?.containers.map(({ description }) => description)).toEqual(["morula"]);
    const none = await map("ORM^O01", [...notes, NEW, LABELLED], definition);
    expect(none.orders[0]?.containers).toEqual([{ label: "L-1", description: "" }]);
  });

  test("a description in several lines of one note comes whole, where one container alone can have it", async () => {
    const definition: ProfileDefinition = { containers: { description: "NTE-3" } };
    const lines = ["NTE|1||morula,", "NTE|2||day 4"];
    const one = await map("ORM^O01", [NEW, LABELLED, ...lines], definition);
    expect(one.orders[0]?.containers.map(({ description }) => description)).toEqual(["morula, day 4"]);
    const tubes = ["OBX|1|ST|CONTAINER||V1", "OBX|2|ST|CONTAINER||V2"];
    const two = await map("ORM^O01", [NEW, OBR, ...tubes, ...lines], definition);
    expect(two.problems.map(({ code }) => code)).toContain("MAPPING_VALUES_DISAGREE");
    const labels = { label: { from: "OBR-15.3", split: "," }, description: "NTE-3" };
    const both = [NEW, LABELLED.replace("L-1", "L-1,L-2"), ...lines];
    const split = await map("ORM^O01", both, { containers: labels });
    expect(split.problems.map(({ code }) => code)).toContain("MAPPING_VALUES_DISAGREE");
    const apart = [NEW, OBR, "NTE|1||call the ward", "OBX|1|ST|CONTAINER||V1", "NTE|1||morula"];
    const { problems } = await map("ORM^O01", apart, definition);
    expect(problems.map(({ code }) => code)).toContain("MAPPING_VALUES_DISAGREE");
  });

  test("what a message has several of by its nature is no contradiction", async () => {
    const around = [
      "NTE|1||a",
      "NTE|2||b",
      "NK1|1|One",
      "NK1|2|Two",
      "PV1|1|O|IVF",
      "PV2||x",
      "AL1|1||A",
      "AL1|2||B",
    ];
    const tests = ["OBX|1|ST|AMH||1", "OBX|2|ST|FSH||2", "NTE|1||c", "NTE|2||d"];
    const second = LABELLED.replace("A-1", "A-2").replace("L-1", "L-2");
    const { orders } = await map("ORM^O01", [
      ...around,
      NEW,
      LABELLED,
      ...tests,
      "ORC|NW|A-2",
      second,
      ...tests,
    ]);
    expect(orders.map(({ placerOrderNumber }) => placerOrderNumber)).toEqual(["A-1", "A-2"]);
  });
});
