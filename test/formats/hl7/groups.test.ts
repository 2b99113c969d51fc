import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { type OrderGroup, type OrderSegment, orderParts } from "../../../src/formats/hl7/groups.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { failureOf } from "./failure-of.ts";
import { messageOf } from "./sample.ts";

const groupsOf = (type: string, ...segments: string[]) => groupsBy("ORC", type, ...segments);
const groupsBy = (each: OrderSegment, type: string, ...segments: string[]) =>
  orderParts(Hl7Message.parse(messageOf(type, "PID|1||A17", "NTE|1||about the patient", ...segments)), each)
    .groups;

/** A group in short: first field of ORC and OBRs, specimens with their containers, the names of the rest. */
const inShort = ({ orc, obrs, specimens, others }: OrderGroup) => ({
  orc: orc?.get(2),
  obrs: obrs.map((obr) => obr.get(1)),
  specimens: specimens.map(({ spm, containers }) => [spm?.get(1), containers.map((sac) => sac.get(3))]),
  others: others.map((segment) => segment.name),
});

describe("the orders of a message", () => {
  it("ORM^O01: an ORC has every OBR and OBX up to the next ORC", () => {
    const groups = groupsOf(
      "ORM^O01",
      "ORC|NW|A",
      "OBR|1",
      "OBX|1",
      "OBR|2",
      "OBX|1",
      "ORC|NW|B",
      "TQ1|1",
      "OBR|3",
    );
    expect(groups.map(inShort)).toEqual([
      { orc: "A", obrs: ["1", "2"], specimens: [], others: ["OBX", "OBX"] },
      { orc: "B", obrs: ["3"], specimens: [], others: ["TQ1"] },
    ]);
    expect(groups[0]?.segments.map((segment) => segment.name)).toEqual(["ORC", "OBR", "OBX", "OBR", "OBX"]);
  });

  it("ORM^O01 without ORC: each OBR is an order", () => {
    expect(groupsOf("ORM^O01", "OBR|1", "OBX|1", "OBR|2").map(inShort)).toEqual([
      { orc: undefined, obrs: ["1"], specimens: [], others: ["OBX"] },
      { orc: undefined, obrs: ["2"], specimens: [], others: [] },
    ]);
  });

  it("OML^O21: specimens and their containers stand below their order", () => {
    const groups = groupsOf(
      "OML^O21^OML_O21",
      "ORC|NW|A",
      "OBR|1",
      "SPM|1",
      "SAC|||V1",
      "SAC|||V2",
      "SPM|2",
      "SAC|||V3",
      "ORC|NW|B",
      "OBR|2",
      "SPM|3",
    );
    expect(groups.map(inShort)).toEqual([
      {
        orc: "A",
        obrs: ["1"],
        specimens: [
          ["1", ["V1", "V2"]],
          ["2", ["V3"]],
        ],
        others: [],
      },
      { orc: "B", obrs: ["2"], specimens: [["3", []]], others: [] },
    ]);
  });

  it("OML^O21 of version 2.4: containers stand below their order without a specimen", () => {
    expect(groupsOf("OML^O21", "ORC|NW|A", "OBR|1", "SAC|||V1", "SAC|||V2").map(inShort)).toEqual([
      { orc: "A", obrs: ["1"], specimens: [[undefined, ["V1", "V2"]]], others: [] },
    ]);
  });

  it("OML^O33: the orders below a specimen share it and its containers", () => {
    const groups = groupsOf(
      "OML^O33^OML_O33",
      "SPM|1",
      "OBX|1",
      "SAC|||V1",
      "SAC|||V2",
      "ORC|NW|A",
      "OBR|1",
      "NTE|1",
      "ORC|NW|B",
      "OBR|2",
      "SPM|2",
      "SAC|||V3",
      "ORC|NW|C",
      "OBR|3",
    );
    expect(groups.map(inShort)).toEqual([
      { orc: "A", obrs: ["1"], specimens: [["1", ["V1", "V2"]]], others: ["OBX", "NTE"] },
      { orc: "B", obrs: ["2"], specimens: [["1", ["V1", "V2"]]], others: ["OBX"] },
      { orc: "C", obrs: ["3"], specimens: [["2", ["V3"]]], others: [] },
    ]);
    expect(groups[1]?.segments.map((segment) => segment.name)).toEqual([
      "SPM",
      "OBX",
      "SAC",
      "SAC",
      "ORC",
      "OBR",
    ]);
  });

  it("OML^O33 is known by its trigger when MSH-9.3 is empty", () => {
    expect(groupsOf("OML^O33", "SPM|1", "SAC|||V1", "ORC|NW|A", "OBR|1").map(inShort)).toEqual([
      { orc: "A", obrs: ["1"], specimens: [["1", ["V1"]]], others: [] },
    ]);
  });

  it("OML^O35: an order has the one container that it stands below", () => {
    const groups = groupsOf(
      "OML^O35^OML_O35",
      "SPM|1",
      "SAC|||V1",
      "ORC|NW|A",
      "OBR|1",
      "SAC|||V2",
      "ORC|NW|B",
      "OBR|2",
      "SPM|2",
      "SAC|||V3",
      "ORC|NW|C",
      "OBR|3",
    );
    expect(groups.map(inShort)).toEqual([
      { orc: "A", obrs: ["1"], specimens: [["1", ["V1"]]], others: [] },
      { orc: "B", obrs: ["2"], specimens: [["1", ["V2"]]], others: [] },
      { orc: "C", obrs: ["3"], specimens: [["2", ["V3"]]], others: [] },
    ]);
    expect(groups[1]?.segments.map((segment) => segment.name)).toEqual(["SPM", "SAC", "ORC", "OBR"]);
  });

  it("are none in a message without ORC and OBR", () => {
    expect(groupsOf("ADT^A04")).toEqual([]);
  });

  it("serve as the scope of paths", () => {
    const message = Hl7Message.parse(
      messageOf("OML^O21", "PID|1||A17", "ORC|NW|A", "OBR|1", "ORC|NW|B", "OBR|2"),
    );
    expect(orderParts(message, "ORC").groups.map((group) => message.get("OBR-1", group.segments))).toEqual([
      "1",
      "2",
    ]);
  });
});

