import type pg from "pg";
import { describe, expect, it } from "vitest";
import { type Inventory, withInventory } from "../../../src/ledger/reports/inventory.ts";
import { eventually } from "../../support/eventually.ts";
import { withLedger } from "../../support/with-ledger.ts";

/** How many places differ of containers of which the lab says one place, and the service another one. */
const countElsewhere = (
  pool: pg.Pool,
  places: readonly (readonly [labSays: string, serviceSays: string | undefined])[],
): Promise<readonly string[]> =>
  withInventory(pool, async (inventory) => {
    await inventory.addLines(
      places.map(([position], n) => ({ line: n + 1, label: `V-${n}`, storage: "", position })),
    );
    await inventory.addContainers(
      places.map((_, n) => ({
        ...{ id: n, labels: [`V-${n}`], subjectId: undefined, subjectCode: undefined, isStored: true },
      })),
    );
    await inventory.compare(false);
    await inventory.addPlaces(
      places.map(([, position], n) => ({ id: n, storageId: undefined, storage: undefined, position })),
    );
    await inventory.comparePlaces();
    return listLabSays(inventory);
  });

async function listLabSays(inventory: Inventory): Promise<string[]> {
  await inventory.count();
  const found: string[] = [];
  for await (const page of inventory.differences("elsewhere"))
    found.push(...page.map(({ labSays }) => labSays));
  return found;
}

const END_OTHER_SESSIONS = `
select pg_terminate_backend(pid)
  from pg_stat_activity
 where datname = current_database()
   and usename = current_user
   and pid <> pg_backend_pid()`;

describe("the inventory", () => {
  it("takes no place for another one whose numbers only come to the same digits, nor for one in other letters", () =>
    withLedger(async ({ pool }) => {
      const places = [
        ["1-11", "11-1"],
        ["B1.12", "B11.2"],
        ["Kühl A", "Kohl A"],
        ["Шкаф", "Полка"],
        ["A1", undefined],
      ] as const;
      expect(await countElsewhere(pool, places)).toEqual(places.map(([lab]) => lab));
    }));

  it("takes places for the same that differ in capitals, blanks, punctuation and ways to write a letter", () =>
    withLedger(async ({ pool }) => {
      const places = [
        ["canister 3 / CANE 2", "Canister 3, Cane 2"],
        ["A-1", "a1"],
        ["KU\u0308HL 1", "kühl-1"],
        ["Ⅲ・Ａ１", "iii a1"],
        ["(12) b", "12B"],
      ] as const;
      expect(await countElsewhere(pool, places)).toEqual([]);
    }));

  it("ends with the failure of a database that went away while it waited for the service", () =>
    withLedger(async ({ pool }) => {
      const work = async (inventory: Inventory) => {
        await pool.query(END_OTHER_SESSIONS);
        throw await eventually(() =>
          inventory.count().then(
            () => undefined,
            (error: unknown) => error,
          ),
        );
      };
      await expect(withInventory(pool, work)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    }));
});
