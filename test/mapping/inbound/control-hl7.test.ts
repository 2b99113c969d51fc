import { describe, expect, test } from "vitest";
import { builtinProfiles } from "../../../src/mapping/profile/builtin.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^NORTH^MR||Beispiel^Anna||19840229|F";
const NEW = (number: string) => [
  `ORC|NW|${number}`,
  `OBR|1|${number}||CRYO-STORE|||||||||||SEM^^ST-${number}`,
];

async function map(type: string, segments: readonly string[], definition = {}) {
  return mapOne(await hl7Profile(definition), hl7Message(hl7Text(type, segments)));
}

/** Numbers of the requests, with the subject where one is named. */
function controlRequests(mapped: Awaited<ReturnType<typeof map>>) {
  return mapped.controlRequests?.map(({ subjectCode, control: _control, ...request }) => ({
    ...request,
    subject: subjectCode?.reveal(),
  }));
}

describe("an order message with ORC-1 CA", () => {
  test("cancels the order of that placer order number and subject, and orders nothing", async () => {
    const mapped = await map("ORM^O01", [PID, "ORC|CA|A-1", "OBR|1|A-1||CRYO-STORE|||||||||||SEM^^ST-1"]);
    expect(mapped).toMatchObject({ verdict: "accepted", orders: [], problems: [] });
    expect(controlRequests(mapped)).toEqual([{ placerOrderNumber: "A-1", subject: "MRN-1" }]);
  });

  test.each([
    ["without an OBR", "ORM^O01", ["ORC|CA|A-1"]],
    ["with an OBR that has no number", "ORM^O01", ["ORC|CA|A-1", "OBR|1|||X"]],
    ["with the number in OBR-2 alone", "ORM^O01", ["ORC|CA", "OBR|1|A-1||X"]],
    ["with an operation that nobody knows", "OML^O21", ["ORC|CA|A-1", "OBR|1|A-1||NOBODY-KNOWS"]],
    ["with its specimens and containers", "OML^O21", ["ORC|CA|A-1", "OBR|1|A-1||X", "SPM|1|S1", "SAC|||V-1"]],
    ["with its specimen first", "OML^O33", ["SPM|1|S1", "SAC|||V-1", "ORC|CA|A-1", "OBR|1|A-1||X"]],
    ["with a group for each container", "ORM^O01", ["ORC|CA|A-1", "OBR|1|A-1", "ORC|CA|A-1", "OBR|2|A-1"]],
  ])("is one request %s", async (_words, type, segments) => {
    expect(controlRequests(await map(type, [PID, ...segments]))).toEqual([
      { placerOrderNumber: "A-1", subject: "MRN-1" },
    ]);
  });

  test("needs no patient", async () => {
    expect(controlRequests(await map("ORM^O01", ["ORC|CA|A-1"]))).toEqual([
      { placerOrderNumber: "A-1", subject: undefined },
    ]);
  });

  test("may name the order by the filler order number that we gave it", async () => {
    const mapped = await map("ORM^O01", [PID, "ORC|CA||R123^CRYOBRIDGE", "ORC|CA||P77^CRYOBRIDGE"]);
    expect(controlRequests(mapped)).toEqual([
      { fillerNumber: { kind: "request", id: 123 }, subject: "MRN-1" },
      { fillerNumber: { kind: "procedure", id: 77 }, subject: "MRN-1" },
    ]);
  });

  test.each(["ORC|CA||R123^OTHERLAB", "ORC|CA||123^CRYOBRIDGE", "ORC|CA"])(
    "is refused when it names no order: %s",
    async (orc) => {
      expect(await map("ORM^O01", [PID, orc])).toMatchObject({
        verdict: "refused",
        problems: [{ code: "MAPPING_VALUE_MISSING", place: "message 1, ORC-2.1" }],
      });
    },
  );

  test("names the place where the profile reads the number when that is empty", async () => {
    const profile = await hl7Profile({ placerOrderNumber: { from: "ORC-3.1", agree: false } });
    const { problems } = mapOne(profile, hl7Message(hl7Text("ORM^O01", [PID, "ORC|CA|A-1"])));
    expect(problems).toMatchObject([
      {
        place: "message 1, ORC-3.1",
        message: "is empty; expected the number of the order that is meant",
      },
    ]);
  });

  test("may stand beside new orders", async () => {
    const mapped = await map("ORM^O01", [PID, ...NEW("A-2"), "ORC|CA|A-1"]);
    expect(mapped.orders.map((order) => order.placerOrderNumber)).toEqual(["A-2"]);
    expect(controlRequests(mapped)).toEqual([{ placerOrderNumber: "A-1", subject: "MRN-1" }]);
  });

  test("is refused with the whole message when that is wrong elsewhere", async () => {
    const mapped = await map("ORM^O01", [PID, "ORC|NW|A-2", "OBR|1|A-2||CRYO-STORE", "ORC|CA|A-1"]);
    expect(mapped.verdict).toBe("refused");
    expect(mapped.controlRequests).toBeUndefined();
  });

  test("is refused beside a new order of the same number", async () => {
    const mapped = await map("ORM^O01", [PID, ...NEW("A-1"), "ORC|CA|A-1"]);
    expect(mapped).toMatchObject({ verdict: "refused", problems: [{ code: "MAPPING_VALUES_DISAGREE" }] });
  });

  test("is refused for one number of two assigning authorities", async () => {
    const mapped = await map("ORM^O01", [PID, "ORC|CA|1^EAST", "ORC|CA|1^WEST"]);
    expect(mapped.problems).toMatchObject([
      { code: "MAPPING_VALUES_DISAGREE", place: "message 1, ORC-2.2 and ORC[2]-2.2" },
    ]);
  });

  test("keeps its place after a message about the same order that waits for a code table", async () => {
    expect((await map("ORM^O01", [PID, "ORC|CA|A-1"])).orderNumbers).toEqual(["A-1"]);
  });
});

