import type pg from "pg";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { ContainerLocation } from "../../src/core/outcome.ts";
import { phi } from "../../src/core/phi.ts";
import { type LocateDeps, lookForLocations } from "../../src/jobs/track/locate.ts";
import type { LocationLook } from "../../src/jobs/track/look.ts";
import type { Completed } from "../../src/jobs/track/news.ts";
import { InventoryPlaces, judgePlaces, planInventories } from "../../src/jobs/track/round-reads.ts";
import { type TrackDeps, trackFacility } from "../../src/jobs/track/track.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { createServiceClient, type ServiceClient } from "../../src/service/client.ts";
import type { InventoryEntry } from "../../src/service/inventory/shape.ts";
import type { InventorySettings } from "../../src/service/settings.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { type PassedCall, type Rewritten, startRewritingFront } from "../support/rewriting-front.ts";
import { serviceSettings } from "../support/service-settings.ts";
import { byRequest } from "../support/ways.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;
const NORTH = { id: 12, name: "North", storages: ["Tank 1"] };
const CLIENT = { clientId: "c", clientSecret: "s", apiToken: "t" };

interface Lab {
  readonly pool: pg.Pool;
  readonly simulator: Simulator;
  readonly service: ServiceClient;
  /** Calls since the last look, by what they read. */
  readonly calls: { inventory: number; lists: number; places: number; storage: number };
  /** What the service answers instead. */
  rewrite: (call: PassedCall) => Rewritten | undefined;
  /** Follows all that is open. */
  track(): Promise<void>;
}

/** A ledger, and a facility with one tank in which nothing moves by itself. */
function withLab(run: (lab: Lab) => Promise<void>, use: InventorySettings["use"] = "auto"): Promise<void> {
  return withLedger(async ({ pool }) => {
    const simulator = await createSimulator({
      port: 0,
      staff: { auto: false },
      device: { auto: false },
      organizations: [{ id: 1, name: "Clinics", facilities: [NORTH], clients: [CLIENT] }],
    });
    const front = await startRewritingFront(simulator.url, (call) => {
      const { calls } = lab;
      if (/\/inventory/.test(call.url)) calls.inventory += 1;
      else if (/\/location$/.test(call.url)) calls.places += 1;
      else if (/\/sample-containers\?/.test(call.url)) calls.lists += 1;
      else if (/\/storage\?/.test(call.url)) calls.storage += 1;
      return lab.rewrite(call);
    });
    const service = createServiceClient(
      serviceSettings({
        ...{ baseUrl: front.url, auth: { apiToken: "t" }, maxRequestsPerSecond: 10_000 },
        inventory: { use, fields: {} },
      }),
      { clock: systemClock, logger: silent },
    );
    const polling = { firstMs: 60_000, maxMs: 900_000, factor: 1.5 };
    const deps: TrackDeps = {
      ...{ pool, service, locating: service, logger: silent, clock: systemClock, polling },
      ...{ concurrency: 4, wayOf: byRequest },
      isSent: () => true,
      worker: { isSure: true, ledgerNow: Date.now },
    };
    const calls = { inventory: 0, lists: 0, places: 0, storage: 0 };
    const lab: Lab = {
      ...{ pool, simulator, service, calls },
      rewrite: () => undefined,
      track: async () => {
        for (const key of Object.keys(calls) as (keyof typeof calls)[]) calls[key] = 0;
        await pool.query("update orders set next_at = now()");
        await trackFacility(12, deps, never);
      },
    };
    try {
      await run(lab);
    } finally {
      await service.close();
      await front.close();
      await simulator.close();
    }
  });
}

let made = 0;

/** Orders of a new subject each whose containers the device has just stored. */
async function stored({ pool, simulator }: Lab, count: number, containersEach = 1): Promise<string[]> {
  const numbers: string[] = [];
  for (let n = 0; n < count; n += 1) {
    made += 1;
    const number = `A-${made}`;
    const containers = Array.from({ length: containersEach }, (_, at) => ({
      label: `V-${made}-${at}`,
      description: "",
    }));
    const code = `S-${made}`;
    const order = anOrder({ code, placerOrderNumber: number, containers });
    const [orderId = 0] = await commit(pool, [aRecord(made, [order])]);
    const person = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
    simulator.control.addSubject({ facilityId: 12, code, ...person });
    const response = await fetch(`${simulator.url}/api/procedure-requests`, {
      method: "POST",
      headers: { authorization: "Bearer t", "content-type": "application/json" },
      body: JSON.stringify({
        ...{ type: "STORE", facilityId: 12, subjectCode: code },
        sampleContainers: containers.map(({ label, description }) => ({
          sampleContainerId: label,
          description,
        })),
      }),
    });
    const { id: requestId } = (await response.json()) as { id: number };
    simulator.control.fulfilRequest(requestId);
    const request = { surface: "request", requestId } as const;
    await changeOrders(pool, [{ orderId, from: ["received"], to: "submitted", request, nextInMs: 0 }]);
    numbers.push(number);
  }
  return numbers;
}

