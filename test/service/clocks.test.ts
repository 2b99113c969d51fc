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
