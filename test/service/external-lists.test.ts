import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { onExternal, procedure, withExternal } from "./external-stub.ts";
import { type Row, type StubService, send } from "./stub-service.ts";
import { failureOf, never } from "./with-client.ts";

const SUBJECT = phi("S-4");

const containers = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    name: `V-${index + 1}`,
    subjectCode: "S-4",
    description: "",
  }));

const idsOf = async (client: ServiceClient) =>
  (await client.listSubjectContainers({ surface: "external", subjectCode: SUBJECT }, never)).map(
    ({ id }) => id,
  );

/** Ways in which a service may read `page` and `perPage`, which the surface's description doesn't mention. */
const STYLES: Readonly<Record<string, (stub: StubService) => void>> = {
  "reads neither": (stub) => {
    stub.intercept = (request) => {
      const url = new URL(request.url ?? "", "http://stub");
      url.searchParams.set("page", "1");
      url.searchParams.set("perPage", "1000");
      request.url = `${url.pathname}${url.search}`;
      return onExternal(stub)(request, undefined as never, "");
    };
  },
  "reads both": () => {},
  "reads both and gives at most 3": (stub) => {
    stub.options = { cap: 3 };
  },
  "reads perPage alone": (stub) => {
    stub.options = { honours: (name) => name !== "page" };
  },
  "refuses both": (stub) => {
    stub.intercept = (request, response) => {
      if (!/[?&](page|perPage)=/.test(request.url ?? "")) {
        request.url = `${request.url}&perPage=1000`;
        return onExternal(stub)(request, response, "");
      }
      send(response, 400, { code: "UNKNOWN_PARAMETER" });
      return true;
    };
  },
};

describe("a list of the external surface", () => {
  it.each(Object.keys(STYLES))("is read whole, whatever its length, from a service that %s", (style) =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 25 }),
        fc.integer({ min: 2, max: 12 }),
        async (count, perPage) => {
          const rows = containers(count);
          await withExternal(
            { containers: rows },
            async (stub, client) => {
              STYLES[style]?.(stub);
              // As many as are asked for by chance look like a list that is cut there: the next test's matter.
              fc.pre(style !== "reads perPage alone" || count !== perPage);
              expect(await idsOf(client)).toEqual(rows.map(({ id }) => id));
              // Once more, with what was found out about the service in mind.
              expect(await idsOf(client)).toEqual(rows.map(({ id }) => id));
            },
            { perPage },
          );
        },
      ),
      { numRuns: 12 },
    ),
  );

  it("is read as the plain array that it is, however the other surface's lists are wrapped", () =>
    withExternal(
      { containers: containers(2) },
      async (_stub, client) => {
        expect(await idsOf(client)).toEqual([1, 2]);
      },
      { listEnvelope: "data" },
    ));

  it("is asked for once and without paging where the site says that it comes whole", () =>
    withExternal(
      { containers: containers(20) },
      async (stub, client) => {
        STYLES["refuses both"]?.(stub);
        expect(await idsOf(client)).toHaveLength(20);
        expect(stub.seen.map(({ url }) => url)).toEqual([
          "/api/v1/external/sample-containers?subjectCode=S-4",
        ]);
      },
      { unpaged: ["externalContainers"] },
    ));

  it("isn't believed whole when the service gives at most as many as were asked for and ignores `page`", () =>
    withExternal(
      { containers: containers(20) },
      async (stub, client) => {
        stub.options = { cap: 5, honours: (name) => name !== "page" };
        expect(await failureOf(idsOf(client))).toMatchObject({ code: "SERVICE_LIST_UNPAGED" });
      },
      { perPage: 5 },
    ));

  it("carries only what the specification names, and the paging that is common to most lists", () =>
    withExternal({ procedures: [procedure(1)] }, async (stub, client) => {
      await client.readProcedures(
        { surface: "external", facilityId: 12, type: "STORE", ids: [1, 2, 3] },
        never,
      );
      expect(stub.seen[0]?.url).toBe(
        "/api/v1/external/procedures?facilityId=12&type=STORE&page=1&perPage=100",
      );
    }));
});