/** An order that is complete but for its order control. */
const PLACED = (control: string) => [`ORC|${control}|A-1`, "OBR|1|A-1||CRYO-STORE|||||||||||SEM^^ST-1"];

describe("the codes that cancel", () => {
  test("are CA and DC in a profile of the site's own that builds on none", async () => {
    const { cancel: _cancel, control: _control, ...own } = builtinProfiles["builtin/hl7-orders"] ?? {};
    for (const code of ["CA", "DC", "HD", "RL", "SS"]) {
      const mapped = await map("ORM^O01", [PID, `ORC|${code}|A-1`], { ...own, extends: undefined });
      expect(controlRequests(mapped)).toEqual([{ placerOrderNumber: "A-1", subject: "MRN-1" }]);
    }
  });

  test("are CA alone where it says so", async () => {
    expect(await map("ORM^O01", [PID, ...PLACED("DC")], { cancel: ["CA"] })).toMatchObject({
      verdict: "refused",
      problems: [{ code: "MAPPING_ORDER_CONTROL_UNSUPPORTED", place: "message 1, ORC-1" }],
    });
  });

  test("can be none, and a cancellation is then refused", async () => {
    const mapped = await map("ORM^O01", [PID, ...PLACED("CA")], { cancel: [] });
    expect(mapped.problems).toMatchObject([{ code: "MAPPING_ORDER_CONTROL_UNSUPPORTED" }]);
  });
});

/** What was read as a request: what is wanted of which order, with the labels that it is to have. */
const wanted = (mapped: Awaited<ReturnType<typeof map>>) =>
  mapped.controlRequests?.map(({ control, placerOrderNumber, content }) => [
    control,
    placerOrderNumber,
    ...(content ? content.containers.map(({ label }) => label) : []),
  ]);

