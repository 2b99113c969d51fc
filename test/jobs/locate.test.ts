import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { describeUnlocated, lookForLocations } from "../../src/jobs/track/locate.ts";
import type { LocationLook, Look } from "../../src/jobs/track/look.ts";
import type { Completed } from "../../src/jobs/track/news.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { type StubService, send } from "../service/stub-service.ts";
import { never, withStub } from "../service/with-client.ts";
import { byRequest } from "../support/ways.ts";
import { silent } from "../support/with-ledger.ts";
import { anOrder, look, row, vial } from "./completed-orders.ts";

/** Looks for the containers of orders in one round. */
async function lookForAll(
  client: ServiceClient,
  orders: readonly Completed["order"][],
): Promise<ReadonlyMap<number, LocationLook>> {
  const deps = { service: client, concurrency: 2, logger: silent, clock: systemClock, wayOf: byRequest };
  const looks = new Map<number, LocationLook>();
  const round = {
    forMs: 600_000,
    unfinished: new Map(),
    record: async ({ order }: Completed, ended: LocationLook) => void looks.set(order.id, ended),
  };
  const completed = orders.map((order) => ({ order, procedure: undefined }));
  expect(await lookForLocations(completed, round, deps, never)).toBe(true);
  return looks;
}

/** A service with both vials, of which the location of the second is answered by `answer`. */
function withVials(
  answer: (response: ServerResponse) => void,
  run: (client: ServiceClient, stub: StubService) => Promise<void>,
): Promise<void> {
  return withStub(async (stub, client) => {
    stub.rows["sample-containers"] = [row(1), row(2)];
    stub.intercept = (request, response) => {
      const isSecond = request.url === "/api/sample-containers/2/location";
      if (isSecond) answer(response);
      return isSecond;
    };
    await run(client, stub);
  });
}

const notFound = (response: ServerResponse) => send(response, 404, { message: "no location yet" });

const unauthorized = (response: ServerResponse) => send(response, 401, { message: "who are you" });

const down = (response: ServerResponse) => send(response, 503, "<html></html>");

const oddShape = (response: ServerResponse) => send(response, 200, [1, 2]);

