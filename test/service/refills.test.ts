import { describe, expect, test } from "vitest";
import type { Surface } from "../../src/core/surface.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import type { RefillSearch } from "../../src/service/refills.ts";
import type { BehaviourChange } from "../../src/simulator/behaviour.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import type { Row } from "./stub-service.ts";
import { failureOf, never, withClient, withStub } from "./with-client.ts";

/** A service in which nothing moves by itself, with a client of it. */
async function withService(
  behaviour: BehaviourChange,
  run: (simulator: Simulator, client: ServiceClient) => Promise<void>,
): Promise<void> {
  const simulator = await createSimulator({ port: 0, staff: { auto: false }, device: { auto: false } });
  simulator.control.behave(behaviour);
  const auth = { apiToken: "simulator-api-token" };
  try {
    await withClient({ baseUrl: simulator.url, auth }, (client) => run(simulator, client));
  } finally {
    await simulator.close();
  }
}

const search = (parts: Partial<RefillSearch> = {}): RefillSearch => ({
  facilityId: 12,
  surface: "request",
  isWhole: true,
  since: "2026-11-01T00:00:00.000Z",
  hints: {},
  ...parts,
});
const read = (client: ServiceClient, parts: Partial<RefillSearch> = {}) =>
  client.readRefills(search(parts), never);
const tankOf = ({ control }: Simulator, facilityId = 12) =>
  control.storages().find((storage) => storage.facilityId === facilityId)?.id ?? 0;
const refillIn = (simulator: Simulator, facilityId = 12) =>
  simulator.control.createRefill(tankOf(simulator, facilityId));

describe.each(["request", "external"] as const)("refills of the %s surface", (surface: Surface) => {
  test("are listed for their facility alone, with what the surface tells of them", () =>
    withService({}, async (simulator, client) => {
      const { id, createdAt } = refillIn(simulator);
      refillIn(simulator, 13);
      simulator.control.startProcedure(id);
      const { refills } = await read(client, { surface });
      expect(refills).toMatchObject([{ id, status: "IN_PROGRESS", createdAt }]);
      expect(refills[0]?.storageId).toBe(surface === "request" ? tankOf(simulator) : undefined);
    }));

  test("never carry the name of who performed them", () =>
    withService({}, async (simulator, client) => {
      const { id } = refillIn(simulator);
      simulator.control.startProcedure(id, "Robin Invented");
      simulator.control.failProcedure(id, "stopped by Robin Invented");
      const { refills } = await read(client, { surface });
      const single = await client.getRefill({ surface, facilityId: 12, id }, never);
      expect(single?.status).toBe("FAILED");
      expect(JSON.stringify([refills, single])).not.toContain("Invented");
    }));

  test("are read whole from small pages that shift, each once", () =>
    withService({ maxPerPage: 7, overPerPage: "cap", sort: "-id" }, async (simulator, client) => {
      const ids = Array.from({ length: 40 }, () => refillIn(simulator).id);
      const { refills } = await read(client, { surface });
      expect(refills.map(({ id }) => id).sort((a, b) => a - b)).toEqual(ids);
    }));

  test.each<[string, BehaviourChange]>([
    ["ignores every filter", { filters: "none" }],
    ["refuses filters that it doesn't know", { unknownFilters: "refuse" }],
    ["writes its types in words of its own case", { words: { REFILL: "Refill", refill: "Refill" } }],
    ["adds fields and writes ids as strings", { ids: "string", extraFields: { tenant: "x" } }],
  ])("are found where the service %s", (_words, behaviour) =>
    withService(behaviour, async (simulator, client) => {
      const { id } = refillIn(simulator);
      expect((await read(client, { surface })).refills.map((refill) => refill.id)).toEqual([id]);
    }),
  );

  test("don't hold another facility's single one, nor a procedure that is none", () =>
    withService({}, async (simulator, client) => {
      const other = refillIn(simulator, 13);
      expect(await client.getRefill({ surface, facilityId: 12, id: other.id }, never)).toBeUndefined();
      const missing = client.getRefill({ surface, facilityId: 12, id: 987_654 }, never);
      expect((await failureOf(missing)).code).toBe("SERVICE_NOT_FOUND");
    }));
});

