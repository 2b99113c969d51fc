import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { FakeClock } from "./fake-clock.ts";
import { findLost } from "./lost-calls.ts";
import { type Row, type StubService, send } from "./stub-service.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const requests = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    facilityId: 12,
    type: "STORE",
    status: "PENDING",
    subjectCode: index % 2 === 0 ? "S-1" : "S-2",
    procedureId: null,
  }));

/** A service that answers 400 to each parameter that it doesn't take. */
function strict(stub: StubService, takes: (name: string, value: string) => boolean): void {
  stub.intercept = (request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://stub");
    const unknown = [...searchParams].find(([name, value]) => !takes(name, value));
    if (unknown)
      send(response, 400, { code: "UNKNOWN_PARAMETER", message: `unknown parameter ${unknown[0]}` });
    return unknown !== undefined;
  };
}

async function idsOf(
  client: ServiceClient,
  list: "requests" | "storage" | "procedures",
  filters: Readonly<Record<string, string | number>> = {},
): Promise<unknown[]> {
  const ids: unknown[] = [];
  for await (const page of client.readList({ list, surface: "request", filters }, never)) {
    for (const { id } of page.entries) ids.push(id);
  }
  return ids;
}

const queriesOf = (stub: StubService) => stub.seen.map(({ url }) => new URL(url, "http://stub").search);

describe("a service that refuses parameters which it doesn't know", () => {
  it("is asked again without the filters that the specification doesn't name, and not with them for an hour", () => {
    const clock = new FakeClock();
    return withStub(
      async (stub, client) => {
        stub.rows["procedure-requests"] = requests(6);
        strict(stub, (name) => ["page", "perPage", "status"].includes(name));
        const filters = { subjectCode: "S-1", status: "PENDING" };
        expect(await idsOf(client, "requests", filters)).toEqual([1, 3, 5]);
        expect(await idsOf(client, "requests", filters)).toEqual([1, 3, 5]);
        const bare = "?status=PENDING&page=1&perPage=100";
        expect(queriesOf(stub).filter((query) => query.includes("subjectCode"))).toHaveLength(1);
        expect(queriesOf(stub)).toContain(bare);
        stub.intercept = () => false;
        stub.seen.length = 0;
        await clock.advance(3_600_000);
        await idsOf(client, "requests", filters);
        expect(queriesOf(stub)[0]).toContain("subjectCode=S-1");
      },
      { maxRequestsPerSecond: 1e6 },
      { clock },
    );
  });

  it("still finds a lost request, by looking at each entry itself", () =>
    withStub(async (stub, client) => {
      strict(stub, (name) => ["page", "perPage", "status"].includes(name));
      const ref = "7K3M-ZQ0VX9TB4D";
      stub.rows["procedure-requests"] = [
        ...requests(3),
        {
          id: 50,
          facilityId: 12,
          type: "STORE",
          status: "PENDING",
          subjectCode: "S-9",
          sampleContainers: [{ sampleContainerId: "V1", description: `[ref ${ref}]` }],
        },
      ];
      const found = await findLost(
        client,
        "request",
        {
          type: "STORE",
          facilityId: 12,
          subjectCode: phi("S-9"),
          containers: [{ label: "V1", description: "" }],
          ref,
          sentAfter: new Date(),
          knownIds: new Set(),
        },
        never,
      );
      expect(found).toEqual({ matches: [50], candidates: [] });
    }));

  it("is read in batches without id filters, which count as ignored", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(50);
      strict(stub, (name) => ["page", "perPage", "status"].includes(name));
      const ids = Array.from({ length: 40 }, (_, index) => index + 11);
      expect((await client.readRequests(12, ids, never)).found.size).toBe(40);
      stub.seen.length = 0;
      await client.readRequests(12, ids, never);
      expect(queriesOf(stub).every((query) => !query.includes("id_from"))).toBe(true);
      expect(stub.seen.length).toBeLessThanOrEqual(3);
    }));

  it("is asked for smaller pages when it refuses large ones", () =>
    withStub(
      async (stub, client) => {
        stub.rows["procedure-requests"] = requests(250);
        strict(stub, (name, value) => name === "page" || (name === "perPage" && Number(value) <= 100));
        expect(await idsOf(client, "requests")).toHaveLength(250);
        expect(queriesOf(stub).filter((query) => query.includes("perPage=500"))).toHaveLength(1);
      },
      { perPage: 500 },
    ));

  it("is read by its default pages when it refuses any size", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(25);
      strict(stub, (name) => name === "page");
      expect(await idsOf(client, "requests")).toHaveLength(25);
      expect(queriesOf(stub).filter((query) => query.includes("perPage"))).toHaveLength(1);
    }));

  it("is asked once for a list that can't be paged", () =>
    withStub(async (stub, client) => {
      stub.rows.storage = requests(7);
      strict(stub, () => false);
      expect(await idsOf(client, "storage")).toHaveLength(7);
      stub.seen.length = 0;
      await idsOf(client, "storage");
      expect(queriesOf(stub)).toEqual([""]);
    }));

  it("isn't believed to have shown a whole list when that is as long as a default page", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(10);
      strict(stub, () => false);
      const failure = await failureOf(
        client.snapshotRequestIds({ facilityId: 12, subjectCode: phi("S-1"), type: "RETRIEVAL" }, never),
      );
      expect(failure).toMatchObject({ code: "SERVICE_LIST_UNPAGED" });
      expect(failure.message).toContain("there may be more");
    }));

  it("gets its first refusal told when no other question helps", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 422, { code: "NO_SUCH_FACILITY" });
        return true;
      };
      const failure = await failureOf(idsOf(client, "requests", { facilityId: 99 }));
      expect(failure).toMatchObject({ code: "SERVICE_REFUSED" });
      expect(failure.message).toContain("NO_SUCH_FACILITY");
      expect(stub.seen.length).toBeLessThanOrEqual(4);
    }));

  it("isn't asked otherwise when it refuses for want of rights", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 403, { code: "FORBIDDEN" });
        return true;
      };
      await failureOf(idsOf(client, "requests", { facilityId: 12 }));
      expect(stub.seen).toHaveLength(1);
    }));
});

