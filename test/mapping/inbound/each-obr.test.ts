import { describe, expect, test } from "vitest";
import { placeText } from "../../../src/core/place.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne, problemsOf } from "../mapped.ts";
import { acknowledged, changed, outcomeOrder, segmentsOf } from "../outcomes.ts";

const PID = "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F";
const EACH: ProfileDefinition = { orders: { each: "OBR" } };
const TWO = [
  PID,
  "PV1|1|O|NORTH",
  "ORC|NW|GRP-7^LAB",
  "OBR|1|LAB-1^LAB||CRYO-STORE|||||||||||SEM&Semen^^STRAW-1",
  "OBR|2|LAB-2^LAB||CRYO-RETRIEVE|||||||||||SEM&Semen^^STRAW-2",
];

async function map(segments: readonly string[], definition: ProfileDefinition = EACH, type = "ORM^O01") {
  return mapOne(await hl7Profile(definition), hl7Message(hl7Text(type, segments)));
}

/** The number, what is to be done, and the labels of each order. */
async function ordersOf(...given: Parameters<typeof map>) {
  const { orders } = await map(...given);
  return orders.map(({ placerOrderNumber, operation, containers }) => [
    placerOrderNumber,
    operation,
    containers.map(({ label }) => label).join(),
  ]);
}

const orcs = (segments: readonly string[] | undefined) =>
  segments?.filter((segment) => segment.startsWith("ORC|")).map((segment) => segment.split("|"));

describe("several OBRs with numbers of their own below one ORC", () => {
  test("are refused unless the profile says that each is an order, and the hint names the setting", async () => {
    const obrs = TWO.filter((segment) => !segment.startsWith("ORC"));
    for (const segments of [TWO, [...obrs.slice(0, 2), "ORC|NW", ...obrs.slice(2)]]) {
      const { verdict, problems } = await map(segments, {});
      expect(verdict).toBe("refused");
      expect(problems.map(({ code }) => code)).toContain("MAPPING_VALUES_DISAGREE");
      expect(problems.map(({ hint }) => hint).join("\n")).toContain(
        "`orders: { each: OBR }` in profile test",
      );
      expect(problems.map(({ message }) => message).join("\n")).not.toContain("each: OBR");
    }
  });

  test("are an order each, with the ORC's values, whatever number ORC has", async () => {
    expect(await ordersOf(TWO)).toEqual([
      ["LAB-1", "STORE", "STRAW-1"],
      ["LAB-2", "RETRIEVAL", "STRAW-2"],
    ]);
    const byOrc = { ...EACH, facility: "ORC-17.1" };
    const segments = TWO.map((segment) =>
      segment.startsWith("ORC") ? `${segment}|||||||||||||||NORTH` : segment,
    );
    const { orders } = await map(segments, byOrc);
    expect(orders.map(({ facilityCode }) => facilityCode)).toEqual(["NORTH", "NORTH"]);
  });

  test("have the specimens and containers that stand below them", async () => {
    const segments = [
      ...[PID, "PV1|1|O|NORTH", "ORC|NW"],
      ...["OBR|1|LAB-1||CRYO-STORE", "SPM|1|||SEM^Semen", "SAC|||V-1", "SAC|||V-2"],
      ...["OBR|2|LAB-2||CRYO-STORE", "SPM|2|||OOC^Oocyte", "SAC|||V-3"],
    ];
    expect(await ordersOf(segments, EACH, "OML^O21^OML_O21")).toEqual([
      ["LAB-1", "STORE", "V-1,V-2"],
      ["LAB-2", "STORE", "V-3"],
    ]);
  });

  test("are refused where one has no number, or no container of its own", async () => {
    const withoutNumber = TWO.map((segment) => segment.replace("OBR|2|LAB-2^LAB", "OBR|2|"));
    expect((await map(withoutNumber)).problems).toMatchObject([{ place: "message 1, OBR[2]-2.1" }]);
    const withoutLabel = TWO.map((segment) => segment.replace("^^STRAW-1", ""));
    const { problems } = await map(withoutLabel);
    expect(problems).toHaveLength(1);
    expect(placeText(problems[0]?.place ?? {})).toContain("OBR");
  });

  test("are named by number and OBR wherever something below them is wrong", async () => {
    const definition = {
      ...EACH,
      containers: {
        each: "NTE[3^=LABEL=]",
        label: { from: "NTE-3", as: { regex: { match: "^LABEL=(.+)$", replace: "$1" } } },
      },
    };
    const { problems } = await map(
      [
        ...[PID, "PV1|1|O|NORTH", "NTE|1||of the patient", "ORC|NW|GRP-7"],
        ...["OBR|1|LAB-1||CRYO-STORE", "NTE|1||LABEL=V-1"],
        ...["OBR|2|LAB-2||CRYO-STORE", "NTE|1||LABEL=V-2", "NTE|2||LABEL="],
        ...["OBR|3|LAB-3||CRYO-STORE", "NTE|1||no label"],
        ...["OBR|4|||CRYO-STORE", "NTE|1||LABEL="],
        ...["OBR|5|LAB-5||CRYO-MOVE", "NTE|1||LABEL=V-5"],
      ],
      definition,
    );
    expect(problems.map(({ place, message }) => `${placeText(place)}: ${message}`)).toEqual([
      "message 1, order LAB-2 (OBR[2]), NTE[4]-3: does not have the expected form",
      "message 1, order LAB-3, OBR[3]: no container (NTE) in the order, expected at least one for STORE",
      "message 1, OBR[4]-2.1: is empty; the order number is expected",
      "message 1, OBR[4], NTE[6]-3: does not have the expected form",
      'message 1, order LAB-5, OBR[5]-4.1: holds "CRYO-MOVE", expected one of CRYO-STORE, CRYO-RETRIEVE',
    ]);
  });

  test("are not named where something is wrong that they share", async () => {
    const { problems } = await map(
      TWO.map((segment) => segment.replace("NORTH^MR", "NORTH^XX~7^^^NORTH^XX")),
    );
    expect(problems.map(({ place }) => place)).toEqual(["message 1, PID-3"]);
  });

  test("are one order where they have one number", async () => {
    const same = TWO.map((segment) => segment.replace("LAB-2^LAB||CRYO-RETRIEVE", "LAB-1^LAB||CRYO-STORE"));
    expect(await ordersOf(same)).toEqual([["LAB-1", "STORE", "STRAW-1,STRAW-2"]]);
  });

  test("may have the number in OBR-3", async () => {
    const segments = TWO.map((segment) => segment.replace(/^(OBR\|\d)\|(LAB-\d)\^LAB\|/, "$1||$2"));
    expect(
      (await ordersOf(segments, { ...EACH, placerOrderNumber: "OBR-3.1" })).map(([number]) => number),
    ).toEqual(["LAB-1", "LAB-2"]);
  });

  test("are cancelled one by one, or by ORC-2 of a request without OBR", async () => {
    const numbers = async (segments: readonly string[]) =>
      (await map(segments)).controlRequests?.map(({ control, placerOrderNumber }) => [
        control,
        placerOrderNumber,
      ]);
    expect(await numbers([PID, "ORC|CA|GRP-7", "OBR|1|LAB-1", "OBR|2|LAB-2"])).toEqual([
      ["cancel", "LAB-1"],
      ["cancel", "LAB-2"],
    ]);
    expect(await numbers([PID, "ORC|CA|LAB-2"])).toEqual([["cancel", "LAB-2"]]);
  });

  test("is a setting for HL7 alone", async () => {
    expect(await problemsOf({ extends: "builtin/csv-orders", ...EACH })).toEqual([
      "orders: is for HL7 profiles",
    ]);
  });
});

