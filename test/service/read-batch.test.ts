import { describe, expect, it } from "vitest";
import { FakeClock } from "./fake-clock.ts";
import { type Row, send } from "./stub-service.ts";
import { never, withStub } from "./with-client.ts";

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const requests = (ids: readonly number[]): Row[] =>
  ids.map((id) => ({ id, facilityId: 12, type: "STORE", status: "PENDING", procedureId: null }));

describe("reading the state of many requests", () => {
  it("takes as many requests as pages, not as ids", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 1_000));
      const read = await client.readRequests(12, range(1, 1_000), never);
      expect(read.found.size).toBe(1_000);
      expect(read.found.get(77)).toMatchObject({ id: 77, status: "PENDING" });
      expect(stub.seen.length).toBeLessThanOrEqual(11);
    }));

  it("notices a smaller page cap and still takes a request a page", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 1_000));
      stub.options = { cap: 25 };
      expect((await client.readRequests(12, range(1, 1_000), never)).found.size).toBe(1_000);
      expect(stub.seen.length).toBeLessThanOrEqual(41);
    }));

  it("takes no more requests than ids where few of a long list are wanted", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 5_000));
      const read = await client.readRequests(12, [3, 2_000, 4_900], never);
      expect([...read.found.keys()].sort((a, b) => a - b)).toEqual([3, 2_000, 4_900]);
      expect(stub.seen.length).toBeLessThanOrEqual(3);
    }));

  it("leaves out what lies between clusters of ids", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 5_000));
      const ids = [...range(1, 50), ...range(2_401, 2_450), ...range(4_901, 4_950)];
      expect((await client.readRequests(12, ids, never)).found.size).toBe(150);
      expect(stub.seen).toHaveLength(3);
    }));

  it("takes a request a page also of a list that shows the newest first", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 1_000).toReversed());
      expect((await client.readRequests(12, range(1, 1_000), never)).found.size).toBe(1_000);
      expect(stub.seen.length).toBeLessThanOrEqual(11);
    }));

  it("walks the range page by page where the list is in no order", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 400).map((id) => (id * 7) % 401 || id));
      expect((await client.readRequests(12, range(1, 400), never)).found.size).toBe(400);
      expect(stub.seen.length).toBeLessThanOrEqual(6);
    }));

  it("walks the whole list once where id filters are ignored, and remembers that they are", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 400));
      stub.options = { honours: (name) => !name.startsWith("id_") };
      expect((await client.readRequests(12, range(101, 400), never)).found.size).toBe(300);
      expect(stub.seen.length).toBeLessThanOrEqual(8);
      stub.seen.length = 0;
      await client.readRequests(12, range(101, 400), never);
      expect(stub.seen.length).toBeLessThanOrEqual(5);
    }));

  it("finds out again after an hour", () => {
    const clock = new FakeClock();
    return withStub(
      async (stub, client) => {
        stub.rows["procedure-requests"] = requests(range(1, 400));
        stub.options = { honours: (name) => !name.startsWith("id_") };
        await client.readRequests(12, range(1, 50), never);
        stub.options = {};
        await clock.advance(3_600_000);
        await client.readRequests(12, range(1, 50), never);
        expect(client.lastChange?.text).toBe(
          "the filter id of /api/procedure-requests is honoured; before: ignored",
        );
      },
      { maxRequestsPerSecond: 1e6 },
      { clock },
    );
  });

  it("reads without the filter where the service refuses to know it", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 50));
      stub.intercept = (request, response) => {
        if (!request.url?.includes("id_from")) return false;
        send(response, 400, { message: "unknown filter" });
        return true;
      };
      expect((await client.readRequests(12, range(1, 50), never)).found.size).toBe(50);
      expect(stub.seen.length).toBeLessThanOrEqual(3);
    }));

  it("walks no more of a long list for a few ids than a quarter of their single reads", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 3_000));
      stub.options = { cap: 10, honours: (name) => !name.startsWith("id_") };
      const ids = range(2_981, 3_000);
      expect((await client.readRequests(12, ids, never)).found.size).toBe(20);
      stub.seen.length = 0;
      expect((await client.readRequests(12, ids, never)).found.size).toBe(20);
      expect(stub.seen).toHaveLength(25);
    }));

  it("reads singly what a shifting list hid, and tells what the service doesn't know", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 100));
      // Each page makes the first row vanish, so that one of the next page is never listed.
      const hidden: Row[] = [];
      stub.options = {
        cap: 10,
        afterPage: () => hidden.push(...stub.rows["procedure-requests"]!.splice(0, 1)),
      };
      stub.intercept = (request, response) => {
        const id = Number(/\/(\d+)$/.exec(request.url ?? "")?.[1]);
        const row = hidden.find((each) => each.id === id);
        if (row) send(response, 200, row);
        return row !== undefined;
      };
      const read = await client.readRequests(12, range(1, 102), never);
      expect(read.found.size).toBe(100);
      expect([...read.missing].sort()).toEqual([101, 102]);
      expect(read.failure).toBeUndefined();
    }));

  it("reads by id what a list entry leaves out", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = range(1, 10).map((id) => ({
        id,
        facilityId: 12,
        status: id > 8 ? "ACCEPTED" : "PENDING",
        procedureId: id > 8 ? id + 100 : null,
      }));
      stub.options = { entry: ({ id, status }) => ({ id, status }) };
      const read = await client.readRequests(12, range(1, 10), never);
      expect(read.found.get(9)).toMatchObject({ status: "ACCEPTED", procedureId: 109 });
      expect(stub.seen).toHaveLength(3);
    }));

  it("keeps what it has read when the service fails on the way, and names the rest", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 300));
      stub.intercept = (_request, response) => {
        if (stub.seen.length <= 2) return false;
        send(response, 500, {});
        return true;
      };
      const read = await client.readRequests(12, range(1, 300), never);
      expect(read.found.size).toBe(200);
      expect(read.unread).toHaveLength(100);
      expect(read.missing).toEqual([]);
      expect(read.failure?.code).toBe("SERVICE_UNAVAILABLE");
    }));

  it.each<[string, number, unknown]>([
    ["answers 500", 500, { message: "out of order" }],
    ["isn't there", 404, { code: "NOT_FOUND", message: "no such resource" }],
    ["is an HTML page", 200, "<html></html>"],
    ["has another shape", 200, { message: "hello" }],
  ])("reads one by one when the list %s, and says why", (_words, status, body) =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 40));
      stub.intercept = (request, response) => {
        const isList = request.url?.startsWith("/api/procedure-requests?") === true;
        if (isList) send(response, status, body);
        return isList;
      };
      const { found, unread, listFailure } = await client.readRequests(12, range(1, 40), never);
      expect([found.size, unread, listFailure === undefined]).toEqual([40, [], false]);
    }),
  );

  it.each([
    ["404, as a gateway does that lost its way", 404, { message: "no such route" }],
    ["403, as without rights", 403, { code: "FORBIDDEN", message: "no" }],
  ])("takes none for gone or refused when the answer to everything is %s", (_words, status, body) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, status, body);
        return true;
      };
      for (const ids of [[1, 9_000], range(1, 40)]) {
        const { missing, refused, unread, failure } = await client.readRequests(12, ids, never);
        expect([missing, refused.size, unread.length]).toEqual([[], 0, ids.length]);
        expect(failure).toBeDefined();
      }
      expect(stub.seen.length).toBeLessThan(20);
    }),
  );

  it("takes none for gone while what else is asked fails", () =>
    withStub(async (stub, client) => {
      stub.intercept = (request, response) => {
        if (request.url?.endsWith("/1")) send(response, 404, { message: "no such route" });
        else send(response, 502, "<html></html>");
        return true;
      };
      const { missing, unread, failure } = await client.readRequests(12, [1, 9_000], never);
      expect([missing, [...unread].sort(), failure?.code]).toEqual([[], [1, 9_000], "SERVICE_UNAVAILABLE"]);
    }));

  it("reads on behind many that are gone, also when the list can't be read", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(21, 40));
      stub.intercept = (request, response) => {
        const isList = request.url?.startsWith("/api/procedure-requests?") === true;
        if (isList) send(response, 404, { code: "NOT_FOUND", message: "no such resource" });
        return isList;
      };
      const { found, missing, unread } = await client.readRequests(12, range(1, 40), never);
      expect([found.size, missing.length, unread]).toEqual([20, 20, []]);
    }));

  it("reads the others when one that is out of order breaks its list as well", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests(range(1, 40));
      stub.intercept = (request, response) => {
        const isBroken = /procedure-requests(\?|\/1$)/.test(request.url ?? "");
        if (isBroken) send(response, 500, { message: "out of order" });
        return isBroken;
      };
      const { found, unread } = await client.readRequests(12, range(1, 40), never);
      expect([found.size, unread]).toEqual([39, [1]]);
    }));

  it("asks for no more than three of them while all fails", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 500, { message: "out of order" });
        return true;
      };
      const { unread, failure } = await client.readRequests(12, range(1, 40), never);
      expect([unread.length, failure?.code]).toEqual([40, "SERVICE_UNAVAILABLE"]);
      const asked = stub.seen.map(({ url }) => url.replace(/\?.*/, ""));
      expect(new Set(asked).size).toBe(4);
    }));

  it("tells which single one was refused and reads the others", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = requests([9_000]);
      stub.intercept = (request, response) => {
        if (!request.url?.endsWith("/1")) return false;
        send(response, 403, { code: "FORBIDDEN" });
        return true;
      };
      const read = await client.readRequests(12, [1, 9_000], never);
      expect([...read.found.keys()]).toEqual([9_000]);
      expect(read.refused.get(1)?.message).toContain("FORBIDDEN");
    }));
});