describe("the filters that are sent", () => {
  it("are those that the specification names for the list when the site wants no others", () =>
    withStub(
      async (stub, client) => {
        stub.rows.procedures = requests(4);
        expect(await idsOf(client, "procedures", { facilityId: 12, subjectCode: "S-1" })).toEqual([1, 3]);
        await client.readRequests(12, [1, 2, 3], never);
        const names = queriesOf(stub).flatMap((query) => [...new URLSearchParams(query).keys()]);
        expect(new Set(names)).toEqual(new Set(["facilityId", "page", "perPage"]));
      },
      { filters: "none" },
    ));

  it("are those and the ones that the site names, by field or by form", () =>
    withStub(
      async (stub, client) => {
        stub.rows["procedure-requests"] = requests(4);
        await idsOf(client, "requests", {
          id_from: 2,
          id_to: 3,
          createdAt_from: "2026-01-01",
          subjectCode: "S-1",
        });
        const names = [...new URLSearchParams(queriesOf(stub)[0]).keys()];
        expect(names).toEqual(["id_from", "id_to", "createdAt_from", "page", "perPage"]);
      },
      { filters: ["id", "createdAt_from"] },
    ));
});

describe("ids of a list", () => {
  it.each([Number.MAX_SAFE_INTEGER, String(Number.MAX_SAFE_INTEGER)])("are exact up to %j", (id) =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = [{ ...requests(1)[0], id }];
      const read = await client.readRequests(12, [Number.MAX_SAFE_INTEGER], never);
      expect([...read.found.keys()]).toEqual([Number.MAX_SAFE_INTEGER]);
    }),
  );

  it.each(["9007199254740993", '"9007199254740993"'])(
    "make the list unreadable when they are larger, as %s is, rather than be passed over",
    (id) =>
      withStub(async (stub, client) => {
        stub.intercept = (_request, response) => {
          send(response, 200, `[{"id":1},{"id":${id}}]`);
          return true;
        };
        const failure = await failureOf(
          client.snapshotRequestIds({ facilityId: 12, subjectCode: phi("S-1"), type: "STORE" }, never),
        );
        expect(failure).toMatchObject({ code: "SERVICE_ID_TOO_LARGE" });
        expect(failure.message).toContain("2^53");
      }),
  );
});