describe("looking for the containers of a completed order", () => {
  test("is over once every location is known", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [row(1), row(2)];
      expect(await look(client, anOrder())).toMatchObject({
        containers: [
          { position: 1, containerId: 1, location: { storageName: "Tank 1" } },
          { position: 2, containerId: 2, location: { storageName: "Tank 2" } },
        ],
        unlocated: [],
        next: "report",
      });
    }));

  test("asks nothing about a retrieval, whose containers stand nowhere", () =>
    withStub(async (stub, client) => {
      expect(await look(client, anOrder({ operation: "RETRIEVAL" }))).toMatchObject({ next: "report" });
      expect(stub.seen).toEqual([]);
    }));

  test.each([
    ["is not there yet", notFound, "the service knows no location of it"],
    ["may not be read", unauthorized, "its location can't be read (SERVICE_ACCESS_REFUSED)"],
    ["comes in an unknown shape", oddShape, "its location can't be read (SERVICE_SHAPE_UNKNOWN)"],
  ])("keeps what it found and is done again when a location %s", (_what, answer, text) =>
    withVials(answer, async (client) => {
      expect(await look(client, anOrder())).toMatchObject({
        containers: [
          { position: 1, location: { storageName: "Tank 1" } },
          { position: 2, containerId: 2 },
        ],
        unlocated: [{ position: 2, text }],
        next: "look_again",
      });
    }),
  );

  test("is done again when a label isn't listed yet", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [row(1)];
      const found = await look(client, anOrder());
      expect(found).toMatchObject({ containers: [{ position: 1, containerId: 1 }], next: "look_again" });
      expect(found?.unlocated).toEqual([
        { position: 2, text: "the service lists no container with its label" },
      ]);
    }));

  test("takes none of two containers with one label, unless the procedure names one of them", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [row(1), row(2), { ...row(3), name: "V-2" }];
      const open = await look(client, anOrder());
      expect(open?.unlocated).toEqual([
        { position: 2, text: "the service lists several containers with its label" },
      ]);
      expect(await look(client, anOrder(), [1, 3])).toMatchObject({
        containers: [{ containerId: 1 }, { containerId: 3, location: { storageName: "Tank 3" } }],
        next: "report",
      });
    }));

  const owned = (id: number, subjectId: number, name: string) => ({
    ...row(id),
    name,
    subject: { id: subjectId },
  });
  const subject = (id: number, facilityId: number) => ({ id, facilityId, code: "S-1" });

  test("takes only the subject's own containers where another facility's has the same code", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [subject(40, 12), subject(50, 13)];
      stub.rows["sample-containers"] = [owned(1, 40, "V-1"), owned(2, 50, "V-1"), owned(3, 50, "V-2")];
      const found = await look(client, anOrder());
      expect(found?.containers).toMatchObject([{ position: 1, containerId: 1 }]);
      expect(found?.unlocated).toEqual([
        { position: 2, text: "the service lists no container with its label" },
      ]);
    }));

  test("doesn't look the subject up again that was found before the order was sent", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [subject(40, 12), subject(50, 13)];
      stub.rows["sample-containers"] = [owned(1, 40, "V-1"), owned(2, 50, "V-1"), owned(3, 50, "V-2")];
      const found = await look(client, anOrder({ subjectId: 40 }));
      expect(found.containers).toMatchObject([{ position: 1, containerId: 1 }]);
      expect(found.unlocated).toMatchObject([{ position: 2 }]);
      expect(stub.count("GET /api/subjects")).toBe(0);
    }));

  test("looks the subject up again where that one has none of the labels any more", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [subject(60, 12)];
      stub.rows["sample-containers"] = [owned(1, 60, "V-1"), owned(2, 60, "V-2")];
      const found = await look(client, anOrder({ subjectId: 40 }));
      expect(found).toMatchObject({ containers: [{ containerId: 1 }, { containerId: 2 }], next: "report" });
      expect(stub.count("GET /api/subjects")).toBeGreaterThan(0);
    }));

  test("reads the containers of a subject once for its orders of a round, and who the subject is", () =>
    withStub(async (stub, client) => {
      stub.rows.subjects = [subject(40, 12)];
      stub.rows["sample-containers"] = [owned(1, 40, "V-1"), owned(2, 40, "V-2"), owned(3, 40, "V-3")];
      const orders = [1, 2, 3].map((n) => anOrder({ id: n, containers: [vial(n)] }));
      const cost = async (orders: readonly Completed["order"][]) => {
        stub.seen.length = 0;
        const looks = await lookForAll(client, orders);
        expect([...looks.values()].map(({ next }) => next)).toEqual(orders.map(() => "report"));
        return stub.seen.length;
      };
      await cost(orders.slice(0, 1));
      const ofOne = await cost(orders.slice(0, 1));
      expect(await cost(orders)).toBe(ofOne + 2);
    }));

  test("reads the list of a subject's containers until it has seen those that the procedure names", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = Array.from({ length: 12 }, (_, n) => row(n + 1));
      const order = anOrder();
      await look(client, order, [1, 2]);
      const pages = stub.count("GET /api/sample-containers?");
      expect(await look(client, order, [1, 2])).toMatchObject({ next: "report" });
      expect(stub.count("GET /api/sample-containers?")).toBe(pages + 1);
      await look(client, order);
      expect(stub.count("GET /api/sample-containers?")).toBe(pages + 3);
    }));

  test("asks again for what could not be read for another order of the round", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [row(1), row(2)];
      let lists = 0;
      stub.intercept = (request, response) => {
        if (!request.url?.startsWith("/api/sample-containers?")) return false;
        lists += 1;
        if (lists === 1) send(response, 403, { message: "not now" });
        return lists === 1;
      };
      const orders = [1, 2, 3].map((id) => anOrder({ id, containers: [vial(1)] }));
      const looks = await lookForAll(client, orders);
      expect(looks.get(3)).toMatchObject({ containers: [{ containerId: 1 }], next: "report" });
    }));

  test("takes none where several subjects have the code and nobody is to be looked up", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [owned(1, 40, "V-1"), owned(2, 50, "V-2")];
      const way = { surface: "request", subjects: "none" } as const;
      const found = await look(client, anOrder(), undefined, () => way);
      expect(found).toMatchObject({ containers: [], next: "look_again" });
      expect(found?.unlocated[0]?.text).toBe(
        "the service lists containers of several subjects with the order's subject code",
      );
    }));

  test.each([
    ["no place", { sampleContainerId: 2, storageId: null, position: "", storedAt: "2026-11-20T09:00:00Z" }],
    ["a place from before the order", { storageName: "Tank 9", storedAt: "2026-09-01T09:00:00Z" }],
  ])("is done again when the service tells %s", (words, location) =>
    withVials(
      (response) => send(response, 200, location),
      async (client) => {
        const found = await look(client, anOrder());
        expect(found).toMatchObject({ next: "look_again", unlocated: [{ position: 2 }] });
        expect(found?.unlocated[0]?.text).toContain(words);
        expect(found?.containers[1]?.location).toBeUndefined();
      },
    ),
  );

  test("takes the place of a service that tells the day only, as of its first hour in its own zone", () =>
    withVials(
      (response) => send(response, 200, { storageName: "Tank 9", storedAt: "2026-11-19T00:00:00+14:00" }),
      async (client) =>
        expect(await look(client, anOrder())).toMatchObject({ unlocated: [], next: "report" }),
    ));

  test("tells a place from before the order, with a word about it, when no other comes", () =>
    withVials(
      (response) => send(response, 200, { storageName: "Tank 9", storedAt: "2026-09-01T09:00:00Z" }),
      async (client) => {
        const last = await look(client, anOrder({ attempts: 4 }));
        expect(last).toMatchObject({
          containers: [{ position: 1 }, { position: 2, location: { storageName: "Tank 9" } }],
          unlocated: [{ position: 2, text: "the service shows a place from before the order" }],
          next: "report",
        });
      },
    ));

  test("ends with what is known after five looks", () =>
    withVials(notFound, async (client) => {
      expect(await look(client, anOrder({ attempts: 3 }))).toMatchObject({ next: "look_again" });
      const last = await look(client, anOrder({ attempts: 4 }));
      expect(last).toMatchObject({
        containers: [{ position: 1, location: { storageName: "Tank 1" } }, { position: 2 }],
        next: "report",
      });
      expect(describeUnlocated(last?.unlocated ?? [])).toBe(
        "not every location is known (container 2: the service knows no location of it)",
      );
    }));

  test("never ends because of an outage, however long it lasts", () =>
    withVials(down, async (client) => {
      expect(await look(client, anOrder({ attempts: 500 }))).toMatchObject({
        containers: [{ position: 1, location: { storageName: "Tank 1" } }, { position: 2 }],
        next: "wait",
      });
    }));

  test("asks only for what earlier looks left open", () =>
    withVials(notFound, async (client, stub) => {
      const first = vial(1, { containerId: 1, location: { storageName: "Tank 1" } });
      const order = anOrder({ containers: [first, vial(2, { containerId: 2 })] });
      expect(await look(client, order)).toMatchObject({
        containers: [
          { position: 1, location: { storageName: "Tank 1" } },
          { position: 2, containerId: 2 },
        ],
      });
      expect(stub.seen.map(({ url }) => url)).toEqual(["/api/sample-containers/2/location"]);
    }));

  test("of one container takes no id from the procedure, whose container has another label", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [{ ...row(9), name: "V-9" }];
      const found = await look(client, anOrder({ containers: [vial(1)] }), [9]);
      expect(found).toEqual({
        containers: [],
        unlocated: [{ position: 1, text: "the service lists no container with its label" }],
        next: "look_again",
      });
      expect(stub.seen.map(({ url }) => url).join()).not.toContain("location");
    }));

  test("takes no place where the service never shows a label", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [{ id: 1, subjectCode: "S-1", storageName: "Tank 1" }];
      const found = await look(client, anOrder({ containers: [vial(1)], attempts: 4 }), [1]);
      expect(found).toMatchObject({ containers: [], next: "report" });
      expect(describeUnlocated(found.unlocated)).toContain("service.containerLabelFields");
    }));

  test("forgets an id that the procedure doesn't name, and finds the one of the label", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [row(1), { ...row(2), name: "V-1" }];
      const order = anOrder({ containers: [vial(1, { containerId: 1 })] });
      expect(await look(client, order, [2])).toMatchObject({
        containers: [{ position: 1, containerId: 2, location: { storageName: "Tank 2" } }],
        next: "report",
      });
    }));

  test("takes neither of two labels for which the service has one container", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [{ ...row(1), label: "V-2" }];
      const found = await look(client, anOrder());
      expect(found.containers).toEqual([]);
      expect(found.unlocated.map(({ text }) => text)).toEqual([
        "the service has one container for several labels of the order",
        "the service has one container for several labels of the order",
      ]);
    }));

  test("is over at once where the service doesn't show places, with a word for each container", () =>
    withStub(
      async (stub, client) => {
        stub.rows["sample-containers"] = [row(1), row(2)];
        const text = "the service doesn't show where containers are";
        expect(await look(client, anOrder())).toEqual({
          containers: [
            { position: 1, containerId: 1 },
            { position: 2, containerId: 2 },
          ],
          unlocated: [
            { position: 1, text },
            { position: 2, text },
          ],
          next: "report",
        });
        expect(stub.count("GET /api/sample-containers/")).toBe(0);
      },
      { paths: { locations: "none" } },
    ));

  test("still looks for ids where the service doesn't show places", () =>
    withStub(
      async (stub, client) => {
        stub.rows["sample-containers"] = [row(1)];
        expect(await look(client, anOrder())).toMatchObject({ next: "look_again" });
      },
      { paths: { locations: "none" } },
    ));

  test("stops when the round's time is over, and goes on where it stopped, asking for nothing twice", () =>
    withStub(async (stub, client) => {
      const labels = Array.from({ length: 5 }, (_, n) => n + 1);
      stub.rows["sample-containers"] = labels.map(row);
      let nowMs = 0;
      const service = new Proxy(client, {
        get: (target, name) => {
          if (name === "getLocation") nowMs += 1_000;
          return Reflect.get(target, name);
        },
      });
      const deps = {
        service,
        concurrency: 1,
        logger: silent,
        clock: { monotonic: () => nowMs },
        wayOf: byRequest,
      };
      const unfinished = new Map<number, Look>();
      const rounds: string[] = [];
      const large = { order: anOrder({ containers: labels.map((n) => vial(n)) }), procedure: undefined };
      const small = { order: anOrder({ id: 8, containers: [vial(2)] }), procedure: undefined };
      stub.intercept = (request, response) => {
        const isFirst = request.url === "/api/sample-containers/1/location";
        if (isFirst) notFound(response);
        return isFirst;
      };
      const go = async (...items: Completed[]) => {
        const record = async ({ order }: Completed, { containers, next }: LocationLook) => {
          const located = containers.filter(({ location }) => location !== undefined);
          rounds.push(`${order.id} ${next} ${located.length}`);
        };
        return lookForLocations(items, { forMs: 2_000, unfinished, record }, deps, never);
      };
      expect(await go(large, small)).toBe(false);
      expect(await go(small, large)).toBe(false);
      expect(await go(large)).toBe(true);
      expect(rounds).toEqual(["7 go_on 1", "8 report 1", "7 go_on 2", "7 look_again 4"]);
      const asked = stub.seen.map(({ url }) => url).filter((url) => url.includes("location"));
      expect(asked).toHaveLength(labels.length + 1);
    }));

  test("holds no patient's values in its words", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [];
      const found = await look(client, anOrder());
      expect(JSON.stringify(found)).not.toMatch(/S-1|V-1/);
    }));
});
