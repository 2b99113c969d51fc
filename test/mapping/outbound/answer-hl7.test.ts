import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { FAILURES, type FailureCode, type Problem } from "../../../src/core/failures.ts";
import { conditionOf } from "../../../src/mapping/outbound/codes.ts";
import { at } from "../../support/places.ts";
import { hl7Profile, hl7Text } from "../mapped.ts";
import {
  acknowledged,
  CANCEL,
  composeHl7,
  ORIGINAL,
  outcomeOrder,
  refused,
  segmentsOf,
  withoutText,
} from "../outcomes.ts";

const PROBLEMS: Problem[] = [
  { code: "MAPPING_DATE_INVALID", place: at("message 1, PID-7"), message: "has only a year" },
  { code: "MAPPING_OPERATION_UNKNOWN", place: at("message 1, OBR[2]-4.1"), message: 'holds "X|Y"' },
];

function fixture(name: string): Promise<string> {
  return readFile(new URL(`../../fixtures/hl7/${name}.hl7`, import.meta.url), "utf8");
}

describe("a message that was taken", () => {
  test("ORM^O01 is answered by ORR^O02 with each order", async () => {
    expect(segmentsOf(acknowledged(), await hl7Profile())).toEqual([
      "MSH|^~\\&|CRYO|STORE|LIMS|NORTH|20261120130607+0000||ORR^O02^ORR_O02|CB0000000005|P|2.5.1||||||UNICODE UTF-8",
      "MSA|AA|MSG-1",
      "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F",
      "ORC|OK|LAB-1^NORTHLAB||GRP-7|SC",
      "OBR|1|LAB-1^NORTHLAB||CRYO-STORE^Cryogenic storage^L|||||||||||SEM&Semen^^STRAW-1",
    ]);
  });

  test("OML^O21 is answered by ORL^O22", async () => {
    const text = await fixture("clinic-oml-o21-two-orders");
    expect(segmentsOf(acknowledged([outcomeOrder()], text), await hl7Profile())).toEqual([
      "MSH|^~\\&|CRYOBRIDGE|STORE|CLINIC|SOUTH|20261120130607+0000||ORL^O22^ORL_O22|CB0000000005|P|2.6||||||UNICODE UTF-8",
      "MSA|AA|CL0002",
      "PID|1||MRN-5001^^^CLI^MR||Muster^Mia||1991-03-04T00:00:00",
      "ORC|OK|C-80^CLINIC|||SC",
      "OBR|1|C-80^CLINIC||CRYO-STORE",
      "ORC|OK|C-81^CLINIC|||SC",
      "OBR|1|C-81^CLINIC||CRYO-RETRIEVE",
    ]);
  });

  test("OML^O33 is answered by ORL^O34 with its specimens first", async () => {
    const text = await fixture("biobank-oml-o33-one-specimen");
    const segments = segmentsOf(acknowledged([outcomeOrder()], text), await hl7Profile());
    expect(segments?.slice(1)).toEqual([
      "MSA|AA|BB0001",
      "PID|1||DON-17^^^BIOBANK^PI||Donor^Dora^^^^^D~Spender^Dora^^^^^L||19700830120000-0500",
      "SPM|1|SP-9||BLD^Blood",
      "SAC|||AL-1",
      "SAC|||AL-2",
      "SAC|||AL-3",
      "ORC|OK|BB-3000|||SC",
      "OBR|1|BB-3000||CRYO-STORE^Store",
    ]);
  });

  test("ADT is answered by a plain ACK", async () => {
    const text = hl7Text("ADT^A04^ADT_A01", ["PID|1||A"], "2.4");
    expect(segmentsOf(acknowledged([], text), await hl7Profile())).toEqual([
      "MSH|^~\\&|CRYO|STORE|LIMS|NORTH|20261120130607+0000||ACK^A04^ACK|CB0000000005|P|2.4||||||UNICODE UTF-8",
      "MSA|AA|MSG-1",
    ]);
  });

  test.each(["A^B", "A&B", "A~B", "A\\X41\\B", "A ", '""', "A"])(
    "is named in MSA-2 as it named itself in MSH-10 (%s)",
    async (id) => {
      const text = ORIGINAL.replace("|MSG-1|", () => `|${id}|`);
      const [, msa] = segmentsOf(acknowledged(undefined, text), await hl7Profile()) ?? [];
      expect(msa).toBe(`MSA|AA|${id}`);
    },
  );

  test("is answered the same when it comes again, with a word that it did", async () => {
    const profile = await hl7Profile();
    const [first, again] = [false, true].map((isDuplicate) =>
      segmentsOf(acknowledged(undefined, undefined, isDuplicate), profile),
    );
    expect(again?.filter((segment) => !segment.startsWith("NTE"))).toEqual(first);
    expect(again?.[2]).toBe("NTE|1|L|This message was received before; nothing was started again.");
  });

  test("has a number of its own in each note", async () => {
    const again = segmentsOf(acknowledged([], CANCEL, true), await hl7Profile());
    expect(again?.filter((segment) => segment.startsWith("NTE"))).toEqual([
      "NTE|1|L|This message was received before; nothing was started again.",
      "NTE|2|L|What is wanted of earlier orders is recorded; the answer follows",
    ]);
  });

  test("has the lab's words alone where its table says that it is recorded, and not that an answer follows", async () => {
    const profile = await hl7Profile({ results: { reasons: { recorded: "Vermerkt" } } });
    const notes = segmentsOf(acknowledged([], CANCEL), profile)?.filter((each) => each.startsWith("NTE"));
    expect(notes).toEqual(["NTE|1|L|Vermerkt"]);
  });
});

