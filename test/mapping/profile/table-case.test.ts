import { describe, expect, test } from "vitest";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { csvMessage, csvProfile, hl7Message, hl7Profile, hl7Text, mapOne, problemsOf } from "../mapped.ts";

const ROW = {
  order_number: "A-1",
  operation: "STORE",
  facility: "NORTH",
  subject_code: "S-1",
  container_label: "V-1",
};

async function map(definition: ProfileDefinition, change: Partial<typeof ROW>) {
  return mapOne(await csvProfile(definition), csvMessage([{ ...ROW, ...change }]));
}

const own = {
  operation: { table: { Einlagern: "STORE", "Süd-Abgang": "RETRIEVAL" } },
  facility: { table: { " Nord ": "NORTH", Süd: "SOUTH" } },
};

describe("the codes of a table", () => {
  test.each([
    ["Einlagern", "Nord", "STORE", 12],
    ["EINLAGERN ", "NORD", "STORE", 12],
    ["süd-abgang", " su\u0308d", "RETRIEVAL", 13],
  ])("%s and %s are known in upper and lower case", async (operation, facility, wanted, facilityId) => {
    const { orders } = await map(own, { operation, facility });
    expect(orders).toMatchObject([{ operation: wanted, facilityId }]);
  });

  test("are known as they are written where case makes a difference", async () => {
    const facility = { table: { N: "NORTH", n: "SOUTH" }, caseSensitive: true };
    expect((await map({ facility }, { facility: "n" })).orders).toMatchObject([{ facilityId: 13 }]);
    const unknown = await map(
      { ...own, facility: { ...own.facility, caseSensitive: true } },
      { facility: "nord" },
    );
    expect(unknown).toMatchObject({ verdict: "waiting", problems: [{ unknownCode: "nord" }] });
  });

  test("are named as the sender wrote them where no table has them", async () => {
    const { problems } = await map(own, { operation: "Umlagern", facility: "Nord" });
    expect(problems).toMatchObject([
      { unknownCode: "Umlagern", message: expect.stringContaining('"Umlagern"') },
    ]);
  });

  test("replace those of the profile below, however they are written", async () => {
    const { orders } = await map({ operation: { table: { Store: "RETRIEVAL" } } }, { operation: "STORE" });
    expect(orders).toMatchObject([{ operation: "RETRIEVAL" }]);
  });
});

describe("null in a table", () => {
  const none: ProfileDefinition = { operation: { table: { Store: null, Einlagern: "STORE" } } };

  test("takes a code of the profile below out, however that is written", async () => {
    const { verdict, problems } = await map(none, { operation: "STORE" });
    expect({ verdict, problems }).toMatchObject({ verdict: "waiting", problems: [{ unknownCode: "STORE" }] });
    expect((await map(none, { operation: "Einlagern" })).verdict).toBe("accepted");
  });

  test("is refused for a code that the profile below does not have", async () => {
    expect(await problemsOf({ extends: "builtin/csv-orders", operation: { table: { STOR: null } } })).toEqual(
      [
        "operation: table.STOR is null, which takes a code out of the profile below; that has none of this name",
      ],
    );
  });

  test("may not leave a table without any code", async () => {
    const table = { "CRYO-STORE": null, "CRYO-RETRIEVE": null };
    expect(await problemsOf({ extends: "builtin/hl7-orders", operation: { table } })).toEqual([
      "operation: the table has no code left; expected one at least",
    ]);
  });
});

describe("a code that no table has", () => {
  const expectedOf = async (table: Record<string, string | null>) => {
    const profile = await hl7Profile({ operation: { from: "OBR-4.1", table } });
    const segments = ["PID|1||M-1^^^N^MR", "ORC|NW|A-1", "OBR|1|A-1||MOVE|||||||||||^^L-1"];
    return mapOne(profile, hl7Message(hl7Text("ORM^O01", segments))).problems[0]?.message;
  };

  test("is answered with the codes of the site, and shipped ones only where it has none of its own", async () => {
    expect(await expectedOf({ FREEZE: "STORE", FRZ: "STORE", THAW: "RETRIEVAL" })).toBe(
      'holds "MOVE", expected one of FREEZE, FRZ, THAW',
    );
    expect(await expectedOf({ THAW: "RETRIEVAL" })).toBe('holds "MOVE", expected one of CRYO-STORE, THAW');
    expect(await expectedOf({ THAW: "RETRIEVAL", "CRYO-STORE": null })).toBe(
      'holds "MOVE", expected one of THAW',
    );
  });
});

describe("a profile", () => {
  const csv = (facility: NonNullable<ProfileDefinition["facility"]>) =>
    problemsOf({ extends: "builtin/csv-orders", facility });

  test("may not have two codes in one table that differ only in case", async () => {
    const table = { Nord: "NORTH", NORD: "SOUTH" };
    expect(await csv({ from: "facility", table })).toEqual([
      "facility: Nord and NORD of the table differ only in case; expected one of them, or caseSensitive: true beside the table",
    ]);
    expect(await csv({ from: "facility", table, caseSensitive: true })).toEqual([]);
    expect(await csv({ from: "facility", table: { Nord: "NORTH", NORD: "NORTH" } })).toEqual([]);
  });

  test("may not say how a table reads its codes without one", async () => {
    expect(await csv({ from: "facility", caseSensitive: true })).toEqual([
      "facility: caseSensitive is for a table; expected table beside it",
    ]);
  });
});
