import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { CancelTarget } from "../../src/service/cancel.ts";
import { send } from "./stub-service.ts";
import { failureOf, never, withStub } from "./with-client.ts";

const PATH = "/api/procedure-requests/{id}/cancel";
const CALL = { cancel: { request: { method: "POST", path: PATH } } } as const;
const target: CancelTarget = {
  surface: "request",
  id: 41,
  sensitive: [phi("SUBJ-CANARY"), phi("Quersack")],
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
      expect((await client.lookForCancel(external, never)).isCancelled).toBe(true);
      expect(stub.seen.map(({ url }) => url)).toEqual(["/api/v1/external/procedures/41"]);
    }));
});