test("each segment is shared by all orders or belongs to one at least, in whatever order they come", () => {
  const type = fc.constantFrom("ORM^O01", "OML^O21^OML_O21", "OML^O33^OML_O33", "OML^O35^OML_O35");
  const segments = fc.array(fc.constantFrom("ORC|NW|A", "OBR|1", "SPM|1", "SAC|||V1", "OBX|1", "NTE|1"), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(type, segments, fc.constantFrom("ORC", "OBR"), (messageType, body, each) => {
      const message = Hl7Message.parse(messageOf(messageType, "PID|1||A17", ...body));
      let groups: OrderGroup[] = [];
      if (failureOf(() => (groups = orderParts(message, each).groups)) !== undefined) return;
      const owned = new Set(groups.flatMap((group) => group.segments));
      expect(message.segments.filter((segment) => !owned.has(segment))).toEqual(
        orderParts(message, each).shared,
      );
      for (const group of groups) {
        const { obrs, specimens } = group;
        if (each === "OBR") expect(obrs.length).toBeLessThanOrEqual(1);
        // What stands for a container is among the segments of its group, once.
        const listed = specimens.flatMap(({ spm, containers }) => [...(spm ? [spm] : []), ...containers]);
        const stand = group.segments.filter(({ name }) => name === "SPM" || name === "SAC");
        expect(new Set(listed)).toEqual(new Set(stand));
        expect(listed).toHaveLength(stand.length);
      }
    }),
    { numRuns: 500 },
  );
});

