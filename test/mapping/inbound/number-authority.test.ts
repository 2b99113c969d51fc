import { describe, expect, test } from "vitest";
import { hl7Message, hl7Profile, hl7Text, mapOne, problemsOf } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^NORTH^MR||Beispiel^Anna||19840229|F";
const SPECIMEN = (label: string) => `SPM|1|${label}||SEM`;

async function map(segments: readonly string[], definition = {}, module?: unknown) {
  return mapOne(await hl7Profile(definition, module), hl7Message(hl7Text("OML^O21", segments)));
}

/** One order; ORC-2 and OBR-2 as given. */
const order = (inOrc: string, inObr: string, control = "NW") => [
  PID,
  `ORC|${control}|${inOrc}`,
  `OBR|1|${inObr}||CRYO-STORE`,
  SPECIMEN("V1"),
];

describe("who assigned an order number", () => {
  test.each([
    ["the namespace beside it", "1^LAB", "1^LAB", { namespaceId: "LAB" }],
    ["the universal id with its kind", "1^^1.2.3^ISO", "1", { universalId: "1.2.3", universalIdType: "ISO" }],
    ["nothing where there is nothing", "1", "1", undefined],
    ["nothing where it is blank or deleted", '1^ ^""', "1", undefined],
    ["what stands beside it in OBR-2 where the number is found there", "", "1^LAB", { namespaceId: "LAB" }],
    ["nothing where it can't be kept", `1^${"x".repeat(201)}`, "1", undefined],
  ])("is %s", async (_words, inOrc, inObr, authority) => {
    const { orders } = await map(order(inOrc, inObr));
    expect(orders.map(({ placerAuthority }) => placerAuthority)).toEqual([authority]);
  });

  test("is that of the first group of an order that has one", async () => {
    const second = ["ORC|NW|1^LAB", "OBR|2|1||CRYO-STORE", SPECIMEN("V2")];
    const { orders } = await map([...order("1", "1"), ...second]);
    expect(orders).toMatchObject([{ placerAuthority: { namespaceId: "LAB" } }]);
  });

  test("is nothing that stands beside a number in a field of another type", async () => {
    const { orders } = await map(order("1", "1^x^y", "NW"), { placerOrderNumber: { from: "ORC-2.1" } });
    expect(orders.map(({ placerAuthority }) => placerAuthority)).toEqual([undefined]);
    const text = [PID, "ORC|NW", `OBR|1|||CRYO-STORE${"|".repeat(14)}A-7^Beispiel Anna`, SPECIMEN("V1")];
    const other = await map(text, { placerOrderNumber: { from: "OBR-18.1", agree: false } });
    expect(other.orders).toMatchObject([{ placerOrderNumber: "A-7" }]);
    expect(other.orders[0]?.placerAuthority).toBeUndefined();
  });

  test("is one in a message, also where the first group with the number has none", async () => {
    const group = (n: number, number: string) => [
      `ORC|NW|${number}`,
      `OBR|${n}|1||CRYO-STORE`,
      SPECIMEN(`V${n}`),
    ];
    const ordered = await map([PID, ...group(1, "1"), ...group(2, "1^LAB"), ...group(3, "1^EPIC")]);
    const cancelled = await map([PID, "ORC|CA|1", "ORC|CA|1^LAB", "ORC|CA|1^EPIC"]);
    for (const { problems, orders, controlRequests = [] } of [ordered, cancelled]) {
      expect(problems).toMatchObject([
        { code: "MAPPING_VALUES_DISAGREE", place: "message 1, ORC[2]-2.2 and ORC[3]-2.2" },
      ]);
      expect([...orders, ...controlRequests]).toEqual([]);
    }
  });

  test.each([
    ["cancelled", "CA"],
    ["held", "HD"],
    ["changed", "XO"],
    ["asked about", "SS"],
  ])("is kept with the request where the order is to be %s", async (_words, control) => {
    const { controlRequests } = await map(order("1^LAB", "1", control));
    expect(controlRequests).toMatchObject([
      { placerOrderNumber: "1", placerAuthority: { namespaceId: "LAB" } },
    ]);
  });

  test("is kept of groups that request the same where one of them leaves it out", async () => {
    const { controlRequests } = await map([PID, "ORC|CA|1", "ORC|CA|1^LAB", "ORC|CA|1"]);
    expect(controlRequests).toMatchObject([
      { placerOrderNumber: "1", placerAuthority: { namespaceId: "LAB" } },
    ]);
  });

  test("is none of a number that the site's module made", async () => {
    const module = {
      order: (given: { placerOrderNumber?: string }) => ({ ...given, placerOrderNumber: "M-1" }),
    };
    const { orders } = await map(order("1^LAB", "1"), { module: "m" }, module);
    expect(
      orders.map(({ placerOrderNumber, placerAuthority }) => [placerOrderNumber, placerAuthority]),
    ).toEqual([["M-1", undefined]]);
  });
});

describe("a value that joins several places", () => {
  const joined = { placerOrderNumber: { from: { join: ["ORC-2.1", "ORC-2.2"], with: "@" }, agree: false } };

  test.each([
    ["is that of all of them", "1^LAB", "1@LAB"],
    ["is the first alone where the others have none", "1", "1"],
    ["has no blanks around its parts", " 1 ^ LAB ", "1@LAB"],
  ])("%s", async (_words, inOrc, number) => {
    const { orders } = await map(order(inOrc, "1"), joined);
    expect(orders.map(({ placerOrderNumber }) => placerOrderNumber)).toEqual([number]);
  });

  test.each(["^LAB", " ^LAB"])(
    "is none where the first has none, so that the next place counts: %j",
    async (inOrc) => {
      const from = [joined.placerOrderNumber.from, "OBR-2.1"];
      const { orders } = await map(order(inOrc, "7"), { placerOrderNumber: { from } });
      expect(orders.map(({ placerOrderNumber }) => placerOrderNumber)).toEqual(["7"]);
    },
  );

  test("is deleted where the first is", async () => {
    const { problems } = await map(order('""^LAB', "7"), joined);
    expect(problems).toMatchObject([{ code: "MAPPING_VALUE_MISSING", place: "message 1, ORC-2.1" }]);
  });

  test("names the places that it is made of, and is refused where one of them has two values", async () => {
    const { orders } = await map(order("1^LAB", "1"), joined);
    expect(orders[0]?.sources.placerOrderNumber).toEqual("ORC-2.1 and ORC-2.2");
    const { problems } = await map(order("1^LAB~1^EPIC", "1"), joined);
    expect(problems).toMatchObject([{ code: "MAPPING_VALUE_INVALID" }]);
  });

  test("is a mistake in the profile where a place is none", async () => {
    const from = { join: ["ORC-2.1", "ORC2"], with: "@" };
    expect(await problemsOf({ extends: "builtin/hl7-orders", placerOrderNumber: { from } })).toEqual([
      expect.stringContaining("ORC2"),
    ]);
  });
});
