import { describe, expect, it } from "vitest";
import type { CancelTarget } from "../../src/service/cancel.ts";
import { type StubService, send } from "./stub-service.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const PATH = "/api/procedure-requests/{id}/cancel";
const CALL = { cancel: { request: { method: "POST", path: PATH } } } as const;
const target: CancelTarget = {
  surface: "request",
  id: 41,
  facilityId: 12,
  type: "STORE",
};

describe("the configured cancel call", () => {
  it("is made once, with the id in its path and its own body", async () => {
    const call = {
      method: "PATCH",
      path: "/api/procedure-requests/{id}",
      body: { status: "CANCELLED" },
    } as const;
    await withStub(
      async (stub, client) => {
        stub.intercept = (_request, response) => {
          send(response, 200, { id: 41, status: "CANCELLED" });
          return true;
        };
        expect(await client.cancelAtService(target, never)).toEqual({
          isCancelled: true,
          status: "CANCELLED",
        });
        expect(stub.seen).toMatchObject([
          { method: "PATCH", url: "/api/procedure-requests/41", body: '{"status":"CANCELLED"}' },
        ]);
        expect(stub.seen[0]?.headers["content-type"]).toBe("application/json");
      },
      { cancel: { request: call } },
    );
  });

  it.each([
    ["another id", { id: 42, status: "CANCELLED" }],
    ["no id", { status: "CANCELLED" }],
    ["no more than a word", { ok: true }],
  ])("proves nothing by an answer with %s", (_words, body) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 200, body);
        return true;
      };
      expect(await client.cancelAtService(target, never)).toBeUndefined();
    }, CALL),
  );

  it("says how it stands when the answer does", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 202, { id: "41", status: "pending" });
        return true;
      };
      expect(await client.cancelAtService(target, never)).toEqual({ isCancelled: false, status: "PENDING" });
    }, CALL));

  it.each([200, 202, 204])("is taken by an answer without a word: %i", (status) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        response.writeHead(status).end();
        return true;
      };
      expect(await client.cancelAtService(target, never)).toBeUndefined();
    }, CALL),
  );

  it.each([
    ["a page", "text/html", "<html>welcome</html>"],
    ["a line of text", "text/plain", "moved"],
    ["an error code", "application/json", '{"error":{"code":"NOT_NOW"}}'],
  ])("is not taken for certain by status 200 with %s", (_words, type, body) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        response.writeHead(200, { "content-type": type }).end(body);
        return true;
      };
      expect((await failureOf(client.cancelAtService(target, never))).code).toBe("SERVICE_NO_ANSWER");
    }, CALL),
  );

  it.each([
    [409, "SERVICE_REFUSED"],
    [404, "SERVICE_REFUSED"],
    [429, "SERVICE_BUSY"],
    [502, "SERVICE_NO_ANSWER"],
  ] as const)("is judged by the same table as every call that changes the service: %i", (status, code) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, status, { code: "NO", message: "SUBJ-CANARY of Quersack is in progress" });
        return true;
      };
      const failure = await failureOf(client.cancelAtService(target, never));
      expect(failure.code).toBe(code);
      expect(failure.message).not.toMatch(/CANARY|Quersack/);
      expect(stub.count("POST")).toBe(1);
    }, CALL),
  );

  it("is not made on a surface that has none", () =>
    withStub(async (stub, client) => {
      const failure = await failureOf(client.cancelAtService({ ...target, surface: "external" }, never));
      expect(failure.code).toBe("CANCEL_NOT_OFFERED");
      expect(stub.seen).toEqual([]);
    }, CALL));
});