describe("the containers of a subject on the external surface", () => {
  it("are found with their labels, those of others left out though the service ignores the filter", () =>
    withExternal(
      { containers: [...containers(2), { id: 9, name: "V-1", subject: { code: "S-5" } }] },
      async (stub, client) => {
        stub.options = { honours: () => false };
        const found = await client.listSubjectContainers(
          { surface: "external", subjectCode: SUBJECT },
          never,
        );
        expect(found.map(({ id, labels }) => [id, labels])).toEqual([
          [1, ["V-1"]],
          [2, ["V-2"]],
        ]);
      },
    ));

  it("can't be told where entries name no subject and the filter is ignored", () =>
    withExternal({ containers: [{ id: 9, name: "V-1" }] }, async (stub, client) => {
      stub.options = { honours: () => false };
      expect(await failureOf(idsOf(client))).toMatchObject({ code: "SERVICE_FILTER_IGNORED" });
    }));
});

describe("the procedures of the external surface", () => {
  const read = (client: ServiceClient, ids: readonly number[]) =>
    client.readProcedures({ surface: "external", facilityId: 12, type: "STORE", ids }, never);

  it("are read from one list, but a completed one by its id, which alone tells the locations", () =>
    withExternal(
      {
        procedures: [
          procedure(1),
          procedure(2, { status: "IN_PROGRESS" }),
          procedure(3, {
            status: "COMPLETED",
            sampleContainers: [
              {
                id: 30,
                name: "V-3",
                location: { storage: { id: 5, name: "Tank 1" }, canister: "2", cane: "B" },
                storedAt: "2026-11-21T11:00:00Z",
              },
            ],
          }),
        ],
      },
      async (stub, client) => {
        const { found } = await read(client, [1, 2, 3]);
        expect([...found.values()].map(({ id, status, code }) => [id, status, code]).sort()).toEqual([
          [1, "PENDING", "PR-1"],
          [2, "IN_PROGRESS", "PR-2"],
          [3, "COMPLETED", "PR-3"],
        ]);
        expect(found.get(3)?.containers).toEqual([
          {
            id: 30,
            label: "V-3",
            description: undefined,
            location: {
              storageId: 5,
              storageName: "Tank 1",
              canister: "2",
              cane: "B",
              position: undefined,
              storedAt: "2026-11-21T11:00:00Z",
            },
          },
        ]);
        expect(stub.count("GET /api/v1/external/procedures/")).toBe(1);
      },
    ));

  it("are read one by one where they are few, and those that are gone are told", () =>
    withExternal({ procedures: [procedure(1)] }, async (stub, client) => {
      expect(await read(client, [1, 2])).toMatchObject({ missing: [2], unread: [] });
      expect(stub.count("GET /api/v1/external/procedures?")).toBe(0);
    }));

  it("are read one by one where the list is too long to be read at all", () =>
    withExternal(
      { procedures: [1, 2, 3].map((id) => procedure(id)) },
      async (stub, client) => {
        const lead = stub.intercept;
        stub.intercept = (request, response, body) => {
          if (!request.url?.includes("procedures?")) return lead(request, response, body);
          send(response, 200, [{ padding: "x".repeat(5_000) }]);
          return true;
        };
        expect((await read(client, [1, 2, 3])).found.size).toBe(3);
      },
      { maxBodyBytes: 2_000 },
    ));

  it("have no location where a completed one tells only when it was stored, or a location that is null", () =>
    withExternal(
      {
        procedures: [
          procedure(1, {
            status: "COMPLETED",
            sampleContainers: [
              { id: 10, name: "V-1", location: null, storedAt: "2026-11-21T11:00:00Z" },
              { id: 11, name: "V-2" },
            ],
          }),
        ],
      },
      async (_stub, client) => {
        const { containers: told } = await client.getProcedure("external", 1, never);
        expect(told?.map(({ location }) => location)).toEqual([undefined, undefined]);
      },
    ));
});