describe("what is sent about one of several OBRs below an ORC", () => {
  const text = hl7Text("ORM^O01", TWO);
  const order = (n: number, state: "received" | "completed") =>
    outcomeOrder({ orderId: `o${n}`, placerOrderNumber: `LAB-${n}`, requestId: n, state });

  test("is the result of that order alone, with its number in ORC-2 too", async () => {
    const segments = segmentsOf(changed(order(2, "completed"), text), await hl7Profile(EACH));
    const all = segments?.join("\r");
    expect(orcs(segments)).toMatchObject([{ 2: "LAB-2^LAB", 3: "R2^CRYOBRIDGE" }]);
    expect(segments?.find((segment) => segment.startsWith("OBR|"))).toMatch(/^OBR\|1\|LAB-2\^LAB\|R2\^/);
    expect(all).not.toMatch(/LAB-1|GRP-7/);
  });

  test("is an answer with an ORC for each", async () => {
    const outcome = acknowledged([order(1, "received"), order(2, "received")], text);
    const segments = segmentsOf(outcome, await hl7Profile(EACH));
    expect(orcs(segments)).toMatchObject([
      { 1: "OK", 2: "LAB-1^LAB" },
      { 1: "OK", 2: "LAB-2^LAB" },
    ]);
    expect(segments?.map((segment) => segment.slice(0, 3))).toEqual([
      "MSH",
      "MSA",
      "PID",
      "ORC",
      "OBR",
      "ORC",
      "OBR",
    ]);
  });

  test("says of a repeat how each of them stands", async () => {
    const cancelled = outcomeOrder({ placerOrderNumber: "LAB-1", state: "cancelled" });
    const outcome = acknowledged([cancelled, order(2, "received")], text, true);
    expect(orcs(segmentsOf(outcome, await hl7Profile(EACH)))).toMatchObject([
      { 1: "UA", 2: "LAB-1^LAB", 5: "CA" },
      { 1: "OK", 2: "LAB-2^LAB", 5: "SC" },
    ]);
  });
});

test.each(["ORC", "OBR"] as const)(
  "two orders with one number are refused where each %s has its own by the profile",
  async (each) => {
    const segments = [
      PID,
      "PV1|1|O|NORTH",
      ...["1", "2"].flatMap((n) => [
        "ORC|NW|LAB-1",
        `OBR|${n}|LAB-1||CRYO-STORE|||||||||||SEM&Semen^^STRAW-${n}`,
      ]),
    ];
    const { orders } = await map(segments, { orders: { each } });
    expect(orders.map(({ containers }) => containers.length)).toEqual([2]);
    const { problems } = await map(segments, { orders: { each, sameNumber: "refuse" } });
    expect(problems).toMatchObject([
      {
        code: "MAPPING_VALUES_DISAGREE",
        message: expect.stringMatching(
          new RegExp(`gives the same order number as .*expected .* for each ${each}`),
        ),
      },
    ]);
    expect(placeText(problems[0]?.place ?? {})).toMatch(/\[2\]-2/);
  },
);
