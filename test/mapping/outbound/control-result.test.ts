import { describe, expect, test } from "vitest";
import type { ControlAnswer } from "../../../src/core/outcome.ts";
import { phi } from "../../../src/core/phi.ts";
import { hl7Profile, hl7Text } from "../mapped.ts";
import {
  acknowledged,
  CANCEL,
  controlled,
  GRANTED,
  outcomeOrder,
  REFUSED,
  segmentsOf,
  UNKNOWN,
} from "../outcomes.ts";

const PID = "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F";
const asResult = (results: Record<string, unknown> = {}) =>
  hl7Profile({ results: { controlAnswers: "result", ...results } });

const fieldsOf = (segments: readonly string[] | undefined, name: string) =>
  segments?.filter((segment) => segment.startsWith(`${name}|`)).map((segment) => segment.split("|"));

const namesOf = (segments: readonly string[] | undefined) => segments?.map((segment) => segment.slice(0, 3));

describe("the answer to a request about an earlier order, as a result", () => {
  test("is ORU^R01 with the order's number, the reason and the decision in words", async () => {
    const segments = segmentsOf(controlled([REFUSED]), await asResult());
    expect(namesOf(segments)).toEqual(["MSH", "PID", "ORC", "OBR", "NTE", "OBX", "OBX", "OBX"]);
    expect(segments?.[0]).toContain("|ORU^R01^ORU_R01|CB0000000005|");
    expect(segments?.[1]).toBe(PID);
    expect(fieldsOf(segments, "ORC")).toMatchObject([
      { 1: "UC", 2: "LAB-1^NORTHLAB", 3: "R123^CRYOBRIDGE", 4: "GRP-7", 5: "CM" },
    ]);
    expect(fieldsOf(segments, "ORC")?.[0]?.[16]).toMatch(/^CANCEL_TOO_LATE\^/);
    expect(fieldsOf(segments, "OBR")).toMatchObject([
      { 1: "1", 2: "LAB-1^NORTHLAB", 3: "R123^CRYOBRIDGE", 4: "X", 25: "F" },
    ]);
    expect(fieldsOf(segments, "OBX")).toMatchObject([
      {
        1: "1",
        2: "TX",
        3: "CRYO-REQUEST^Decision on the request^L",
        5: "The order is not cancelled: the order was completed before it could be cancelled",
        11: "F",
      },
      { 1: "2", 3: "CRYO-STATUS^Order status^L", 5: "Stored: 1 container" },
      { 1: "3", 3: "CRYO-PROCEDURE^Procedure^L" },
    ]);
  });

  test("has fields of the site's own in the OBX with the decision", async () => {
    const fields = { "OBX[3.1=CRYO-REQUEST]-3.3": "99LAB" };
    const segments = segmentsOf(controlled([GRANTED]), await asResult({ fields }));
    expect(fieldsOf(segments, "OBX")?.[0]?.[3]).toBe("CRYO-REQUEST^Decision on the request^99LAB");
  });

  test("says that the order is cancelled when it is", async () => {
    const segments = segmentsOf(controlled([GRANTED]), await asResult());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: "CR", 5: "CA" }]);
    expect(fieldsOf(segments, "OBR")).toMatchObject([{ 25: "X" }]);
    expect(fieldsOf(segments, "NTE")).toEqual([]);
    expect(fieldsOf(segments, "OBX")?.[0]).toMatchObject({ 5: "The order is cancelled" });
  });

  test("has the decision in the lab's words", async () => {
    const reasons = {
      cancelled: "Storniert",
      cancel_refused: "Storno abgelehnt",
      CANCEL_TOO_LATE: "zu spät",
    };
    const decision = async (answer: ControlAnswer) => {
      const segments = segmentsOf(controlled([answer]), await asResult({ reasons }));
      return fieldsOf(segments, "OBX")?.[0]?.[5];
    };
    expect(await decision(GRANTED)).toBe("Storniert");
    expect(await decision(REFUSED)).toBe("Storno abgelehnt: zu spät");
  });

  test("of an order that there is not says so, also without OBR in the request", async () => {
    const text = hl7Text("ORM^O01", [PID, "ORC|CA|LAB-9"]);
    const segments = segmentsOf(controlled([UNKNOWN], text), await asResult());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: "UC", 2: "LAB-9", 5: "ER" }]);
    expect(fieldsOf(segments, "OBR")).toMatchObject([
      { 2: "LAB-9", 4: "CANCEL^Cancellation of an order^L", 25: "Y" },
    ]);
    expect(fieldsOf(segments, "OBX")).toMatchObject([
      { 5: "The order is not cancelled: there is no such order" },
    ]);
  });

  test("has an ORC and an OBR for each order of the request", async () => {
    const text = hl7Text("ORM^O01", [PID, "ORC|CA|LAB-1", "OBR|1|LAB-1", "ORC|CA|LAB-9", "OBR|2|LAB-9"]);
    const segments = segmentsOf(controlled([GRANTED, UNKNOWN], text), await asResult());
    expect(fieldsOf(segments, "ORC")?.map(([, code, number]) => [code, number])).toEqual([
      ["CR", "LAB-1"],
      ["UC", "LAB-9"],
    ]);
    expect(fieldsOf(segments, "OBR")?.map(([, id, number]) => [id, number])).toEqual([
      ["1", "LAB-1"],
      ["2", "LAB-9"],
    ]);
  });

  test("names each order's own subject where the request names none, and nobody for an order that there is not", async () => {
    const text = hl7Text("ORM^O01", ["ORC|CA|LAB-1", "ORC|CA|LAB-2", "ORC|CA|LAB-9"]);
    const other = outcomeOrder({ orderId: "o18", placerOrderNumber: "LAB-2", subjectCode: phi("MRN-2") });
    const answers = [GRANTED, { ...GRANTED, placerOrderNumber: "LAB-2", order: other }, UNKNOWN];
    const segments = segmentsOf(controlled(answers, text), await asResult());
    const seen = segments?.flatMap((segment) => {
      const [name, , number, id] = segment.split("|");
      return name === "PID" ? [id] : name === "ORC" ? [number] : [];
    });
    expect(seen).toEqual(["LAB-9", "MRN-4711", "LAB-1", "MRN-2", "LAB-2"]);
  });

  test("to a question for the state has what is known of the containers", async () => {
    const text = hl7Text("ORM^O01", [PID, "ORC|SS|LAB-1"]);
    const answer = { control: "status", placerOrderNumber: "LAB-1", order: outcomeOrder() } as const;
    const segments = segmentsOf(controlled([answer], text), await asResult());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: "SR", 5: "CM" }]);
    const codes = fieldsOf(segments, "OBX")?.map((fields) => fields[3]?.split("^")[0]);
    expect(codes).toContain("CRYO-CONTAINER");
    expect(codes).not.toContain("CRYO-REQUEST");
  });

  test.each([
    ["orm", "ORM^O01^ORM_O01"],
    ["ssu", "ORU^R01^ORU_R01"],
  ])("with results in format %s is %s", async (format, type) => {
    const segments = segmentsOf(controlled([GRANTED]), await asResult({ format }));
    expect(segments?.[0]).toContain(`|${type}|`);
  });

  test("carries no number that another order has", async () => {
    const order = outcomeOrder({ state: "cancelled", sharesNumber: true });
    const segments = segmentsOf(controlled([{ ...GRANTED, order }]), await asResult());
    expect(segments?.join()).not.toContain("LAB-1");
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 3: "R123^CRYOBRIDGE" }]);
  });
});