async function ordersOf({ pool }: Lab, numbers: readonly string[]) {
  const orders = await Promise.all(numbers.map(async (number) => (await findOrders(pool, number))[0]));
  return orders.map((order) => {
    if (!order) throw new Error("no order");
    return order;
  });
}

/** Names of canister, cane and slot, whatever words stand around. */
const namesIn = (place: ContainerLocation | undefined) =>
  [place?.canister, place?.cane, place?.position].join(" ").match(/\b([A-H]|\d+)\b/g);

/** Expects each order to be completed with the places that the service has for its containers. */
async function expectRightPlaces(lab: Lab, numbers: readonly string[]): Promise<void> {
  for (const order of await ordersOf(lab, numbers)) {
    expect(order.state).toBe("completed");
    for (const { containerId = 0, label, location } of order.containers) {
      const container = lab.simulator.control.containers().find(({ id }) => id === containerId);
      expect(container?.name).toBe(label);
      const { canister, cane, slot } = container?.slot ?? {};
      expect(namesIn(location)).toEqual([canister, cane, String(slot)]);
      expect(location).toMatchObject({ storageName: "Tank 1", storedAt: container?.storedAt });
    }
  }
}

const NO_CALLS = { inventory: 0, lists: 0, places: 0, storage: 0 };

describe("places from an inventory", () => {
  test("stand for single reads once one of these agreed", () =>
    withLab(async (lab) => {
      const first = await stored(lab, 4);
      await lab.track();
      await expectRightPlaces(lab, first);
      expect(lab.calls.places).toBe(1);
      const numbers = await stored(lab, 12, 2);
      await lab.track();
      await expectRightPlaces(lab, numbers);
      expect(lab.calls).toEqual({ ...NO_CALLS, inventory: 1 });
    }));

  test.each(["tree", "pages"] as const)(
    "are asked for singly where it shows a %s, whose parts results would say in other fields, unless the site wants them",
    async (inventory) => {
      await withLab(async (lab) => {
        lab.simulator.control.behave({ inventory });
        const first = await stored(lab, 4);
        await lab.track();
        await expectRightPlaces(lab, first);
        await stored(lab, 4);
        await lab.track();
        expect(lab.calls).toMatchObject({ inventory: 0, places: 4 });
      });
      await withLab(async (lab) => {
        lab.simulator.control.behave({ inventory });
        const numbers = await stored(lab, 4);
        await lab.track();
        await expectRightPlaces(lab, numbers);
        expect(lab.calls).toMatchObject({ inventory: 1, places: 0 });
      }, "always");
    },
  );

  test("are read page by page as far as that takes fewer calls than single reads", () =>
    withLab(async (lab) => {
      lab.simulator.control.behave({ inventory: "pages", maxPerPage: 7 });
      await stored(lab, 4);
      await lab.track();
      const numbers = await stored(lab, 20);
      await lab.track();
      await expectRightPlaces(lab, numbers);
      expect(lab.calls).toEqual({ ...NO_CALLS, inventory: 4 });
      // The last ones are on the fourth page, for which it takes four calls to find out two places.
      const few = await stored(lab, 2);
      await lab.track();
      await expectRightPlaces(lab, few);
      expect(lab.calls).toMatchObject({ inventory: 0, places: 2 });
    }, "always"));

  test("are asked for singly where one container alone was stored", () =>
    withLab(async (lab) => {
      await stored(lab, 1);
      await lab.track();
      expect(lab.calls).toMatchObject({ inventory: 0, places: 1 });
    }));

  test("are asked for singly while the inventory lags behind, and that less and less often in vain", () =>
    withLab(async (lab) => {
      await stored(lab, 4);
      await lab.track();
      lab.simulator.control.behave({ inventoryLagMs: 3_600_000 });
      let inventories = 0;
      for (let round = 0; round < 6; round += 1) {
        const numbers = await stored(lab, 4);
        await lab.track();
        await expectRightPlaces(lab, numbers);
        inventories += lab.calls.inventory;
        expect(lab.calls.places).toBe(4);
      }
      expect(inventories).toBeLessThan(5);
    }));

  test.each([
    ["it shows no places", (lab: Lab) => lab.simulator.control.behave({ inventory: "count" })],
    [
      "there is none",
      (lab: Lab) => lab.simulator.control.setFaults([{ path: "/api/storage/*/inventory", status: 404 }]),
    ],
    [
      "it is refused",
      (lab: Lab) => lab.simulator.control.setFaults([{ path: "/api/storage/*/inventory", status: 403 }]),
    ],
    [
      "it is a gateway's page",
      (lab: Lab) => {
        lab.rewrite = ({ url }) =>
          /inventory/.test(url)
            ? { status: 200, contentType: "text/html", body: "<html></html>" }
            : undefined;
      },
    ],
  ])("are asked for singly where %s, and it is left alone then", (_why, prepare) =>
    withLab(async (lab) => {
      prepare(lab);
      for (const isFirst of [true, false]) {
        const numbers = await stored(lab, 3);
        await lab.track();
        await expectRightPlaces(lab, numbers);
        expect(lab.calls.places).toBe(3);
        expect(lab.calls.inventory > 0).toBe(isFirst);
      }
    }),
  );

  test("are not believed where they differ from what a container's own location shows", () =>
    withLab(async (lab) => {
      lab.rewrite = ({ url, body }) =>
        /inventory/.test(url) ? { body: body.replaceAll("Cane A", "Cane H") } : undefined;
      for (let round = 0; round < 2; round += 1) {
        const numbers = await stored(lab, 3);
        await lab.track();
        await expectRightPlaces(lab, numbers);
        expect(lab.calls).toMatchObject({ places: 3, inventory: round === 0 ? 1 : 0 });
      }
    }));

  const withoutTimes = ({ url, body }: PassedCall) =>
    /inventory/.test(url) ? { body: body.replace(/"storedAt":"[^"]*"/g, '"storedAt":null') } : undefined;

  test("are not taken where they say less than a container's own location, unless the site wants that", async () => {
    await withLab(async (lab) => {
      lab.rewrite = withoutTimes;
      const numbers = [...(await stored(lab, 3)), ...(await stored(lab, 2))];
      await lab.track();
      await expectRightPlaces(lab, numbers);
      expect(lab.calls.places).toBe(5);
    });
    await withLab(async (lab) => {
      lab.rewrite = withoutTimes;
      const numbers = await stored(lab, 3);
      await lab.track();
      expect(lab.calls).toEqual({ ...NO_CALLS, inventory: 1 });
      const [order] = await ordersOf(lab, numbers);
      expect(order?.containers[0]?.location).toMatchObject({
        storageName: "Tank 1",
        position: expect.stringContaining("Cane"),
      });
    }, "always");
  });

  test("are never asked for where the site doesn't want it", () =>
    withLab(async (lab) => {
      await stored(lab, 3);
      await lab.track();
      expect(lab.calls).toMatchObject({ inventory: 0, places: 3 });
    }, "none"));

  test("are asked for singly for the container that the inventory shows with another label or subject", () =>
    withLab(async (lab) => {
      await stored(lab, 3);
      await lab.track();
      const numbers = await stored(lab, 4);
      const [first, second] = await ordersOf(lab, numbers);
      lab.rewrite = ({ url, body }) =>
        /inventory/.test(url)
          ? {
              body: body
                .replace(first?.containers[0]?.label ?? "", "V-OTHER")
                .replace(second?.subject.code.reveal() ?? "", "S-OTHER"),
            }
          : undefined;
      await lab.track();
      await expectRightPlaces(lab, numbers);
      expect(lab.calls).toMatchObject({ inventory: 1, places: 2 });
    }));
});

const place = { storageId: 7, storageName: "Tank", canister: "1", cane: "A" };
const CREATED_AT = "2026-11-20T09:00:00Z";

function anEntry(more: Partial<InventoryEntry> & { readonly storedAt?: string } = {}): InventoryEntry {
  const { storedAt = "2026-11-20T09:30:00Z", ...rest } = more;
  return { id: 1, labels: ["V-1"], location: { ...place, storedAt }, ...rest };
}

function anItem(more: Partial<Completed["order"]> = {}, ids: readonly number[] = [1]): Completed {
  return {
    order: {
      ...{ id: 9, connector: "lims", operation: "STORE", surface: "request", facilityId: 12, attempts: 0 },
      subject: { code: phi("S-1") },
      containers: [{ position: 1, label: "V-1", description: "" }],
      receivedAt: new Date("2026-11-20T08:00:00Z"),
      ...more,
    },
    procedure: { storageId: 7, containerIds: ids, containers: undefined, createdAt: CREATED_AT },
  };
}

function placesIn(entries: readonly InventoryEntry[], item: Completed = anItem()) {
  const places = new InventoryPlaces();
  places.add(7, entries);
  return places.of(item, item.order.containers);
}

describe("a place in an inventory", () => {
  test("is believed with the container's id and its label, or with the id that stood with the label before", () => {
    const location = anEntry().location;
    expect(placesIn([anEntry()])).toEqual(new Map([[1, { containerId: 1, location }]]));
    const known = anItem({ containers: [{ position: 1, label: "V-1", description: "", containerId: 1 }] });
    expect(placesIn([anEntry({ labels: [] })], known)).toEqual(new Map([[1, { containerId: 1, location }]]));
  });

  test.each<[string, readonly InventoryEntry[], Completed?]>([
    ["an id without a label that was never seen with it", [anEntry({ labels: [] })]],
    ["another label", [anEntry({ labels: ["V-2"] })]],
    ["an id that the procedure doesn't name", [anEntry()], anItem({}, [2])],
    ["one id twice", [anEntry(), anEntry({ location: { ...anEntry().location, cane: "B" } })]],
    ["one label with two ids", [anEntry(), anEntry({ id: 2 })], anItem({}, [1, 2])],
    ["another subject's code", [anEntry({ subjectCode: phi("S-2") })]],
    ["another subject's id", [anEntry({ subjectId: 5 })], anItem({ subjectId: 4 })],
    ["a time before the procedure", [anEntry({ storedAt: "2026-11-20T08:59:59Z" })]],
    ["a day as the time", [anEntry({ storedAt: "2026-11-20" })]],
    ["no time where others have one", [anEntry({ location: place }), anEntry({ id: 5, labels: ["V-5"] })]],
    [
      "another id than was known",
      [anEntry()],
      anItem({ containers: [{ position: 1, label: "V-1", description: "", containerId: 3 }] }, [1, 3]),
    ],
    ["what an order of the external surface shows itself", [anEntry()], anItem({ surface: "external" })],
    ["what was retrieved", [anEntry()], anItem({ operation: "RETRIEVAL" })],
  ])("is not believed with %s", (_what, entries, item) => {
    expect(placesIn(entries, item)).toEqual(new Map());
  });

  test("is looked for where two containers at least are in one storage solution", () => {
    const two = {
      ...anItem(),
      order: {
        ...anItem().order,
        id: 10,
        containers: [1, 2].map((n) => ({ position: n, label: `W-${n}`, description: "" })),
      },
    };
    expect(planInventories([anItem()])).toEqual([]);
    expect(planInventories([anItem(), two])).toMatchObject([{ storageId: 7, singleCalls: 5 }]);
    const elsewhere = {
      ...two,
      procedure: { ...anItem().procedure, storageId: 8, containerIds: [3, 4] },
    } as Completed;
    expect(planInventories([anItem(), elsewhere])).toMatchObject([{ storageId: 8, singleCalls: 3 }]);
  });

  test("is taken for all orders although reading the inventory took the time of the round", async () => {
    const items = Array.from({ length: 30 }, (_, n) => {
      const { order, procedure } = anItem({}, [n]);
      const containers = [{ position: 1, label: `V-${n}`, description: "" }];
      return { order: { ...order, id: n, containers }, procedure };
    });
    let nowMs = 0;
    const service = {
      findInInventory: async () => {
        nowMs += 60_000;
        return items.slice(1).map((_, n) => anEntry({ id: n + 1, labels: [`V-${n + 1}`] }));
      },
      inventoryTrust: () => "trusted",
      has: () => true,
      locationSurface: "request",
      listSubjectContainers: async () => [],
    } as unknown as LocateDeps["service"];
    const clock = { monotonic: () => nowMs };
    const ended: number[] = [];
    const record = async ({ order }: Completed, { next }: LocationLook) => {
      if (next === "report") ended.push(order.id);
    };
    const round = { forMs: 1_000, unfinished: new Map(), record };
    const deps = { service, clock, concurrency: 2, logger: silent, wayOf: byRequest };
    await lookForLocations(items, round, deps, never);
    expect(ended.sort((a, b) => a - b)).toEqual(items.slice(1).map(({ order }) => order.id));
  });

  test("is judged by the worst of those that can be compared", () => {
    const shown = placesIn([anEntry()]);
    const judge = (containerId: number, location: ContainerLocation | undefined) =>
      judgePlaces(shown, [{ position: 1, containerId, location }]);
    expect(judge(1, anEntry().location)?.agreement).toBe("same");
    expect(judge(2, anEntry().location)?.agreement).toBe("other");
    expect(judge(1, { ...anEntry().location, position: "4" })?.agreement).toBe("less");
    expect(judge(1, { ...anEntry().location, cane: "B" })?.agreement).toBe("other");
    expect(judge(1, undefined)).toBeUndefined();
  });
});
