import { describe, expect, it } from "vitest";
import type { ServiceClient } from "../../src/service/client.ts";
import type { ReadPage } from "../../src/service/lists/reads.ts";
import type { Row } from "./stub-service.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const tanks = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, name: `T${index + 1}`, vendor: "x" }));

/** The list of storage solutions, as a person reads it. */
function storage(client: ServiceClient, { perPage, ...filters }: Record<string, string | number>) {
  return client.readList(
    {
      list: "storage",
      surface: "request",
      filters,
      perPage: perPage === undefined ? undefined : Number(perPage),
    },
    never,
  );
}

async function idsOf(list: AsyncIterable<ReadPage>): Promise<unknown[]> {
  const ids: unknown[] = [];
  for await (const { entries } of list) for (const entry of entries) ids.push(entry.id);
  return ids;
}

describe("the wrapping of a list", () => {
  it.each([
    ["a bare array", (rows: Row[]) => rows],
    ["data", (rows: Row[]) => ({ data: rows, meta: { total: 3 } })],
    ["items with paging data", (rows: Row[]) => ({ items: rows, page: 1, errors: [] })],
    ["data.items", (rows: Row[]) => ({ data: { items: rows, total: 3 } })],
    ["a name of its own", (rows: Row[]) => ({ tanks: rows, total: 3 })],
    ["null for an empty list", (rows: Row[]) => ({ data: rows.length === 0 ? null : rows })],
  ])("is found out when it is %s", (_name, envelope) =>
    withStub(async (stub, client) => {
      stub.rows.storage = tanks(3);
      stub.options = { envelope };
      expect(await idsOf(storage(client, {}))).toEqual([1, 2, 3]);
    }),
  );

  it("is taken from the settings where they name it", () =>
    withStub(
      async (stub, client) => {
        stub.rows.storage = tanks(3);
        stub.options = { envelope: (rows) => ({ data: [], reply: { rows } }) };
        expect(await idsOf(storage(client, {}))).toEqual([1, 2, 3]);
      },
      { listEnvelope: "reply.rows" },
    ));

  it.each([
    ["two arrays of equal right", { a: [], b: [] }, "the answer's lists are `a`, `b`"],
    ["lists within others", { at: { x: [], "Doe, Jane": [] } }, "the answer's lists are `at.x`)"],
    ["an object without a list", { status: "maintenance" }, "the answer has no list"],
    ["a list of no objects", [1, 2], "the answer's lists are the answer itself"],
  ])("is refused when the answer is %s, and what it has is named", (_name, body, words) =>
    withStub(async (stub, client) => {
      stub.options = { envelope: () => body };
      const failure = await failureOf(idsOf(storage(client, {})));
      expect(failure).toMatchObject({ code: "SERVICE_SHAPE_UNKNOWN", class: "transient" });
      expect(failure.message).toContain("listEnvelope");
      expect(failure.message).toContain(words);
    }),
  );
});

describe("the pages of a list", () => {
  it.each([2, 7, 25, 100, 1_000])("are read to their end under a cap of %i", (cap) =>
    withStub(async (stub, client) => {
      stub.rows.storage = tanks(101);
      stub.options = { cap };
      expect(await idsOf(storage(client, {}))).toHaveLength(101);
    }),
  );

  it("end at a page shorter than the longest, without asking for an empty one", () =>
    withStub(async (stub, client) => {
      stub.rows.storage = tanks(60);
      stub.options = { cap: 25 };
      await idsOf(storage(client, {}));
      expect(stub.seen).toHaveLength(3);
    }));

  it("yield each object once although the list shifts between pages", () =>
    withStub(async (stub, client) => {
      stub.rows.storage = tanks(60);
      let next = 1_000;
      stub.options = { cap: 10, afterPage: () => stub.rows.storage!.unshift({ id: next++ }) };
      const ids = await idsOf(storage(client, {}));
      expect(new Set(ids).size).toBe(ids.length);
      for (let id = 1; id <= 60; id += 1) expect(ids).toContain(id);
    }));

  it("end when the service ignores `page` and gives everything each time", () =>
    withStub(async (stub, client) => {
      stub.rows.storage = tanks(30);
      stub.options = { honours: () => false };
      expect(await idsOf(storage(client, {}))).toHaveLength(30);
    }));

  it("carry the four filter forms and a page size of the person's own", () =>
    withStub(async (stub, client) => {
      const query = { facilityId: 12, name_like: "a b", createdAt_from: "2026-01-01", id_to: 9, perPage: 5 };
      await idsOf(storage(client, query));
      expect(stub.seen[0]!.url).toBe(
        "/api/storage?facilityId=12&name_like=a%20b&createdAt_from=2026-01-01&id_to=9&page=1&perPage=5",
      );
    }));

  it("are fetched only while someone takes them, with unknown fields kept", () =>
    withStub(async (stub, client) => {
      stub.rows.storage = tanks(60);
      stub.options = { cap: 10 };
      for await (const { entries } of storage(client, {})) {
        expect(entries[0]).toEqual({ id: 1, name: "T1", vendor: "x" });
        break;
      }
      expect(stub.seen).toHaveLength(1);
    }));
});

describe("a later page that is refused", () => {
  it("ends the reading with the refusal, and is never asked for by another size, whose entries were seen already", () =>
    withStub(
      async (stub, client) => {
        stub.rows.storage = tanks(1_500);
        const sizes = new Set<string | null>();
        stub.intercept = (request, response) => {
          const query = new URL(request.url ?? "", "http://stub").searchParams;
          if (!request.url?.startsWith("/api/storage")) return false;
          sizes.add(query.get("perPage"));
          if (Number(query.get("page")) * Number(query.get("perPage") ?? 10) <= 1_000) return false;
          response.writeHead(400, { "content-type": "application/json" }).end("{}");
          return true;
        };
        expect(await failureOf(idsOf(storage(client, {})))).toMatchObject({ code: "SERVICE_REFUSED" });
        expect([...sizes]).toEqual(["200"]);
      },
      { perPage: 200 },
    ));
});
