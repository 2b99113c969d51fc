import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { findLost, REF, retrieval, store } from "./lost-calls.ts";
import { type Row, type StubService, send } from "./stub-service.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const stored = (id: number, given: Row = {}, ref: string | null = REF): Row => ({
  id,
  type: "STORE",
  status: "PENDING",
  facilityId: 12,
  subjectCode: "S-4",
  createdAt: "2026-11-21T10:00:01Z",
  sampleContainers: ["V-1", "V-2"].map((label) => ({
    sampleContainerId: label,
    description: ref === null ? "a" : `a [ref ${ref}]`,
  })),
  ...given,
});
const retrieved = (id: number, given: Row = {}): Row => {
  const { sampleContainers: _none, ...row } = stored(id, { type: "RETRIEVAL", ...given });
  return row;
};

function withRequests(
  rows: Row[],
  test: Parameters<typeof withStub>[0],
  given: Parameters<typeof withStub>[1] = {},
): Promise<void> {
  return withStub(async (stub, client) => {
    stub.rows["procedure-requests"] = rows;
    await test(stub, client);
  }, given);
}

const ignoreFilters = (stub: StubService) => {
  stub.options = { ...stub.options, honours: (name) => name === "page" };
};

describe("a lost storage request", () => {
  it("is found by its token among look-alikes", () =>
    withRequests(
      [stored(1, {}, "AAAA-AAAAAAAAAA"), stored(2), stored(3, { subjectCode: "S-5" })],
      async (_stub, client) => {
        const found = await findLost(client, "request", store(), never);
        expect(found.matches).toEqual([2]);
      },
    ));

  it.each(["PENDING", "ACCEPTED", "REJECTED", "CANCELLED"])("is found in status %s", (status) =>
    withRequests([stored(5, { status })], async (_stub, client) => {
      expect((await findLost(client, "request", store(), never)).matches).toEqual([5]);
    }),
  );

  it("is found where the list shows only pending ones unless asked for others", () =>
    withRequests(
      [stored(4, { subjectCode: "S-9" }), stored(5, { status: "REJECTED" })],
      async (stub, client) => {
        const all = stub.rows["procedure-requests"]!;
        stub.intercept = (request) => {
          const isAsked = request.url?.includes("status=");
          stub.rows["procedure-requests"] = isAsked ? all : all.filter((row) => row.status === "PENDING");
          return false;
        };
        expect((await findLost(client, "request", store(), never)).matches).toEqual([5]);
      },
    ));

  it("is found where the service writes types in lower case and filters by just that spelling", () =>
    withRequests([stored(5, { type: "store" })], async (_stub, client) => {
      expect((await findLost(client, "request", store(), never)).matches).toEqual([5]);
    }));

  it("is found where there is no page after the last, which the service says with 404", () =>
    withRequests([stored(5)], async (stub, client) => {
      stub.intercept = (request, response) => {
        if (!request.url?.includes("page=2&")) return false;
        send(response, 404, { detail: "Invalid page." });
        return true;
      };
      expect((await findLost(client, "request", store(), never)).matches).toEqual([5]);
    }));

  it("is found where the list shows only open ones, accepted ones among them, unless asked for others", () =>
    withRequests(
      [stored(4, { status: "ACCEPTED" }, "AAAA-AAAAAAAAAA"), stored(5, { status: "REJECTED" })],
      async (stub, client) => {
        const all = stub.rows["procedure-requests"]!;
        stub.intercept = (request) => {
          const isAsked = request.url?.includes("status=");
          stub.rows["procedure-requests"] = isAsked ? all : all.filter((row) => row.status !== "REJECTED");
          return false;
        };
        expect((await findLost(client, "request", store(), never)).matches).toEqual([5]);
      },
    ));

  it.each([1, 7, 100])("is found where filters are ignored and pages hold %i", (cap) =>
    withRequests(
      [...Array.from({ length: 30 }, (_, index) => stored(100 + index, { subjectCode: "S-9" })), stored(5)],
      async (stub, client) => {
        stub.options = { cap };
        ignoreFilters(stub);
        expect(await findLost(client, "request", store(), never)).toEqual({ matches: [5], candidates: [] });
      },
    ),
  );

  it("is found twice when the service has it twice", () =>
    withRequests([stored(5), stored(6)], async (_stub, client) => {
      expect((await findLost(client, "request", store(), never)).matches).toEqual([5, 6]);
    }));

  it("is not found when it isn't there", () =>
    withRequests([stored(1, { subjectCode: "S-5" }), retrieved(2)], async (_stub, client) => {
      expect(await findLost(client, "request", store(), never)).toEqual({ matches: [], candidates: [] });
    }));

  it("isn't taken from those that other orders own", () =>
    withRequests([stored(5)], async (_stub, client) => {
      const found = await findLost(client, "request", store({ knownIds: new Set([5]) }), never);
      expect(found).toEqual({ matches: [], candidates: [] });
    }));

  it("is only possible when a new request has its labels but not its token", () =>
    withRequests([stored(5, {}, null)], async (_stub, client) => {
      expect(await findLost(client, "request", store(), never)).toEqual({ matches: [], candidates: [5] });
    }));

  it("isn't taken from a request with another order's token, though labels are the same", () =>
    withRequests([stored(6, {}, "AAAA-AAAAAAAAAA")], async (_stub, client) => {
      expect(await findLost(client, "request", store(), never)).toEqual({ matches: [], candidates: [] });
    }));

  const others = (labels: readonly (string | undefined)[]): Row => ({
    sampleContainers: labels.map((label) => ({ sampleContainerId: label, description: `a [ref ${REF}]` })),
  });

  it.each([
    ["other labels", others(["V-7", "V-8"])],
    ["one label of two", others(["V-1"])],
    ["one label more", others(["V-1", "V-2", "V-3"])],
    ["no labels", others([undefined, undefined])],
  ])("is for a person to tell where its mark stands beside %s", (_words, row) =>
    withRequests([stored(5, row)], async (_stub, client) => {
      const found = await findLost(client, "request", store(), never);
      expect(found).toEqual({ matches: [], candidates: [5], marked: [5] });
    }),
  );

  it("is for a person to tell where its mark stands in the list and labels only in other containers", () =>
    withRequests([stored(5, { status: "ACCEPTED", procedureId: 50 })], async (stub, client) => {
      stub.options = { entry: ({ sampleContainers: _hidden, ...row }) => row };
      stub.rows.procedures = [{ id: 50, sampleContainerIds: [500] }];
      stub.rows["procedure-requests"] = [stored(5, { ...others([undefined]), procedureId: 50 })];
      stub.rows["sample-containers"] = [
        { id: 500, name: "V-9", subjectCode: "S-4", description: `a [ref ${REF}]` },
      ];
      const found = await findLost(client, "request", store(), never);
      expect(found).toEqual({ matches: [], candidates: [5], marked: [5] });
    }));

  it("isn't ruled out by a mark that the lab itself sent, as a description that it had from us before", () =>
    withRequests(
      // The service has cut the descriptions, and our own mark with them.
      [
        stored(5, {
          sampleContainers: ["V-1", "V-2"].map((label) => ({
            sampleContainerId: label,
            description: "a [ref AAAA-AAAAAAAAAA]",
          })),
        }),
      ],
      async (_stub, client) => {
        const containers = ["V-1", "V-2"].map((label) => ({ label, description: "a [ref AAAA-AAAAAAAAAA]" }));
        const found = await findLost(client, "request", store({ containers }), never);
        expect(found).toEqual({ matches: [], candidates: [5] });
      },
    ));

  it("is recognised by its exact labels where no token is used", () =>
    withRequests(
      [
        stored(5, {}, null),
        stored(6, { sampleContainers: [{ sampleContainerId: "V-1" }] }),
        stored(7, { createdAt: "2025-01-01T00:00:00Z" }, null),
      ],
      async (_stub, client) => {
        // A clock alone says that the other one is from before.
        expect(await findLost(client, "request", store(), never, "labels")).toEqual({
          matches: [5],
          candidates: [7],
        });
      },
      { correlation: "labels" },
    ));

  it("is only possible by its labels when the request's time has no zone", () =>
    withRequests(
      [stored(5, { createdAt: "2026-11-21T08:00:00" }, null)],
      async (_stub, client) => {
        expect(await findLost(client, "request", store(), never, "labels")).toEqual({
          matches: [],
          candidates: [5],
        });
      },
      { correlation: "labels" },
    ));

  it("is found by the whole request where list entries are short", () =>
    withRequests([stored(5), stored(6, {}, null)], async (stub, client) => {
      stub.options = { entry: ({ id, type, status, createdAt }) => ({ id, type, status, createdAt }) };
      expect(await findLost(client, "request", store(), never)).toEqual({ matches: [5], candidates: [6] });
    }));

  it("is found by the containers of its procedure where requests never name them", () =>
    withRequests([stored(5, { status: "ACCEPTED", procedureId: 50 }), stored(6)], async (stub, client) => {
      const short = ({ id, type, status, procedureId, createdAt }: Row) => ({
        id,
        type,
        status,
        procedureId,
        createdAt,
      });
      stub.rows.procedures = [{ id: 50, sampleContainerIds: [500, 501] }];
      stub.rows["sample-containers"] = [
        { id: 500, name: "V-1", subjectCode: "S-4", description: `a [ref ${REF}]` },
        { id: 501, name: "V-2", subjectCode: "S-4", description: `[ref ${REF}]` },
      ];
      stub.intercept = (request, response) => {
        const id = Number(/procedure-requests\/(\d+)$/.exec(request.url ?? "")?.[1]);
        if (!id) {
          stub.options = request.url?.includes("procedure-requests") ? { entry: short } : {};
          return false;
        }
        send(response, 200, short(stub.rows["procedure-requests"]!.find((row) => row.id === id)!));
        return true;
      };
      expect(await findLost(client, "request", store(), never)).toEqual({ matches: [5], candidates: [6] });
    }));
});

