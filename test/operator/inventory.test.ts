import { describe, expect, it } from "vitest";
import { Inventory } from "../../src/operator/inventory.ts";

const SUBJECT = { subjectId: undefined, subjectCode: undefined };

/** What the lab says of places that differ, of containers of which the lab says one place, and the service another one. */
function listElsewhere(
  places: readonly (readonly [labSays: string, serviceSays: string | undefined])[],
): readonly string[] {
  const inventory = new Inventory();
  inventory.addLines(
    places.map(([position], n) => ({ line: n + 1, label: `V-${n}`, storage: "", position })),
  );
  inventory.addContainers(places.map((_, n) => ({ id: n, labels: [`V-${n}`], ...SUBJECT, isStored: true })));
  expect(inventory.placesToRead()).toEqual(places.map((_, n) => n));
  inventory.addPlaces(
    places.map(([, position], n) => ({ id: n, storageId: undefined, storage: undefined, position })),
  );
  return inventory.compare().differences.map(({ finding, labSays }) => {
    expect(finding).toBe("elsewhere");
    return labSays;
  });
}

describe("the inventory", () => {
  it("takes no place for another one whose numbers only come to the same digits, nor for one in other letters", () => {
    const places = [
      ["1-11", "11-1"],
      ["B1.12", "B11.2"],
      ["Kühl A", "Kohl A"],
      ["Шкаф", "Полка"],
      ["A1", undefined],
    ] as const;
    expect(listElsewhere(places)).toEqual(places.map(([lab]) => lab));
  });

  it("takes places for the same that differ in capitals, blanks, punctuation and ways to write a letter", () => {
    const places = [
      ["canister 3 / CANE 2", "Canister 3, Cane 2"],
      ["A-1", "a1"],
      ["KU\u0308HL 1", "kühl-1"],
      ["Ⅲ・Ａ１", "iii a1"],
      ["(12) b", "12B"],
    ] as const;
    expect(listElsewhere(places)).toEqual([]);
  });

  it("takes a tank by its name or its id, and says which one the service shows", () => {
    const inventory = new Inventory();
    const line = (n: number, storage: string) => ({ line: n, label: `V-${n}`, storage, position: "" });
    inventory.addLines([line(1, "TANK A"), line(2, "7"), line(3, "Tank B"), line(4, "8")]);
    const ids = [1, 2, 3, 4];
    inventory.addContainers(ids.map((id) => ({ id, labels: [`V-${id}`], ...SUBJECT, isStored: true })));
    inventory.addPlaces([
      ...[1, 2, 3].map((id) => ({ id, storageId: 7, storage: "Tank A", position: undefined })),
      { id: 4, storageId: 7, storage: undefined, position: undefined },
    ]);
    const said = inventory
      .compare()
      .differences.map(({ label, labSays, serviceSays }) => [label, labSays, serviceSays]);
    expect(said).toEqual([
      ["V-3", "Tank B", "Tank A"],
      ["V-4", "8", "storage 7"],
    ]);
  });

  it("knows whose a container is by its subject's id, else by its code; one without counts as the facility's", () => {
    const inventory = new Inventory();
    inventory.addSubjects([{ id: 1, code: "P-1" }]);
    const container = (id: number, subjectId?: number, subjectCode?: string) => ({
      ...{ id, labels: [`V-${id}`], subjectId, subjectCode, isStored: undefined },
    });
    inventory.addContainers([
      ...[container(1, 1), container(2, 2, "P-1"), container(3, undefined, "P-1")],
      ...[container(4, undefined, "P-2"), container(5)],
    ]);
    const { counts, differences } = inventory.compare();
    expect(counts).toMatchObject({ listed: 5, stored: 3, unnamed: 1, isStorageShown: false, extra: 3 });
    expect(differences.map(({ label }) => label)).toEqual(["V-1", "V-3", "V-5"]);
  });
});