describe("the orders of a message where each OBR is one", () => {
  it("have the ORC, what stands before the first OBR, and what follows their own", () => {
    const segments = [
      "ORC|NW|A",
      "NTE|1",
      "OBR|1",
      "OBX|1",
      "SPM|1",
      "SAC|||V1",
      "OBR|2",
      "SAC|||V2",
      "ORC|NW|B",
      "OBR|3",
    ];
    expect(groupsBy("OBR", "OML^O21", ...segments).map(inShort)).toEqual([
      { orc: "A", obrs: ["1"], specimens: [["1", ["V1"]]], others: ["NTE", "OBX"] },
      { orc: "A", obrs: ["2"], specimens: [[undefined, ["V2"]]], others: ["NTE"] },
      { orc: "B", obrs: ["3"], specimens: [], others: [] },
    ]);
  });

  it("share the specimen that stands before them in OML^O33", () => {
    const segments = ["SPM|1", "SAC|||V1", "ORC|NW|A", "OBR|1", "OBR|2"];
    const specimens = [["1", ["V1"]]];
    expect(groupsBy("OBR", "OML^O33", ...segments).map(inShort)).toEqual([
      { orc: "A", obrs: ["1"], specimens, others: [] },
      { orc: "A", obrs: ["2"], specimens, others: [] },
    ]);
  });

  it("are refused where more OBRs share an ORC than can be listed", () => {
    const notes = new Array<string>(2_000).fill("NTE|1");
    const obrs = new Array<string>(2_000).fill("OBR|1");
    const failure = failureOf(() => groupsBy("OBR", "ORM^O01", "ORC|NW|A", ...notes, ...obrs));
    expect(failure).toMatchObject({ code: "HL7_STRUCTURE", place: "ORC" });
  });
});

describe("orders that cannot be distinguished for certain", () => {
  it.each([
    ["a second patient", "OML^O21", ["ORC|NW|A", "OBR|1", "PID|2||B9", "ORC|NW|B"], "PID"],
    ["a container before its order in OML^O21", "OML^O21", ["SAC|||V1", "ORC|NW|A", "OBR|1"], "SAC"],
    ["a container after its order in OML^O33", "OML^O33", ["SPM|1", "ORC|NW|A", "SAC|||V1"], "SAC"],
    ["a specimen without order at the end of OML^O33", "OML^O33", ["ORC|NW|A", "OBR|1", "SPM|1"], "SPM"],
    [
      "orders before the specimen of others in OML^O33",
      "OML^O33",
      ["ORC|NW|A", "OBR|1", "SPM|1", "ORC|NW|B"],
      "SPM",
    ],
    ["a specimen without order inside OML^O33", "OML^O33", ["SPM|1", "SAC|||V1", "SPM|2", "ORC|NW|A"], "SPM"],
    ["a specimen with a note without order", "OML^O33", ["SPM|1", "NTE|1", "SPM|2", "ORC|NW|A"], "SPM"],
    ["a container with a note without order", "OML^O35", ["SPM|1", "SAC|||V1", "NTE|1", "SPM|2"], "SAC"],
    ["an OBR before its ORC", "ORM^O01", ["OBR|1|A", "ORC|NW|A"], "OBR"],
    ["OBRs before their ORCs", "OML^O21", ["OBR|1|A", "ORC|NW|A", "OBR|2|B", "ORC|NW|B"], "OBR"],
    ["a container without order in OML^O35", "OML^O35", ["SPM|1", "SAC|||V1", "SAC|||V2", "ORC|NW|A"], "SAC"],
  ])("are refused: %s", (_, type, segments, named) => {
    const failure = failureOf(() => groupsOf(type, ...segments));
    expect(failure?.code).toBe("HL7_STRUCTURE");
    expect(failure?.message).toMatch(new RegExp(`segment \\d+ \\(${named}\\)`));
    expect(failure?.place).toMatch(new RegExp(`^${named}(\\[\\d\\])?$`));
  });

  it.each([
    ["DSC", messageOf("ORM^O01", "ORC|NW|A", "OBR|1", "DSC|more|F")],
    ["ADD", messageOf("OML^O21", "ORC|NW|A", "OBR|1", "SPM|1|VIAL-00", "ADD|12||SEM")],
    ["MSH-14", messageOf("ORM^O01", "ORC|NW|A").replace("|2.5\r", "|2.5||more\r")],
  ])("are refused: a part of a longer message, shown by %s", (place, text) => {
    const failure = failureOf(() => orderParts(Hl7Message.parse(text), "ORC").groups);
    expect(failure).toMatchObject({ code: "HL7_CONTINUED", place });
  });

  it("are refused: more orders on one specimen than can be listed", () => {
    const segments = ["SPM|1", ...Array.from({ length: 2_000 }, () => "SAC|||V")];
    const orders = Array.from({ length: 2_000 }, () => "ORC|NW|A");
    expect(failureOf(() => groupsOf("OML^O33", ...segments, ...orders))?.code).toBe("HL7_STRUCTURE");
  });
});