describe("a lost retrieval", () => {
  it("is possible by each new request of that subject, and certain by none", () =>
    withRequests(
      [retrieved(1), retrieved(5), stored(6), retrieved(7, { subjectCode: "S-5" })],
      async (_stub, client) => {
        const found = await findLost(client, "request", retrieval({ knownIds: new Set([1]) }), never);
        expect(found).toEqual({ matches: [], candidates: [5] });
      },
    ));

  it("is certain by the containers of its procedure once accepted, and others are ruled out", () =>
    withRequests(
      [
        retrieved(5, { status: "ACCEPTED", procedureId: 50 }),
        retrieved(6, { status: "ACCEPTED", procedureId: 60 }),
      ],
      async (stub, client) => {
        stub.rows.procedures = [
          { id: 50, sampleContainerIds: [8, 7] },
          { id: 60, sampleContainerIds: [7] },
        ];
        expect(await findLost(client, "request", retrieval(), never)).toEqual({
          matches: [5],
          candidates: [],
        });
      },
    ));

  it("is certain where the service echoes the containers", () =>
    withRequests(
      [retrieved(5, { sampleContainerIds: [8, 7] }), retrieved(6, { sampleContainerIds: [9] })],
      async (_stub, client) => {
        expect(await findLost(client, "request", retrieval(), never)).toEqual({
          matches: [5],
          candidates: [],
        });
      },
    ));

  it("is distinguished from earlier ones by the snapshot before it", () =>
    withRequests([retrieved(1), retrieved(2, { status: "REJECTED" }), stored(3)], async (stub, client) => {
      const before = await client.snapshotRequestIds(
        { facilityId: 12, subjectCode: phi("S-4"), type: "RETRIEVAL" },
        never,
      );
      expect(before).toEqual([1, 2]);
      stub.rows["procedure-requests"]!.push(retrieved(4));
      const found = await findLost(client, "request", retrieval({ knownIds: new Set(before) }), never);
      expect(found.candidates).toEqual([4]);
    }));
});