describe("a message that places orders again which have ended without effect", () => {
  const TWO = hl7Text("OML^O33^OML_O33", [
    "PID|1||MRN-1^^^N^MR",
    "SPM|1|V-1||SEM",
    "ORC|NW|A-1",
    "OBR|1|A-1||CRYO-STORE",
    "ORC|NW|A-2",
    "OBR|2|A-2||CRYO-STORE",
  ]);
  const orcs = async (first: Parameters<typeof outcomeOrder>[0], isDuplicate: boolean) => {
    const orders = [
      outcomeOrder({ placerOrderNumber: "A-1", ...first }),
      outcomeOrder({ placerOrderNumber: "A-2", state: "received" }),
    ];
    const segments = segmentsOf(acknowledged(orders, TWO, isDuplicate), await hl7Profile());
    return segments?.filter((segment) => segment.startsWith("ORC"));
  };

  test.each([
    ["cancelled", "CA"],
    ["rejected", "CA"],
    ["discarded", "CA"],
    ["failed", "DC"],
  ] as const)("accepts none that is %s, and says how it ended", async (state, status) => {
    for (const isDuplicate of [true, false]) {
      expect(await orcs({ state }, isDuplicate)).toEqual([`ORC|UA|A-1|||${status}`, "ORC|OK|A-2|||SC"]);
    }
  });

  test.each(["in_progress", "completed", "parked"] as const)(
    "accepts one that is %s, and doesn't say again that it is scheduled",
    async (state) => {
      expect(await orcs({ state }, true)).toEqual(["ORC|OK|A-1", "ORC|OK|A-2|||SC"]);
    },
  );

  test("accepts a new one that is parked at once", async () => {
    expect((await orcs({ state: "parked" }, false))?.[0]).toBe("ORC|OK|A-1|||SC");
  });
});

