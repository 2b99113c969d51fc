import { describe, expect, it, test } from "vitest";
import type { OutcomeOrder } from "../../../src/core/outcome.ts";
import { phi } from "../../../src/core/phi.ts";
import { placeText } from "../../../src/core/place.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { mergeGroups } from "../../../src/mapping/inbound/merge-hl7.ts";
import { failureOf } from "../../formats/hl7/failure-of.ts";
import { messageOf } from "../../formats/hl7/sample.ts";
import { at } from "../../support/places.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne, plain } from "../mapped.ts";
import { changed, segmentsOf } from "../outcomes.ts";

const PID_1 = "PID|1||MRN-1^^^NORTH^MR||Beispiel^Anna||19840229|F";
const PID_2 = "PID|2||MRN-2^^^NORTH^MR||Muster^Berta||19850301|F";
const TWO = ["EVN|A40", PID_1, "MRG|OLD-1^^^NORTH^MR", PID_2, "MRG|OLD-2^^^NORTH^MR", "PV1|1||SOUTH"];

const textOf = (segments: readonly string[]) => hl7Text("ADT^A40^ADT_A39", segments);

async function map(segments: readonly string[], definition = {}, module?: unknown) {
  return mapOne(await hl7Profile(definition, module), hl7Message(textOf(segments)));
}

describe("a message with several merges", () => {
  test("makes an order of each, in their order and with nothing of another", async () => {
    const facility = { from: ["PV1-3.1", "MSH-4.1"] };
    expect(plain(await map(TWO, { facility }))).toMatchObject({
      verdict: "accepted",
      orders: [
        {
          operation: "MERGE",
          facilityCode: "NORTH",
          subject: { code: "MRN-1", lastName: "Beispiel" },
          priorSubjectCode: "OLD-1",
          sources: { priorSubjectCode: "MRG-1[1].1" },
        },
        {
          operation: "MERGE",
          facilityCode: "SOUTH",
          subject: { code: "MRN-2", lastName: "Muster", dateOfBirth: "1985-03-01" },
          priorSubjectCode: "OLD-2",
          sources: { priorSubjectCode: "MRG[2]-1[1].1", "subject.code": "PID[2]-3[1].1" },
        },
      ],
    });
  });

  test("is refused whole for a mistake in one of them, which is named by its place", async () => {
    const mapped = await map([PID_1, "MRG|OLD-1^^^NORTH^MR", PID_2, "PID|3||MRN-3^^^NORTH^MR", "MRG|OLD-3"]);
    expect(mapped).toMatchObject({ verdict: "refused", orders: [] });
    expect(mapped.problems).toEqual([
      {
        code: "MAPPING_VALUE_MISSING",
        place: at("message 1, MRG[2]-1[5=MR].1 or MRG[2]-1[5=PI].1 or MRG[2]-1.1"),
        message: "is empty; the prior identifier is expected",
      },
    ]);
  });

  test("waits whole for a facility that no table knows", async () => {
    const mapped = await map(TWO, { facility: { from: ["PV1-3.1", "MSH-4.1"], table: { NORTH: "NORTH" } } });
    expect(mapped).toMatchObject({ verdict: "waiting", orders: [] });
    expect(mapped.subjectCodes?.map((code) => code.reveal())).toEqual(["MRN-1", "MRN-2"]);
  });

  test("shows the site's module one of them at a time", async () => {
    const seen: unknown[] = [];
    const order = (
      _order: unknown,
      message: { get(path: string): string | null; count(s: string): number },
    ) => {
      seen.push([message.get("PID.5.1"), message.get("MRG.1.1"), message.count("PID"), message.get("EVN.1")]);
    };
    await map(TWO, { module: "./lab.ts" }, { order });
    expect(seen).toEqual([
      ["Beispiel", "OLD-1", 1, "A40"],
      ["Muster", "OLD-2", 1, "A40"],
    ]);
  });
});

describe("MRG-1 with several identifiers", () => {
  test("gives the one that the profile singles out", async () => {
    const mapped = await map([PID_1, "MRG|77^^^NORTH^PI~OLD-1^^^NORTH^MR"]);
    expect(mapped.orders.map(({ priorSubjectCode }) => priorSubjectCode?.reveal())).toEqual(["OLD-1"]);
  });

  test("is refused where several fit, with what to send instead", async () => {
    const mapped = await map([PID_1, "MRG|OLD-1^^^NORTH^MR", PID_2, "MRG|OLD-2^^^N^MR~OLD-3^^^N^MR"]);
    expect(mapped.problems).toMatchObject([
      {
        code: "MAPPING_SUBJECT_AMBIGUOUS",
        place: at("message 1, MRG[2]-1[1].1 and MRG[2]-1[2].1"),
        message: expect.stringContaining("a merge has one prior identifier, so expected a PID and an MRG"),
      },
    ]);
  });
});

