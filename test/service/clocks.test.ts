import { expect, it } from "vitest";
import { findLost, type LostRequest, store } from "./lost-calls.ts";
import { never, withStub } from "./with-client.ts";

const HOUR_MS = 3_600_000;
const lostStore = store() as Extract<LostRequest, { type: "STORE" }>;

it.each([20 * 60_000, -20 * 60_000, 14 * HOUR_MS, -14 * HOUR_MS])(
  "what a lost call made is found where the service's Date is %i ms off",
  (offMs) =>
    withStub(
      async (stub, client) => {
        const lost = { ...lostStore, sentAfter: new Date() };
        stub.rows["procedure-requests"] = [
          {
            ...{ id: 5, type: "STORE", status: "PENDING", facilityId: 12, subjectCode: "S-4" },
            createdAt: lost.sentAfter.toISOString(),
            sampleContainers: lost.containers.map(({ label }) => ({ sampleContainerId: label })),
          },
        ];
        stub.intercept = (request, response, body) => {
          response.setHeader("date", new Date(Date.now() + offMs).toUTCString());
          stub.answer(request, response, body);
          return true;
        };
        const { matches, candidates } = await findLost(client, "request", lost, never, "labels");
        expect([...matches, ...candidates]).toEqual([5]);
      },
      { correlation: "labels" },
    ),
);

it.each([2 * HOUR_MS, -2 * HOUR_MS])(
  "what was made since a moment is found by the very first call, whose answer shows that the service's clock is %i ms off",
  (offMs) =>
    withStub(async (stub, client) => {
      stub.options = { honours: (name) => name === "page" };
      const madeAt = Date.now() - 60_000;
      const row = { id: 5, type: "STORE", status: "PENDING", facilityId: 12, subjectCode: "S-4" };
      const before = new Date(madeAt - 6 * HOUR_MS + offMs).toISOString();
      stub.rows["procedure-requests"] = [
        { ...row, id: 4, createdAt: before },
        { ...row, createdAt: new Date(madeAt + offMs).toISOString() },
      ];
      stub.intercept = (request, response, body) => {
        response.setHeader("date", new Date(Date.now() + offMs).toUTCString());
        stub.answer(request, response, body);
        return true;
      };
      const since = new Date(madeAt - 60_000);
      const newest = await client.listNewest({ surface: "request", facilityId: 12, since }, never);
      expect(newest.map(({ id }) => id)).toEqual([5]);
      expect(Math.abs((newest[0]?.madeAt?.getTime() ?? 0) - madeAt)).toBeLessThan(5_000);
    }),
);