describe("a message that was refused", () => {
  test("gets every reason with its place, and UA for its order", async () => {
    expect(segmentsOf(refused(PROBLEMS), await hl7Profile())).toEqual([
      "MSH|^~\\&|CRYO|STORE|LIMS|NORTH|20261120130607+0000||ORR^O02^ORR_O02|CB0000000005|P|2.5.1||||||UNICODE UTF-8",
      'MSA|AE|MSG-1|message 1, PID-7: has only a year; message 1, OBR[2]-4.1: holds "X\\F\\Y"',
      "ERR||PID^1^7^1|102^Data type error^HL70357|E|MAPPING_DATE_INVALID|||message 1, PID-7: has only a year",
      'ERR||OBR^2^4^1^1|103^Table value not found^HL70357|E|MAPPING_OPERATION_UNKNOWN|||message 1, OBR[2]-4.1: holds "X\\F\\Y"',
      "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F",
      "ORC|UA|LAB-1^NORTHLAB||GRP-7",
      "OBR|1|LAB-1^NORTHLAB||CRYO-STORE^Cryogenic storage^L|||||||||||SEM&Semen^^STRAW-1",
    ]);
  });

  test("in version 2.3 has the codes in ERR-1 and every word in MSA-3", async () => {
    const text = hl7Text("ORM^O01", ["PID|1||A", "ORC|NW|1"], "2.3");
    expect(segmentsOf(refused(PROBLEMS, text), await hl7Profile())?.slice(1, 3)).toEqual([
      'MSA|AE|MSG-1|message 1, PID-7: has only a year; message 1, OBR[2]-4.1: holds "X\\F\\Y"|||102^Data type error^HL70357',
      "ERR|PID^1^7^102&Data type error&HL70357~OBR^2^4^103&Table value not found&HL70357",
    ]);
  });

  test.each([
    ["MAPPING_MESSAGE_TYPE_UNSUPPORTED", "200"],
    ["MAPPING_VERSION_UNSUPPORTED", "203"],
    ["MAPPING_PROCESSING_ID", "202"],
    ["MAPPING_PROCESSING_MODE", "202"],
    ["HL7_CONTINUED", "207"],
  ] as const)("for %s is rejected with AR and %s", async (code, condition) => {
    const outcome = refused([{ code, place: at("message 1, MSH-9"), message: "x" }], hl7Text("SIU^S12", []));
    const segments = segmentsOf(outcome, await hl7Profile());
    expect(segments?.[1]).toMatch(/^MSA\|AR\|MSG-1/);
    expect(segments?.[2]).toContain(`|${condition}^`);
  });

  test.each([
    ["HL7_CHARSET_UNKNOWN", "103"],
    ["HL7_CHARSET_UTF8", "102"],
    ["HL7_UNTERMINATED", "100"],
    ["MAPPING_NO_PATIENT", "101"],
    ["MAPPING_VALUE_MISSING", "101"],
    ["MAPPING_VALUE_INVALID", "102"],
    ["MAPPING_FACILITY_UNKNOWN", "103"],
    ["ORDER_NUMBER_REUSED", "205"],
    ["MAPPING_MODULE_FAILED", "207"],
    ["ORDER_DISCARDED", "207"],
  ] as const)("for %s has %s in ERR-3", async (code, condition) => {
    const segments = segmentsOf(
      refused([{ code, place: at("message 1"), message: "x" }]),
      await hl7Profile(),
    );
    expect(segments?.find((segment) => segment.startsWith("ERR"))?.split("|")[3]).toMatch(
      new RegExp(`^${condition}\\^`),
    );
  });

  test("is an error of the receiver (207) only where nothing is wrong with the message", () => {
    const ofMessages = Object.keys(FAILURES).filter((code) => /^(?:HL7|MAPPING)_/.test(code));
    expect(ofMessages.filter((code) => conditionOf(code as FailureCode) === "207")).toEqual([
      ...["HL7_CONTINUED", "MAPPING_MODULE_REFUSED", "MAPPING_MODULE_FAILED"],
    ]);
  });

  test("for something below one of several orders has it in ERR-2, counted in the message", async () => {
    const place = "message 1, order A-2 (OBR[2]), NTE[3]-3";
    const problems: Problem[] = [{ code: "MAPPING_VALUE_INVALID", place: at(place), message: "x" }];
    const err = segmentsOf(refused(problems), await hl7Profile())?.[2]?.split("|");
    expect([err?.[2], err?.[8]]).toEqual(["NTE^3^3^1", `${place}: x`]);
  });

  test("with a broken segment is answered by what its header says", async () => {
    const problems: Problem[] = [{ code: "HL7_SEGMENT_INVALID", place: at("message 1"), message: "line 2" }];
    const segments = segmentsOf(refused(problems, hl7Text("ORM^O01", ["no segment"])), await hl7Profile());
    expect(segments?.map((segment) => segment.slice(0, 12))).toEqual([
      "MSH|^~\\&|CRY",
      "MSA|AE|MSG-1",
      "ERR|||100^Se",
    ]);
  });

  test.each(["\r\n\n", "\ufeff", "\ufeff\r"])(
    "after %j is answered by what its header says",
    async (before) => {
      const text = before + hl7Text("ORM^O01", ["PID|1||S-1", "ORC|NW|A"]).replaceAll("\r", "\n");
      const segments = segmentsOf(refused(PROBLEMS, text), await hl7Profile());
      expect(segments?.[0]).toContain("|LIMS|NORTH|");
    },
  );

  test("without a readable header has no answer", async () => {
    const outcome = refused([{ code: "HL7_NO_MSH", place: at("message 1"), message: "x" }], "garbage");
    const { messageControlId, ...message } = outcome.message;
    expect(composeHl7({ ...outcome, message }, await hl7Profile())).toBeUndefined();
    expect(composeHl7(withoutText({ ...outcome, message }), await hl7Profile())).toBeUndefined();
  });

  test("is a file named by the first order's number", async () => {
    expect(composeHl7(refused(PROBLEMS), await hl7Profile())?.fileName).toBe("LAB-1_CB0000000005.hl7");
  });
});
