import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { phi } from "../../src/core/phi.ts";
import { lookForLocations } from "../../src/jobs/track/locate.ts";
import type { LocationLook } from "../../src/jobs/track/look.ts";
import type { Completed } from "../../src/jobs/track/news.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { type Row, type StubService, send } from "../service/stub-service.ts";
import { never, withStub } from "../service/with-client.ts";
import { byRequest } from "../support/ways.ts";
import { silent } from "../support/with-ledger.ts";

/** Order n has a subject of its own and one container, which the service has as 100 + n. */
function anOrder(n: number): Completed {
  return {
    order: {
      id: n,
      connector: "lims",
      operation: "STORE",
      surface: "request",
      facilityId: 12,
      subject: { code: phi(`S-${n}`) },
      subjectId: n,
      containers: [{ position: 1, label: "V-1", description: "" }],
      attempts: 0,
      receivedAt: new Date("2026-11-20T08:00:00Z"),
    },
    procedure: { containerIds: [100 + n], containers: undefined, storageId: undefined, createdAt: undefined },
  };
}

const row = (n: number, given: Row = {}): Row => ({
  id: 100 + n,
  name: "V-1",
  subjectCode: `S-${n}`,
  subjectId: n,
  storageName: `Tank ${n}`,
  ...given,
});
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

async function lookFor(client: ServiceClient, completed: readonly Completed[]) {
  const deps = { service: client, concurrency: 2, logger: silent, clock: systemClock, wayOf: byRequest };
  const looks = new Map<number, LocationLook>();
  const round = {
    forMs: 600_000,
    unfinished: new Map(),
    record: async ({ order }: Completed, ended: LocationLook) => void looks.set(order.id, ended),
  };
  expect(await lookForLocations(completed, round, deps, never)).toBe(true);
  return looks;
}

/** What was found for each order, in short. */
const places = (looks: ReadonlyMap<number, LocationLook>) =>
  [...looks]
    .sort(([a], [b]) => a - b)
    .map(([id, { containers }]) => [id, containers[0]?.containerId, containers[0]?.location?.storageName]);
const right = (count: number) => numbers(count).map((n) => [n, 100 + n, `Tank ${n}`]);
const listsOf = (stub: StubService) => stub.count("GET /api/sample-containers?");

describe("containers of orders that complete together", () => {
  test("are identified by a page that the orders share", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = numbers(30).map((n) => row(n));
      expect(places(await lookFor(client, numbers(30).map(anOrder)))).toEqual(right(30));
      expect(listsOf(stub)).toBe(1);
    }));

  test("are asked for by the subject alone where there is but one order", () =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = numbers(3).map((n) => row(n));
      expect(places(await lookFor(client, [anOrder(1)]))).toEqual(right(1));
      expect(stub.seen[0]?.url).toContain("subjectCode=S-1");
    }));

  test.each<[string, (stub: StubService) => void]>([
    [
      "lists containers by subject only",
      (stub) => {
        stub.intercept = (request, response) => {
          const isRefused = request.url?.includes("?") === true && !request.url.includes("subjectCode=");
          if (isRefused) send(response, 400, { code: "SUBJECT_REQUIRED" });
          return isRefused;
        };
      },
    ],
    [
      "refuses the filter",
      (stub) => {
        stub.intercept = (request, response) => {
          const isRefused = request.url?.includes("id_from=") === true;
          if (isRefused) send(response, 400, { code: "UNKNOWN_FILTER" });
          return isRefused;
        };
      },
    ],
    [
      "ignores the filter",
      (stub) => {
        stub.options = { honours: (name) => !name.startsWith("id_"), cap: 5 };
      },
    ],
    [
      "names no subjects in the list",
      (stub) => {
        stub.options = { entry: ({ subjectCode: _code, subjectId: _id, ...rest }) => rest };
      },
    ],
  ])("are asked for by the subject where a service %s, which is tried once", (_words, behave) =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = numbers(12).map((n) => row(n));
      behave(stub);
      expect(places(await lookFor(client, numbers(12).map(anOrder)))).toEqual(right(12));
      stub.seen.length = 0;
      expect(places(await lookFor(client, numbers(12).map(anOrder)))).toEqual(right(12));
      expect(listsOf(stub)).toBeLessThanOrEqual(13);
    }),
  );

  test.each<[string, Row]>([
    ["is listed as another subject's", { subjectCode: "S-9", subjectId: 9 }],
    ["is listed as that of a subject of the same code elsewhere", { subjectId: 77 }],
    ["has another label", { name: "V-7" }],
  ])("are not taken from the page where one %s", (_words, given) =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [row(1), row(2, given), row(3)];
      const looks = await lookFor(client, numbers(3).map(anOrder));
      expect(places(looks)).toEqual([
        [1, 101, "Tank 1"],
        [2, undefined, undefined],
        [3, 103, "Tank 3"],
      ]);
    }),
  );

  test("are right, and cost half a call more each at most, in whatever order they are listed and however far apart they are", () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 12 }),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 2, max: 20 }),
        fc.constantFrom("rising", "falling", "mixed"),
        async (count, apart, cap, sort) =>
          withStub(async (stub, client) => {
            const others = numbers(count * apart).map((n) =>
              row(n, { id: 1_000 + n, subjectCode: "S-0", subjectId: 99 }),
            );
            const own = numbers(count).map((n) => row(n, { id: 1_000 + n * apart }));
            const ids = new Set(own.map(({ id }) => id));
            const rows = [...others.filter(({ id }) => !ids.has(id)), ...own].sort(
              (a, b) => Number(a.id) - Number(b.id),
            );
            if (sort === "falling") rows.reverse();
            if (sort === "mixed") rows.sort((a, b) => (Number(a.id) % 3) - (Number(b.id) % 3));
            stub.rows["sample-containers"] = rows;
            stub.options = { cap };
            const orders = numbers(count).map((n) => {
              const item = anOrder(n);
              return { ...item, procedure: { ...item.procedure!, containerIds: [1_000 + n * apart] } };
            });
            const found = places(await lookFor(client, orders));
            expect(found).toEqual(numbers(count).map((n) => [n, 1_000 + n * apart, `Tank ${n}`]));
            expect(listsOf(stub)).toBeLessThanOrEqual(count + Math.ceil(count / 2));
          }),
      ),
      { numRuns: 15 },
    ));
});
