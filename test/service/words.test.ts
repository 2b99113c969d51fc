import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { never, withStub } from "./with-client.ts";

const WORDS = {
  status: { Done: "COMPLETED", "in review": "PENDING", approved: "ACCEPTED" },
  type: { freeze: "STORE" },
};

describe("a site's own words", () => {
  it("stand for the specification's statuses and types, in any spelling", () =>
    withStub(
      async (stub, client) => {
        stub.rows.procedures = [
          { id: 1, type: "FREEZE", status: "done", facilityId: 12 },
          { id: 2, type: "thaw", status: "ON_HOLD", facilityId: 12 },
        ];
        const { found } = await client.readProcedures(
          { surface: "request", facilityId: 12, ids: [1, 2] },
          never,
        );
        expect(found.get(1)).toMatchObject({ type: "STORE", status: "COMPLETED" });
        expect(found.get(2)).toMatchObject({ type: "THAW", status: "ON_HOLD" });
        expect(await client.getProcedure("request", 1, never)).toMatchObject({
          type: "STORE",
          status: "COMPLETED",
        });
      },
      { words: WORDS },
    ));

  it("are known in the answer to a creation", () =>
    withStub(
      async (stub, client) => {
        stub.options = {};
        stub.intercept = (request, response) => {
          if (request.method !== "POST") return false;
          response.writeHead(201, { "content-type": "application/json" });
          response.end('{"id":7,"type":"freeze","status":"In Review"}');
          return true;
        };
        const request = {
          type: "STORE",
          facilityId: 12,
          subjectCode: phi("S-1"),
          containers: [{ label: "V1", description: "" }],
        } as const;
        expect(await client.create("request", request, never)).toMatchObject({
          id: 7,
          status: "PENDING",
        });
      },
      { words: WORDS },
    ));

  it("are what the service is asked for where only some statuses are listed", () =>
    withStub(
      async (stub, client) => {
        const common = { facilityId: 12, type: "freeze", subjectCode: "S-1" };
        stub.rows["procedure-requests"] = [
          { id: 1, status: "in review", ...common },
          { id: 2, status: "APPROVED", ...common },
        ];
        // Lists nothing but what is in review, unless asked for a status.
        stub.intercept = (request) => {
          const status = new URL(request.url ?? "", "http://stub").searchParams.get("status");
          stub.options = {
            honours: (name) => name === "page",
            envelope: (rows) =>
              rows.filter(
                (row) => String(row.status).toUpperCase() === (status ?? "in review").toUpperCase(),
              ),
          };
          return false;
        };
        const ids = await client.searchRequestIds(
          { facilityId: 12, subjectCode: phi("S-1"), type: "STORE" },
          never,
        );
        expect(ids.sort()).toEqual([1, 2]);
      },
      { words: WORDS },
    ));
});