describe("a list that is filtered too much", () => {
  const procedures = (): Row[] => [
    { id: 1, type: "Refill", status: "COMPLETED", facilityId: 12, createdAt: "2026-11-01T00:00:00Z" },
    { id: 2, type: "storage", status: "COMPLETED", facilityId: 12, createdAt: "2026-11-02T00:00:00Z" },
  ];
  const LEARNED = { typeWord: "Refill", isTooLong: false };
  const recently = { isWhole: false, since: "2026-10-31T00:00:00.000Z" };

  test("by a word that the service doesn't use is read by type no more, and the word is learned", () =>
    withStub(async (stub, client) => {
      stub.rows.procedures = procedures();
      const first = await read(client);
      expect([first.refills.map(({ id }) => id), first.hints]).toEqual([[1], LEARNED]);
      stub.seen.length = 0;
      await read(client, { hints: LEARNED });
      expect(stub.seen.length).toBeGreaterThan(0);
      expect(stub.seen.every(({ url }) => url.includes("type=Refill"))).toBe(true);
    }));

  test("by time is read by time alone", () =>
    withStub(async (stub, client) => {
      stub.rows.procedures = procedures();
      await read(client, recently);
      expect(stub.seen.length).toBeGreaterThan(0);
      expect(stub.seen.every(({ url }) => url.includes("createdAt_from"))).toBe(true);
    }));
});

describe("an entry that tells little", () => {
  test("of a refill without a status is one of unknown status, to be read by its id", () =>
    withStub(async (stub, client) => {
      stub.rows.procedures = [{ id: 5, type: "refill", facilityId: 12 }];
      expect(await read(client)).toMatchObject({ refills: [{ id: 5, status: "UNKNOWN" }] });
    }));

  test("and no type counts as a refill when refills were asked for and nothing of an order is in it", () =>
    withStub(async (stub, client) => {
      stub.options = { honours: (name) => name !== "type" && name !== "facilityId" };
      stub.rows.procedures = [
        { id: 5, status: "CREATED" },
        { id: 6, status: "CREATED", requestId: 3 },
        { id: 7, status: "CREATED", subject: { code: "S-1" } },
        { id: 8, status: "CREATED", sampleContainerIds: [4] },
      ];
      expect((await read(client)).refills.map(({ id }) => id)).toEqual([5]);
    }));

  test.each<[string, Row, object]>([
    ["storageId", { storageId: 31 }, { storageId: 31, storageName: undefined }],
    ["an object", { storage: { id: 31, name: "Tank 4" } }, { storageId: 31, storageName: "Tank 4" }],
    ["a name", { storageName: "Tank 4" }, { storageId: undefined, storageName: "Tank 4" }],
    ["a text", { storage: "Tank 4" }, { storageId: undefined, storageName: "Tank 4" }],
    ["nothing", {}, { storageId: undefined, storageName: undefined }],
  ])("names its tank by %s", (_words, row, expected) =>
    withStub(async (stub, client) => {
      stub.rows.procedures = [{ id: 5, type: "refill", status: "CREATED", facilityId: 12, ...row }];
      expect((await read(client)).refills[0]).toMatchObject(expected);
    }),
  );

  test("keeps a status that the specification doesn't have", () =>
    withStub(async (stub, client) => {
      stub.rows.procedures = [{ id: 5, type: "REFILL", status: "on hold", facilityId: 12 }];
      expect((await read(client)).refills[0]?.status).toBe("ON_HOLD");
    }));
});

test("tanks are listed with their names, those of another facility left out where the entry tells it", () =>
  withStub(async (stub, client) => {
    stub.options = { honours: () => false };
    stub.rows.storage = [
      { id: 31, name: "Tank 4" },
      { id: 32, name: "Tank 5", facility: { id: 13 } },
    ];
    expect(await client.listTanks(12, never)).toEqual([{ storageId: 31, name: "Tank 4" }]);
  }));
