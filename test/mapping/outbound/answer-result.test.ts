import { describe, expect, test } from "vitest";
import type { Problem } from "../../../src/core/failures.ts";
import type { MessageAnswer } from "../../../src/mapping/outbound/answer-hl7.ts";
import { at } from "../../support/places.ts";
import { hl7Profile, hl7Text, problemsOf } from "../mapped.ts";
import {
  acknowledged,
  createReplier,
  ORIGINAL,
  outcomeOrder,
  refused,
  segmentsOf,
  waiting,
} from "../outcomes.ts";

/** For a lab that reads ORU alone. */
const profile = (results: Record<string, unknown> = {}) =>
  hl7Profile({ results: { formats: { acknowledged: "oru", refused: "oru", waiting: "oru" }, ...results } });

const DATE: Problem = {
  code: "MAPPING_DATE_INVALID",
  place: at("message 1, PID-7"),
  message: "has only a year",
};
const WEST: Problem = {
  code: "MAPPING_FACILITY_UNKNOWN",
  place: at("message 1, MSH-4.1"),
  message: 'names facility "WEST", which is not known here',
};
const shapes = (segments: readonly string[] | undefined) => segments?.slice(1);

describe("an answer to a lab that reads ORU alone", () => {
  test("refuses an order by ORC-1 UA, OBR-25 X, the reason in NTE and the control id in OBX", async () => {
    const segments = segmentsOf(refused([DATE]), await profile());
    expect(segments?.[0]).toContain("|ORU^R01^ORU_R01|CB0000000005|P|2.5.1");
    expect(shapes(segments)).toEqual([
      "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F",
      "ORC|UA|LAB-1^NORTHLAB||GRP-7",
      "OBR|1|LAB-1^NORTHLAB||CRYO-STORE^Cryogenic storage^L|||20261120130607+0000|||||||||||||||20261120130607+0000|||X",
      "NTE|1|L|message 1, PID-7: has only a year",
      "OBX|1|ST|CRYO-MESSAGE^Control id of the order's message^L||MSG-1||||||F|||20261120130607+0000",
      "OBX|2|TX|CRYO-STATUS^Order status^L||Refused; nothing was done||||||F|||20261120130607+0000",
    ]);
  });

  test("says of one that waits that it is on hold, and what for", async () => {
    const segments = segmentsOf(waiting([WEST]), await profile());
    expect(segments?.find((segment) => segment.startsWith("ORC"))).toBe("ORC|OH|LAB-1^NORTHLAB||GRP-7|HD");
    expect(segments?.join("\n")).toContain(
      'NTE|1|L|On hold, nothing was done yet: message 1, MSH-4.1: names facility "WEST", which is not known here',
    );
    expect(segments?.join("\n")).toContain("||On hold, nothing was done yet|");
  });

  test("accepts an order by ORC-1 OK", async () => {
    const segments = segmentsOf(acknowledged([outcomeOrder({ state: "received" })]), await profile());
    expect(segments?.find((segment) => segment.startsWith("ORC"))).toBe("ORC|OK|LAB-1^NORTHLAB||GRP-7|SC");
  });

  test.each([
    ["abgelehnt", refused([DATE])],
    ["wartet", waiting([WEST])],
  ])("says in the lab's word that it is %s", async (word, outcome) => {
    const status = { refused: "abgelehnt", waiting: "wartet" };
    const segments = segmentsOf(outcome, await profile({ words: { status } }));
    expect(segments?.find((segment) => segment.includes("CRYO-STATUS"))?.split("|")[5]).toBe(word);
  });

  test("says nothing of how an order stands that came again", async () => {
    const repeat = acknowledged([outcomeOrder({ state: "completed" })], ORIGINAL, true);
    const segments = segmentsOf(repeat, await profile());
    expect(segments?.find((segment) => segment.startsWith("ORC"))).toBe("ORC|OK|LAB-1^NORTHLAB||GRP-7");
    expect(segments?.find((segment) => segment.startsWith("OBR"))).toMatch(/\+0000$/);
    expect(segments?.join("\n")).not.toContain("CRYO-STATUS");
    expect(segments?.join("\n")).toContain(
      "NTE|1|L|This message was received before; nothing was started again.",
    );
  });

  test("has an ORC and an OBR for each order", async () => {
    const text = hl7Text("ORM^O01", ["PID|1||A", "ORC|NW|1", "OBR|1|1||X", "ORC|NW|2", "OBR|1|2||X"]);
    const segments = segmentsOf(refused([DATE], text), await profile());
    expect(
      segments?.filter((segment) => /^(?:ORC|OBR)/.test(segment)).map((each) => each.slice(0, 8)),
    ).toEqual([...["ORC|UA|1", "OBR|1|1|", "ORC|UA|2", "OBR|2|2|"]]);
  });

  describe("about several orders", () => {
    const three = hl7Text("ORM^O01", [
      "PID|1||A",
      ...[1, 2, 3].flatMap((n) => [`ORC|NW|${n}`, `OBR|1|${n}||X`, `OBX|1|ST|TUBE||T-${n}`]),
    ]);
    const LABEL: Problem = {
      code: "MAPPING_VALUE_INVALID",
      place: at("message 1, order 2 (ORC[2]), OBX[2]-5.1"),
      message: "is no label",
    };
    const TAKEN: Problem = {
      code: "ORDER_NUMBER_REUSED",
      place: at("message 1, ORC[2]-2.1"),
      message: "is taken",
      orderNumbers: ["2"],
    };
    const facts = async (problems: readonly Problem[], results: object = {}) =>
      segmentsOf(
        refused(problems, three),
        await hl7Profile({ results: { formats: { refused: "oru" }, ...results } }),
      )
        ?.filter((segment) => /^(?:ORC|OBR|NTE)/.test(segment))
        .map((segment) =>
          segment
            .split("|")
            .slice(0, segment.startsWith("OBR") ? 3 : 4)
            .join("|"),
        );

    test("gives each its own reasons, and the others the mistake of another one", async () => {
      expect(await facts([LABEL])).toEqual([
        ...["ORC|UA|1|", "OBR|1|1", "NTE|1|L|another order of the message was refused"],
        ...["ORC|UA|2|", "OBR|2|2", "NTE|1|L|message 1, order 2 (ORC[2]), OBX[2]-5.1: is no label"],
        ...["ORC|UA|3|", "OBR|3|3", "NTE|1|L|another order of the message was refused"],
      ]);
      const reasons = { MAPPING_VALUE_INVALID: "kein Etikett", otherOrder: "anderer Auftrag" };
      expect((await facts([LABEL], { reasons }))?.filter((each) => each.startsWith("NTE"))).toEqual([
        "NTE|1|L|anderer Auftrag",
        "NTE|1|L|message 1, order 2 (ORC[2]), OBX[2]-5.1: kein Etikett",
        "NTE|1|L|anderer Auftrag",
      ]);
    });

    test("gives all of them what is wrong with the message", async () => {
      const notes = (await facts([DATE]))?.filter((each) => each.startsWith("NTE"));
      expect(notes).toEqual(new Array(3).fill("NTE|1|L|message 1, PID-7: has only a year"));
    });

    test("names those whose number is their own, and not the one whose number another order has", async () => {
      expect(await facts([TAKEN])).toEqual([
        ...["ORC|UA|1|", "OBR|1|1", "NTE|1|L|another order of the message was refused"],
        ...["ORC|UA|3|", "OBR|2|3", "NTE|1|L|another order of the message was refused"],
        ...["OBR|3|", "NTE|1|L|message 1, ORC[2]-2.1: is taken"],
      ]);
    });

    test("has them in ORC-16 of an order response", async () => {
      const orcs = segmentsOf(refused([LABEL, TAKEN], three), await hl7Profile())?.filter((each) =>
        each.startsWith("ORC"),
      );
      expect(orcs).toEqual([
        "ORC|UA|1||||||||||||||^another order of the message was refused",
        "ORC|UA|3||||||||||||||^another order of the message was refused",
      ]);
    });
  });

  test("names no order whose number another one has, and no order where none can be told", async () => {
    const taken: Problem = {
      code: "ORDER_NUMBER_REUSED",
      place: at("message 1"),
      message: "another order has it",
    };
    for (const [problem, text] of [
      [taken, ORIGINAL],
      [DATE, hl7Text("ORM^O01", ["PID|1||A", "SPM|1"])],
    ] as const) {
      const segments = segmentsOf(refused([problem], text), await profile());
      expect(segments?.map((segment) => segment.slice(0, 3))).toEqual([
        "MSH",
        "PID",
        "OBR",
        "NTE",
        "OBX",
        "OBX",
      ]);
      expect(segments?.[2]).toMatch(/^OBR\|1\|\|\|MESSAGE\^Answer to a message\^L\|/);
    }
  });

  test("goes out besides the acknowledgement of a connection", async () => {
    const answer = refused([DATE]);
    const settings = { form: "plain", applicationAck: "connection" } as const;
    const isWhole = async (given: Awaited<ReturnType<typeof profile>>) =>
      createReplier(answer.message, given, settings).isWhole(answer as MessageAnswer);
    expect(await isWhole(await profile())).toBe(false);
    expect(await isWhole(await hl7Profile())).toBe(true);
  });

  test("is no SSU, which has no place for it", async () => {
    const definition = { extends: "builtin/hl7-orders", results: { formats: { refused: "ssu" } } } as const;
    expect(await problemsOf(definition)).toEqual([
      "results.formats.refused: ssu is about containers, and an answer has none; expected oru or orm",
    ]);
  });
});