describe("a look whether it is cancelled", () => {
  const request = (status: string, procedureId: number | null = null) => ({ id: 41, status, procedureId });

  it.each([
    ["CANCELLED", null, true, "CANCELLED"],
    ["pending", null, false, "PENDING"],
  ])("goes by the request: %s", (status, procedureId, isCancelled, shown) =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = [request(status, procedureId)];
      expect(await client.lookForCancel(target, never)).toEqual({ isCancelled, status: shown });
    }),
  );

  it("goes by the procedure once the request is accepted", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = [request("ACCEPTED", 77)];
      stub.rows.procedures = [{ id: 77, status: "CANCELLED" }];
      expect(await client.lookForCancel(target, never)).toEqual({ isCancelled: true, status: "CANCELLED" });
    }));

  it("goes by the procedure alone on the external surface", () =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 200, { id: 41, status: "CANCELLED", type: "STORE" });
        return true;
      };
      const external = { ...target, surface: "external" } as const;
      expect(await client.lookForCancel(external, never)).toMatchObject({ isCancelled: true });
      expect(stub.seen.map(({ url }) => url)).toEqual(["/api/v1/external/procedures/41"]);
    }));

  /** Answers the look at the request so, and lists as usual. */
  const answering = (stub: StubService, status: number, body: string, isLost = false) => {
    stub.intercept = (request, response) => {
      if (!isLost && request.url?.startsWith("/api/procedure-requests?")) return false;
      response.writeHead(status, { "content-type": "text/plain" }).end(body);
      return true;
    };
  };
  const NOT_FOUND = '{"code":"NOT_FOUND","message":"no such record"}';

  it.each([404, 410])("says that it is gone where the service itself answers %i and lists others", (status) =>
    withStub(async (stub, client) => {
      answering(stub, status, NOT_FOUND);
      expect(await client.lookForCancel(target, never)).toBe("gone");
      expect(stub.seen.at(-1)?.url).toContain("facilityId=12");
    }),
  );

  it.each([
    ["a page", "<html>404</html>", "SERVICE_UNAVAILABLE"],
    ["a line of text", "404 page not found", "SERVICE_NOT_FOUND"],
    ["nothing", "", "SERVICE_NOT_FOUND"],
  ])("says nothing by 404 with %s, which may be a gateway's", (_words, body, code) =>
    withStub(async (stub, client) => {
      answering(stub, 404, body);
      expect((await failureOf(client.lookForCancel(target, never))).code).toBe(code);
    }),
  );

  it("takes what a site's rule says means that there is none", () =>
    withStub(
      async (stub, client) => {
        answering(stub, 404, "");
        expect(await client.lookForCancel(target, never)).toBe("gone");
      },
      { errors: [{ status: [404], means: "notFound" }] },
    ));

  it("says nothing by 404 in JSON where the list isn't found either: the way to the service is lost", () =>
    withStub(async (stub, client) => {
      answering(stub, 404, NOT_FOUND, true);
      expect((await failureOf(client.lookForCancel(target, never))).code).toBe("SERVICE_NOT_FOUND");
    }));

  it("says nothing of a request that is there when its procedure isn't found", () =>
    withStub(async (stub, client) => {
      stub.rows["procedure-requests"] = [request("ACCEPTED", 77)];
      expect((await failureOf(client.lookForCancel(target, never))).code).toBe("SERVICE_NOT_FOUND");
    }));

  it.each([
    [
      { id: 77, status: "IN_PROGRESS" },
      { isCancelled: false, status: "IN_PROGRESS" },
    ],
    [
      { id: 77, status: "CANCELLED" },
      { isCancelled: true, status: "CANCELLED" },
    ],
    [undefined, "gone"],
  ] as const)("goes by the procedure that became of a request which is gone: %j", (procedure, found) =>
    withStub(async (stub, client) => {
      stub.intercept = (request, response) => {
        if (request.url?.includes("?") === true) return false;
        if (procedure && request.url === "/api/procedures/77") send(response, 200, procedure);
        else send(response, 404, { code: "NOT_FOUND" });
        return true;
      };
      expect(await client.lookForCancel({ ...target, procedureId: 77 }, never)).toEqual(found);
    }),
  );

  it("says nothing where the procedure that became of a request which is gone can't be read", () =>
    withStub(async (stub, client) => {
      stub.intercept = (request, response) => {
        if (request.url?.includes("?") === true) return false;
        send(response, request.url === "/api/procedures/77" ? 503 : 404, { code: "NO" });
        return true;
      };
      const looked = client.lookForCancel({ ...target, procedureId: 77 }, never);
      expect((await failureOf(looked)).code).toBe("SERVICE_UNAVAILABLE");
    }));

  it("asks the external surface's list by facility and type", () =>
    withStub(async (stub, client) => {
      stub.intercept = (request, response) => {
        const isList = request.url?.includes("?") === true;
        send(response, isList ? 200 : 404, isList ? [] : { code: "NOT_FOUND" });
        return true;
      };
      expect(await client.lookForCancel({ ...target, surface: "external" }, never)).toBe("gone");
      expect(stub.seen.at(-1)?.url).toMatch(/procedures\?.*facilityId=12.*type=STORE/);
    }));
});