describe("reading the state of many procedures", () => {
  it("takes statuses and types in any spelling and keeps unknown ones", () =>
    withStub(async (stub, client) => {
      stub.rows.procedures = [
        { id: "1", type: "storage", status: "In Progress", facilityId: 12 },
        { id: 2, type: "register storage", status: "ON_HOLD" },
        { id: 3, type: "store", status: "failed", error: "cane 'C-3' is stuck since 2026-11-20" },
        {
          id: 4,
          type: "STORE",
          status: "COMPLETED",
          sampleContainerIds: [7, "8"],
          requestId: 5,
          storageId: 6,
        },
      ];
      const { found } = await client.readProcedures(
        { surface: "request", facilityId: 12, ids: [1, 2, 3, 4] },
        never,
      );
      expect(found.get(1)).toMatchObject({ type: "STORE", status: "IN_PROGRESS" });
      expect(found.get(2)).toMatchObject({ type: "REGISTER_STORAGE", status: "ON_HOLD" });
      expect(found.get(3)?.status).toBe("FAILED");
      expect(found.get(3)?.error?.reveal()).toBe("cane 'C-3' is stuck since 2026-11-20");
      expect(found.get(4)).toMatchObject({ containerIds: [7, 8], requestId: 5, storageId: 6 });
    }));
});
