import fc from "fast-check";
import { expect, it } from "vitest";
import { ageOf, judgeRetrieval, judgeStore, type LostRequest } from "../../src/service/reconcile/match.ts";
import { resolveSettings } from "../../src/service/settings.ts";
import { REF, retrieval, store } from "./lost-calls.ts";
import { never, settings, withStub } from "./with-client.ts";

const HOUR_MS = 3_600_000;

/** Times as services write them: of any clock, with a zone, without one, or none. */
const times = fc.oneof(
  fc
    .date({ min: new Date("1970-01-01"), max: new Date("2199-01-01"), noInvalidDate: true })
    .chain((date) =>
      fc.constantFrom(
        ...[date.toISOString(), date.toISOString().slice(0, 19), `${date.toISOString().slice(0, 19)}+14:00`],
      ),
    ),
  fc.constantFrom(undefined, "", "yesterday"),
);

/** What the module asks of its surroundings. */
function contextOf(correlation: "token" | "labels", clockSkewMs: number | undefined) {
  const resolved = resolveSettings({ ...settings("http://127.0.0.1:1"), correlation });
  return { settings: resolved, transport: { clockSkewMs } } as unknown as Parameters<typeof ageOf>[0];
}

const lostStore = store() as Extract<LostRequest, { type: "STORE" }>;
const lostRetrieval = retrieval() as Extract<LostRequest, { type: "RETRIEVAL" }>;

it("no clock excludes what shows the content of a lost call, whatever it says", () => {
  const skews = fc.option(fc.integer({ min: -400 * 24 * HOUR_MS, max: 400 * 24 * HOUR_MS }), {
    nil: undefined,
  });
  fc.assert(
    fc.property(times, skews, fc.constantFrom("token", "labels"), (createdAt, skewMs, correlation) => {
      const context = contextOf(correlation, skewMs);
      const labels = [{ label: "V-1" }, { label: "V-2" }];
      const stored = { containers: labels, createdAt };
      expect(judgeStore(context, lostStore, stored, ageOf(context, lostStore, stored))).not.toBe("none");
      const marked = {
        createdAt,
        containers: labels.map((each) => ({ ...each, description: `x [ref ${REF}]` })),
      };
      expect(judgeStore(contextOf("token", skewMs), lostStore, marked, "older")).toBe("certain");
      const retrieved = { containerIds: [7, 8], createdAt };
      expect(judgeRetrieval(lostRetrieval, retrieved, ageOf(context, lostRetrieval, retrieved))).not.toBe(
        "none",
      );
    }),
  );
});

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
        const { matches, candidates } = await client.findCreatedRequest(lost, never);
        expect([...matches, ...candidates]).toEqual([5]);
      },
      { correlation: "labels" },
    ),
);