describe("the snapshot before a retrieval", () => {
  const snapshot = (client: ServiceClient) =>
    client.snapshotRequestIds({ facilityId: 12, subjectCode: phi("S-4"), type: "RETRIEVAL" }, never);
  /** Only what is pending is listed, unless the call asks for another status. */
  const hideDecided = (stub: StubService) => {
    const all = stub.rows["procedure-requests"]!;
    stub.intercept = (request) => {
      const isOpenList = request.url?.includes("?") && !request.url.includes("status=");
      stub.rows["procedure-requests"] = isOpenList ? all.filter((row) => row.status === "PENDING") : all;
      return false;
    };
    return all;
  };

  it.each([
    ["there is none", []],
    ["there is one that is pending", [retrieved(1)]],
    ["there are others' and storages alone", [retrieved(1, { subjectCode: "S-9" }), stored(2)]],
  ])("is one call where %s", (_words, rows) =>
    withRequests(rows, async (stub, client) => {
      await snapshot(client);
      expect(stub.seen).toHaveLength(1);
    }),
  );

  it.each([2, 3, 7])("holds all where pages hold %i, shift, and filters are ignored", (cap) =>
    withRequests(
      Array.from({ length: 20 }, (_, index) => retrieved(index + 1, index % 2 ? {} : { subjectCode: "S-9" })),
      async (stub, client) => {
        let isMoved = false;
        const afterPage = () => {
          // One that comes once in front of the others pushes an entry from each page to the next.
          if (!isMoved) stub.rows["procedure-requests"]!.unshift(retrieved(90, { subjectCode: "S-9" }));
          isMoved = true;
        };
        stub.options = { cap, afterPage };
        ignoreFilters(stub);
        const ids = await snapshot(client);
        expect(ids.sort((a, b) => a - b)).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
      },
    ),
  );

  it("leaves nothing to be taken for new that was only listed when asked for by its status", () =>
    withRequests([retrieved(1, { status: "REJECTED" })], async (stub, client) => {
      hideDecided(stub);
      const knownIds = new Set(await snapshot(client));
      const found = await findLost(client, "request", retrieval({ knownIds }), never);
      expect(found).toEqual({ matches: [], candidates: [1], hidden: [1] });
    }));

  it("leaves nothing to be certain by its containers that was only listed when asked for by its status", () =>
    withRequests([retrieved(1, { status: "REJECTED", sampleContainerIds: [7, 8] })], async (stub, client) => {
      hideDecided(stub);
      const knownIds = new Set(await snapshot(client));
      const found = await findLost(client, "request", retrieval({ knownIds }), never);
      expect(found).toEqual({ matches: [], candidates: [1], hidden: [1] });
    }));

  it("shows as new what is listed without being asked for its status", () =>
    withRequests([retrieved(1, { status: "REJECTED" })], async (stub, client) => {
      const all = hideDecided(stub);
      const knownIds = new Set(await snapshot(client));
      all.push(retrieved(2));
      const found = await findLost(client, "request", retrieval({ knownIds }), never);
      expect(found).toEqual({ matches: [], candidates: [2, 1], hidden: [1] });
    }));
});

