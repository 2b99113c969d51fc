import { describe, expect, test } from "vitest";
import { csvProfile, problemsOf } from "../mapped.ts";

const identify = async (cells: Record<string, string>, definition = {}) =>
  (await csvProfile(definition)).reading.identify(new Map(Object.entries(cells)));

describe("the order that a row belongs to", () => {
  test("is found where the profile reads its number, without being named a second time", async () => {
    const row = await identify({ Auftrag: " O-1 " }, { placerOrderNumber: "Auftrag" });
    expect(row.orderNumber).toBe("O-1");
  });

  test("is found by the number as the profile's transforms leave it", async () => {
    const definition = { placerOrderNumber: { from: "order_number", as: ["trim", "upper"] } };
    expect((await identify({ order_number: "o-1" }, definition)).orderNumber).toBe("O-1");
  });

  test.each(["O-1\u200b", "'O-1", "“O-1”"])(
    "is that of a number that looks the same, such as %j",
    async (number) => {
      expect((await identify({ order_number: number })).orderNumber).toBe("O-1");
    },
  );

  test("is found in the first of several columns that the file has, and never in another", async () => {
    const definition = { placerOrderNumber: ["a", "b"] };
    expect((await identify({ b: "O-2" }, definition)).orderNumber).toBe("O-2");
    expect((await identify({ a: "", b: "O-2" }, definition)).orderNumber).toBe("");
  });

  test("is none where the profile itself brings the number, which then says nothing", async () => {
    const definition = { placerOrderNumber: { from: "order_number", default: "NONE" } };
    const without = await identify({}, definition);
    expect([without.orderNumber, without.needsNumber]).toEqual(["", false]);
    const empty = await identify({ order_number: "" }, definition);
    expect([empty.orderNumber, empty.needsNumber]).toEqual(["", true]);
  });

  test("needs a number but for a registration", async () => {
    const needs = ["STORE", "", "no code", "register"].map(
      async (operation) => (await identify({ operation })).needsNumber,
    );
    expect(await Promise.all(needs)).toEqual([true, true, true, false]);
  });
});

describe("a profile that names the column of order numbers with groupBy", () => {
  test("is right when it is the one that placerOrderNumber is read from", async () => {
    const definition = { extends: "builtin/csv-orders", placerOrderNumber: ["Auftrag", "Nr"], groupBy: "Nr" };
    expect(await problemsOf(definition)).toEqual([]);
  });

  test("is refused when it is another one, which would tear orders apart", async () => {
    const definition = { extends: "builtin/csv-orders", placerOrderNumber: "Auftrag", groupBy: "Fall" };
    expect(await problemsOf(definition)).toEqual([
      expect.stringMatching(/^groupBy: Fall is not where placerOrderNumber is read from \(Auftrag\)/),
    ]);
  });
});
