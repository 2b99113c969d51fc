import { describe, expect, it } from "vitest";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { mergeGroups } from "../../../src/mapping/inbound/merge-hl7.ts";
import { failureOf } from "./failure-of.ts";
import { messageOf } from "./sample.ts";

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

  it("may lack an MRG, which whoever reads them tells", () => {
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