describe("the other order control codes", () => {
  test.each([
    ["DC", "discontinue"],
    ["HD", "hold"],
    ["RL", "release"],
    ["SS", "status"],
  ])("%s is a request to %s and needs nothing but the number", async (code, control) => {
    const mapped = await map("ORM^O01", [PID, `ORC|${code}|A-1`]);
    expect(mapped).toMatchObject({ verdict: "accepted", orders: [] });
    expect(wanted(mapped)).toEqual([[control, "A-1"]]);
  });

  test.each([
    ["XO", "change"],
    ["RP", "replace"],
  ])("%s is read like an order, with all that it is to ask for", async (code, control) => {
    const mapped = await map("ORM^O01", [PID, ...PLACED(code)]);
    expect(mapped).toMatchObject({ verdict: "accepted", orders: [] });
    expect(wanted(mapped)).toEqual([[control, "A-1", "ST-1"]]);
  });

  test("XO with a mistake in what the order is to ask for is refused like an order", async () => {
    expect(await map("ORM^O01", [PID, "ORC|XO|A-1", "OBR|1|A-1||CRYO-STORE"])).toMatchObject({
      verdict: "refused",
      problems: [{ code: "MAPPING_NO_CONTAINER" }],
    });
  });

  test("XO with a code that no table knows waits like an order, about the same subject and number", async () => {
    const [orc, obr] = PLACED("XO") as [string, string];
    const mapped = await map("ORM^O01", [PID, orc, obr.replace("CRYO-STORE", "CRYO-SHAKE")]);
    expect(mapped).toMatchObject({ verdict: "waiting", orderNumbers: ["A-1"] });
    expect(mapped.subjectCodes?.map((code) => code.reveal())).toEqual(["MRN-1"]);
  });

  test("XO goes through the site's module, as the order did", async () => {
    const module = {
      order: (order: object) => ({ ...order, containers: [{ label: "M-1" }] }),
    };
    const profile = await hl7Profile({ module: "./site.ts" }, module);
    const mapped = mapOne(profile, hl7Message(hl7Text("ORM^O01", [PID, ...PLACED("XO")])));
    expect(wanted(mapped)).toEqual([["change", "A-1", "M-1"]]);
  });

  test("may stand side by side, and beside new orders of other numbers", async () => {
    const mapped = await map("ORM^O01", [PID, ...NEW("A-2"), "ORC|HD|A-1", "ORC|SS|A-1"]);
    expect(mapped.orders.map(({ placerOrderNumber }) => placerOrderNumber)).toEqual(["A-2"]);
    expect(wanted(mapped)).toEqual([
      ["hold", "A-1"],
      ["status", "A-1"],
    ]);
  });

  test.each<[string, string[]]>([
    ["hold, release, hold", ["ORC|HD|A-1", "ORC|RL|A-1", "ORC|HD|A-1"]],
    ["replace and change", [...PLACED("RP"), ...PLACED("XO")]],
    ["cancel and change", ["ORC|CA|A-1", ...PLACED("XO")]],
    ["cancel and hold, by a number of ours", ["ORC|CA||R7^CRYOBRIDGE", "ORC|HD|A-2|R7^CRYOBRIDGE"]],
  ])("are refused where they want two things of one order: %s", async (_, segments) => {
    const mapped = await map("ORM^O01", [PID, ...segments]);
    expect(mapped.verdict).toBe("refused");
    expect(mapped.problems).toMatchObject([
      {
        code: "MAPPING_VALUES_DISAGREE",
        message: expect.stringMatching(/^wants two things of (order A-1|our request 7),/),
      },
    ]);
  });

  test("may ask how an order stands that they hold", async () => {
    expect(wanted(await map("ORM^O01", [PID, "ORC|SS|A-1", "ORC|HD|A-1"]))).toEqual([
      ["status", "A-1"],
      ["hold", "A-1"],
    ]);
  });

  test.each(["HD", "SS"])("%s is refused beside a new order of the same number", async (code) => {
    const mapped = await map("ORM^O01", [PID, ...NEW("A-1"), `ORC|${code}|A-1`]);
    expect(mapped).toMatchObject({ verdict: "refused", problems: [{ code: "MAPPING_VALUES_DISAGREE" }] });
  });

  test.each(["HD", "RL", "XO", "RP", "SS"])("%s is refused where the profile leaves it out", async (code) => {
    const mapped = await map("ORM^O01", [PID, ...PLACED(code)], { control: [] });
    expect(mapped.problems).toMatchObject([{ code: "MAPPING_ORDER_CONTROL_UNSUPPORTED" }]);
  });
});