describe("a list that can't be trusted", () => {
  it("is read until two passes agree", () =>
    withRequests([], async (stub, client) => {
      const late = [stored(5)];
      stub.intercept = (request) => {
        // The request shows up only in the second pass.
        if (request.url?.includes("status=CANCELLED")) stub.rows["procedure-requests"] = late;
        return false;
      };
      expect((await findLost(client, "request", store(), never)).matches).toEqual([5]);
    }));

  it("is given up for now when no two passes agree", () =>
    withRequests([], async (stub, client) => {
      let id = 0;
      stub.intercept = (request) => {
        if (request.url?.includes("page=1&"))
          stub.rows["procedure-requests"]!.push(stored(++id, {}, "AAAA-AAAAAAAAAA"));
        return false;
      };
      const failure = await failureOf(findLost(client, "request", store(), never));
      expect(failure).toMatchObject({ code: "SERVICE_LIST_UNSTABLE", class: "transient" });
    }));

  it("isn't believed complete when `page` is ignored and the page is full", () =>
    withRequests(
      Array.from({ length: 40 }, (_, index) => stored(index + 1, {}, "AAAA-AAAAAAAAAA")),
      async (stub, client) => {
        stub.options = { honours: () => false };
        expect((await failureOf(findLost(client, "request", store(), never))).code).toBe(
          "SERVICE_LIST_UNPAGED",
        );
      },
      { perPage: 20 },
    ));

  it("isn't believed complete when `page` and `perPage` are ignored and there is a default page", () =>
    withRequests(
      Array.from({ length: 40 }, (_, index) => stored(index + 1, {}, "AAAA-AAAAAAAAAA")),
      async (stub, client) => {
        stub.options = { cap: 10, honours: () => false };
        const failure = await failureOf(findLost(client, "request", store(), never));
        expect(failure.code).toBe("SERVICE_LIST_UNPAGED");
      },
    ));

  it.each(["R-5", null, 5.5])("isn't believed to be without ours when an entry has the id %j", (id) =>
    withRequests([stored(5, { id })], async (_stub, client) => {
      const failure = await failureOf(findLost(client, "request", store(), never));
      expect(failure).toMatchObject({ code: "SERVICE_SHAPE_UNKNOWN", class: "transient" });
    }),
  );

  it.each([
    { data: null, errors: [{ message: "the database is away" }] },
    { data: [], error: "the database is away" },
    { data: [], success: false },
  ])("isn't believed to be empty when it comes as %j", (body) =>
    withRequests([], async (stub, client) => {
      stub.options = { envelope: () => body };
      const failure = await failureOf(findLost(client, "request", store(), never));
      expect(failure.code).toBe("SERVICE_SHAPE_UNKNOWN");
    }),
  );

  it("fails rather than tell half when the service fails on a later page", () =>
    withRequests([stored(5)], async (stub, client) => {
      stub.intercept = (request, response) => {
        if (!request.url?.includes("page=2")) return false;
        send(response, 500, {});
        return true;
      };
      expect((await failureOf(findLost(client, "request", store(), never))).code).toBe("SERVICE_UNAVAILABLE");
    }));
});