describe("a profile with controlAnswers: none", () => {
  test("sends nothing about requests, and its acknowledgement promises no answer", async () => {
    const profile = await hl7Profile({ results: { controlAnswers: "none" } });
    expect(segmentsOf(controlled([GRANTED]), profile)).toBeUndefined();
    const note = fieldsOf(segmentsOf(acknowledged([], CANCEL), profile), "NTE")?.[0];
    expect(note?.[3]).toBe("What is wanted of earlier orders is recorded");
  });

  test("has to send the results of cancelled orders", async () => {
    const results = { controlAnswers: "none" as const, send: ["completed" as const] };
    await expect(hl7Profile({ results })).rejects.toThrow(/none needs cancelled in results.send/);
    await expect(hl7Profile({ cancel: [], results })).resolves.toBeDefined();
  });
});

describe("the fields of an answer to a request", () => {
  const fields = {
    "ORC-20": "{state}",
    "ORC-21": "{orderNumber}: {reasonCode}",
    "ORC-16.1": { cancel_refused: "NO", cancelled: "YES" },
  };

  test.each(["response", "result"] as const)(
    "have the decision as the state, in a %s",
    async (controlAnswers) => {
      const profile = await hl7Profile({ results: { controlAnswers, fields } });
      const orc = (answers: readonly ControlAnswer[]) =>
        fieldsOf(segmentsOf(controlled(answers), profile), "ORC");
      expect(orc([GRANTED])).toMatchObject([{ 16: "YES", 20: "cancelled", 21: "LAB-1: " }]);
      expect(orc([REFUSED])).toMatchObject([
        { 16: expect.stringMatching(/^NO\^/), 20: "cancel_refused", 21: "LAB-1: CANCEL_TOO_LATE" },
      ]);
      expect(orc([{ ...UNKNOWN, placerOrderNumber: "LAB-1" }])).toMatchObject([
        { 20: "cancel_refused", 21: "LAB-1: CANCEL_ORDER_UNKNOWN" },
      ]);
    },
  );

  test("have none where the message decides several requests differently", async () => {
    const text = hl7Text("ORM^O01", [PID, "ORC|CA|LAB-1", "ORC|CA|LAB-9"]);
    const profile = await hl7Profile({ results: { fields } });
    const [orc] = fieldsOf(segmentsOf(controlled([GRANTED, UNKNOWN], text), profile), "ORC") ?? [];
    expect(orc?.[20]).toBe("");
  });
});