describe("a profile that says where subject codes stand and nothing of MRG", () => {
  const STAYS = "PID|1|E-1|000123^^^NORTHLAB^MR~A-1^^^OTHER^MR|ALT-1|Beispiel^Anna|||||||||||||ACC-1";
  const prior = async (code: unknown, mrg: string) => {
    const { orders, problems } = await map([STAYS, mrg], { subject: { code } });
    return orders
      .map(({ priorSubjectCode }) => priorSubjectCode?.reveal())
      .concat(problems.map(({ place }) => placeText(place)));
  };

  test("means the identifier of the same authority, and no other's", async () => {
    const code = "PID-3[4.1=NORTHLAB&5=MR].1";
    expect(await prior(code, "MRG|7^^^OTHER^MR~000122^^^NORTHLAB^MR")).toEqual(["000122"]);
    expect(await prior(code, "MRG|7^^^OTHER^MR")).toEqual(["message 1, MRG-1[4.1=NORTHLAB&5=MR].1"]);
  });

  test("has it written as subject codes are", async () => {
    const as = ["trim", { regex: { match: "^0*(\\d+)$", replace: "$1" } }];
    expect(await prior({ from: "PID-3[4.1=NORTHLAB].1", as }, "MRG|000122^^^NORTHLAB")).toEqual(["122"]);
  });

  test.each([
    ["PID-2", "MRG-4"],
    ["PID-4", "MRG-2"],
    ["PID-18", "MRG-3"],
  ])("finds what stood in %s in %s", async (code, place) => {
    const mrg = `MRG|in MRG-1|in MRG-2|in MRG-3|in MRG-4`;
    expect(await prior(code, mrg)).toEqual([`in ${place}`]);
  });

  test("refuses a merge where MRG has no counterpart, and takes its own word where it has one", async () => {
    const code = "PID-19";
    const pid = "PID|1||||Beispiel^Anna||||||||||||||SSN-1";
    const { problems } = await map([pid, "MRG|SSN-2"], { subject: { code } });
    expect(problems).toMatchObject([{ code: "MAPPING_VALUE_MISSING", place: at("message 1, MRG-1") }]);
    const { orders } = await map([pid, "MRG|SSN-2"], { subject: { code, priorCode: "MRG-1.1" } });
    expect(orders.map(({ priorSubjectCode }) => priorSubjectCode?.reveal())).toEqual(["SSN-2"]);
  });
});

describe("what is sent about one merge among several", () => {
  const merge: Partial<OutcomeOrder> = {
    operation: "MERGE",
    placerOrderNumber: undefined,
    subjectCode: phi("MRN-2"),
    priorSubjectCode: phi("OLD-2"),
    state: "completed",
    requestId: undefined,
    procedureId: undefined,
    procedureCode: undefined,
    containers: [],
  };

  test("names its own patient and the identifier that goes", async () => {
    const segments = segmentsOf(changed(merge, textOf(TWO)), await hl7Profile()) ?? [];
    expect(segments.filter((segment) => segment.startsWith("PID"))).toEqual([PID_2]);
    expect(segments.find((segment) => segment.includes("CRYO-PRIOR-ID"))?.split("|")[5]).toBe("OLD-2");
  });

  test("never shows another's patient where its own is not found", async () => {
    const other = changed({ ...merge, priorSubjectCode: phi("OLD-1") }, textOf(TWO));
    const segments = segmentsOf(other, await hl7Profile()) ?? [];
    expect(segments.filter((segment) => segment.startsWith("PID"))).toEqual(["PID|1||MRN-2"]);
  });

  test("fills the profile's fields with values of its own segments", async () => {
    const profile = await hl7Profile({ results: { fields: { "OBR-4.2": "{PID-5.1}" } } });
    const segments = segmentsOf(changed(merge, textOf(TWO)), profile) ?? [];
    expect(segments.find((segment) => segment.startsWith("OBR"))).toContain("MERGE^Muster");
  });
});

const groupsOf = (...segments: string[]) =>
  mergeGroups(Hl7Message.parse(messageOf("ADT^A40^ADT_A39", "EVN|A40", ...segments))).map((group) =>
    group.map(({ name, ordinal }) => `${name}${ordinal}`),
  );

describe("the pairs of a merge message", () => {
  it("have each their own segments, and those that stand before the first", () => {
    expect(groupsOf("PID|1", "PD1|1", "MRG|A", "PID|2", "MRG|B", "PV1|1")).toEqual([
      ["PID1", "PD11", "MRG1", "MSH1", "EVN1"],
      ["PID2", "MRG2", "PV11", "MSH1", "EVN1"],
    ]);
  });

  it("may lack an MRG, which whoever reads them reports", () => {
    expect(groupsOf("PID|1", "PID|2", "MRG|B")).toEqual([
      ["PID1", "MSH1", "EVN1"],
      ["PID2", "MRG1", "MSH1", "EVN1"],
    ]);
  });

  it("are one group of all segments in a message without PID", () => {
    expect(groupsOf("MRG|A")).toEqual([["MSH1", "EVN1", "MRG1"]]);
  });

  it.each([
    ["an MRG before its PID", ["MRG|A", "PID|1"], "segment 3 (MRG): it stands before the PID"],
    ["two MRG below one PID", ["PID|1", "MRG|A", "MRG|B"], "segment 5 (MRG): a second MRG below one PID"],
  ])("are not guessed for %s", (_what, segments, text) => {
    const failure = failureOf(() => groupsOf(...segments));
    expect(failure?.code).toBe("HL7_STRUCTURE");
    expect(failure?.message).toContain(text);
  });
});
