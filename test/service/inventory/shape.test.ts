import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type InventoryFields, readInventory } from "../../../src/service/inventory/shape.ts";
import { compareLocations } from "../../../src/service/inventory/worth.ts";

const LABEL_FIELDS = ["name", "sampleContainerId", "label"];
const STORAGE = 7;

const read = (json: unknown, fields: InventoryFields = {}) =>
  readInventory(json, { storageId: STORAGE, labelFields: LABEL_FIELDS, fields, isWanted: () => true });

interface Vial {
  readonly id: number;
  readonly label: string;
  readonly canister: string;
  readonly cane: string;
  readonly slot: string;
  readonly storedAt: string;
}

const name = fc.stringMatching(/^[A-Z][0-9]{0,2}$|^[1-9][0-9]?$/);
const vials: fc.Arbitrary<Vial[]> = fc
  .array(
    fc.record({
      label: fc.stringMatching(/^[A-Z]{1,3}-[0-9]{1,4}$/),
      canister: name,
      cane: name,
      slot: fc.stringMatching(/^[1-9][0-9]?$/),
      storedAt: fc
        .date({ min: new Date("2020-01-01"), max: new Date("2030-01-01"), noInvalidDate: true })
        .map((date) => date.toISOString()),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((list) => list.map((vial, index) => ({ ...vial, id: 1_000 + index })));

const nested = (list: readonly Vial[], leaf: (vial: Vial) => unknown) =>
  [...Map.groupBy(list, ({ canister }) => canister)].map(
    ([canister, inside]) =>
      [
        canister,
        [...Map.groupBy(inside, ({ cane }) => cane)].map(([cane, held]) => [cane, held.map(leaf)] as const),
      ] as const,
  );

/** How services may write the same inventory. */
const FORMS: Readonly<Record<string, (list: readonly Vial[]) => unknown>> = {
  "a bare list": (list) => list.map(({ label, slot, ...vial }) => ({ ...vial, name: label, position: slot })),
  "a list with locations": (list) => ({
    storageId: STORAGE,
    count: list.length,
    sampleContainers: list.map(({ id, label, canister, cane, slot, storedAt }) => ({
      ...{ id, name: label, description: "straw", storedAt, status: "STORED" },
      subject: { id: 3, code: "S-1" },
      location: { storage: { id: STORAGE, name: "Tank" }, canister, cane, position: slot },
    })),
  }),
  "a page of a list in snake case": (list) => ({
    data: list.map(({ id, label, canister, cane, slot, storedAt }) => ({
      ...{ id: 900_000 + id, sample_container_id: id, label, stored_at: storedAt },
      ...{ canister: { id: 1, name: canister }, cane: { id: 2, name: cane }, slot: Number(slot) },
    })),
    meta: { page: 1, perPage: 100, total: list.length },
  }),
  "canisters with canes": (list) => ({
    data: {
      id: STORAGE,
      name: "Tank",
      canisters: nested(list, ({ id, label, slot, storedAt }) => ({ id, name: label, slot, storedAt })).map(
        ([canister, canes], n) => ({
          ...{ id: n, name: canister },
          canes: canes.map(([cane, held], m) => ({
            id: m,
            name: cane,
            capacity: 10,
            sampleContainers: held,
          })),
        }),
      ),
    },
  }),
  "maps by name": (list) => ({
    canisters: Object.fromEntries(
      nested(list, ({ id, label, slot, storedAt }) => ({ id, name: label, slot, storedAt })).map(
        ([canister, canes]) => [canister, { canes: Object.fromEntries(canes) }],
      ),
    ),
  }),
  "a tree of levels": (list) =>
    nested(list, ({ id, label, slot, storedAt }) => ({
      containerId: id,
      label,
      position: slot,
      storedAt,
    })).map(([canister, canes]) => ({
      ...{ level: "CANISTER", label: canister },
      children: canes.map(([cane, held]) => ({ level: "cane", label: cane, children: held })),
    })),
  "slots with containers in them": (list) => ({
    slots: [
      { id: 1, canister: "9", cane: "9", number: 99, container: null },
      ...list.map(({ id, label, canister, cane, slot, storedAt }) => ({
        ...{ id, canister, cane, number: Number(slot), storedAt },
        container: { id, name: label },
      })),
    ],
  }),
};

describe("an inventory", () => {
  test.each(Object.keys(FORMS))("is read as %s, with each container in its place", (form) => {
    fc.assert(
      fc.property(vials, (list) => {
        const page = read(FORMS[form]?.(list));
        expect(page).toMatchObject({ shown: list.length, isUnknown: false });
        const found = page.entries.map(({ id, labels, location }) => ({ id, labels, ...location }));
        expect(found.sort((a, b) => a.id - b.id)).toMatchObject(
          list.map(({ id, label, canister, cane, slot, storedAt }) => ({
            ...{ id, labels: [label], storageId: STORAGE, canister, cane, position: slot, storedAt },
          })),
        );
      }),
    );
  });

  test("says how many there are in all where it comes in pages", () => {
    expect(read({ data: [{ id: 1, name: "A", cane: "1" }], meta: { total: 40 } }).total).toBe(40);
    expect(read({ items: [{ id: 1, name: "A", cane: "1" }], total_count: "40" }).total).toBe(40);
    expect(
      read({ data: [{ id: 1, name: "A", cane: "1" }], total: 1, meta: { total: 40 } }).total,
    ).toBeUndefined();
    expect(read([{ id: 1, name: "A", cane: "1" }]).total).toBeUndefined();
  });

  test("names the storage solution only where it shows its id", () => {
    const inside = { canisters: [{ name: "1", sampleContainers: [{ id: 1, name: "A" }] }] };
    const nameIn = (json: unknown) => read(json).entries[0]?.location.storageName;
    expect(nameIn({ id: STORAGE, name: "Tank", ...inside })).toBe("Tank");
    expect(nameIn({ id: 8, name: "Tank", ...inside })).toBeUndefined();
  });

  test("is found out by a site's own names of fields", () => {
    const json = {
      stock: [
        { vialNo: 12, barcode: "A", tower: "T1", goblet: "G", hole: 4, frozen: "2026-11-20T09:00:00Z" },
      ],
    };
    const fields = { id: "vialNo", canister: "tower", cane: "goblet", position: "hole", storedAt: "frozen" };
    const question = { storageId: STORAGE, labelFields: ["barcode"], isWanted: () => true };
    expect(readInventory(json, { ...question, fields }).entries).toMatchObject([
      {
        id: 12,
        labels: ["A"],
        location: { canister: "T1", cane: "G", position: "4", storedAt: "2026-11-20T09:00:00Z" },
      },
    ]);
    expect(readInventory(json, { ...question, fields: {} })).toMatchObject({ shown: 0, isUnknown: true });
  });

  test.each([
    ["a count", { total: 12 }],
    [
      "levels without containers",
      { canisters: [{ id: 1, name: "C1", canes: [{ id: 2, name: "A", free: 3 }] }] },
    ],
    ["levels by their own word", [{ level: "cane", label: "2", id: 1, position: "1" }]],
    [
      "containers without a place",
      { sampleContainers: [{ id: 1, name: "A", storedAt: "2026-11-20T09:00:00Z" }] },
    ],
    ["labels without ids", { canisters: { C3: { canes: { "Cane 1": ["A", "B"] } } } }],
    ["slots whose own ids say nothing", { slots: [{ id: 1, canister: "1", cane: "A" }] }],
    ["places with an id of nobody knows what", [{ id: 1, canister: "1", cane: "A", position: "2" }]],
    ["another storage solution", [{ id: 1, name: "A", storageId: 8, canister: "1" }]],
    ["what was taken out", [{ id: 1, name: "A", canister: "1", retrievedAt: "2026-11-20T09:00:00Z" }]],
    ["two ids for one container", [{ sampleContainerId: 1, containerId: 2, name: "A", canister: "1" }]],
    ["an error", { error: { code: "X", message: "no" } }],
    ["nothing", null],
  ])("of which it shows %s gives no place", (_what, json) => {
    expect(read(json)).toMatchObject({ entries: [], shown: 0 });
  });

  test("takes an id without a label only where it is named as a sample container's", () => {
    const place = { canister: "1", cane: "A" };
    expect(read([{ sampleContainerId: 5, id: 9, ...place }]).entries).toMatchObject([{ id: 5, labels: [] }]);
    expect(read([{ id: 9, sampleContainerId: "L-5", ...place }]).entries).toMatchObject([
      { id: 9, labels: ["L-5"] },
    ]);
  });

  test("makes of any JSON nothing that does not stand in it", () => {
    const key = fc.constantFrom(
      ..."id name label sampleContainerId canister canisters cane canes slot position sampleContainers data location".split(
        " ",
      ),
    );
    const scalar = fc.oneof(fc.nat(20), fc.constantFrom("A", "B", "1", ""), fc.constant(null), fc.boolean());
    const { json } = fc.letrec<{ json: unknown }>((tie) => ({
      json: fc.oneof(
        { depthSize: "medium", withCrossShrink: true },
        scalar,
        fc.array(tie("json"), { maxLength: 4 }),
        fc.dictionary(key, tie("json"), { maxKeys: 6 }),
      ),
    }));
    fc.assert(
      fc.property(json, (value) => {
        const texts = new Set<string>();
        JSON.stringify(value, (name, inner) => {
          texts.add(name);
          if (typeof inner !== "object") texts.add(String(inner));
          return inner;
        });
        for (const { id, labels, location } of read(value).entries) {
          const { storageId, ...place } = location;
          const parts = [...labels, ...Object.values(place).filter((part) => part !== undefined)];
          for (const part of [String(id), ...parts]) expect(texts).toContain(part);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("nested without end is left", () => {
    const deep = `${'{"location":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    expect(read(JSON.parse(`[${deep}]`)).entries).toEqual([]);
  });
});

describe("a place of an inventory against that of a single read", () => {
  const single = {
    storageId: STORAGE,
    storageName: "Tank",
    position: "Canister 1, Cane A, Slot 1",
    storedAt: "2026-11-20T09:00:00Z",
  };
  const parts = {
    storageId: STORAGE,
    storageName: "Tank",
    canister: "1",
    cane: "A",
    storedAt: single.storedAt,
  };

  test("is the same where it is written the same way", () => {
    expect(compareLocations({ ...single, storedAt: "2026-11-20T09:00:00.000+00:00" }, single)).toBe("same");
    expect(compareLocations(parts, parts)).toBe("same");
  });

  test.each([
    ["without a slot", { ...parts, cane: undefined }, parts],
    ["without a time", { ...parts, storedAt: undefined }, parts],
    ["without the name of the storage solution", { ...single, storageName: undefined }, single],
    ["in parts where the single one is a text", parts, single],
    ["as a text where the single one has parts", single, parts],
  ])("says less %s", (_what, shown, alone) => {
    expect(compareLocations(shown, alone)).toBe("less");
  });

  test.each([
    ["cane", { cane: "B" }],
    ["canister and cane that changed places", { canister: "A", cane: "1" }],
    ["storage solution", { storageId: 8 }],
    ["name of it", { storageName: "Dewar" }],
    ["time", { storedAt: "2026-11-20T09:00:01Z" }],
  ])("is another one with another %s", (_what, change) => {
    expect(compareLocations({ ...parts, ...change }, parts)).toBe("other");
  });

  test("is the same as itself, and any other place of the same storage is not", () => {
    const place = fc.record({ canister: name, cane: name, position: name });
    fc.assert(
      fc.property(place, place, (a, b) => {
        expect(compareLocations(a, a)).toBe("same");
        const isSame = JSON.stringify(a) === JSON.stringify(b);
        expect(compareLocations(a, b) === "same").toBe(isSame);
      }),
    );
  });
});
