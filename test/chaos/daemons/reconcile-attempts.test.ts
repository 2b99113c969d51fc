import { expect, test } from "vitest";
import { listEvents } from "../../../src/ledger/operator/views.ts";
import type { FaultRule } from "../../../src/simulator/faults.ts";
import { eventually } from "../../support/eventually.ts";
import { omlO33 } from "../../support/lab-messages.ts";
import { withSite } from "../../support/with-daemon.ts";

const POST = { method: "POST", path: "/api/procedure-requests" } as const;
/** The first call is lost, nothing was done; the second one meets a service that is too busy. */
const FAULTS: FaultRule[] = [
  { ...POST, times: 1, before: "drop" },
  { ...POST, skip: 1, times: 1, status: 429, retryAfter: 1 },
];
/** The first two lists are those of the start, which looks at the newest requests of both facilities. */
const CHECKS: FaultRule = { method: "GET", path: "/api/procedure-requests", skip: 2, times: 3, status: 502 };

test.concurrent.each([
  ["checks that found nothing", FAULTS],
  ["checks that failed", [CHECKS, ...FAULTS]],
])("a refusal after %s is the second attempt, and waits no longer than that", (_words, faults) => {
  const reconcile = { checks: ["50ms", "150ms", "300ms", "450ms"], giveUpAfter: "3s" };
  return withSite(
    { config: { service: { timeout: "2s", reconcile } }, simulator: { faults } },
    async (site) => {
      await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
      const again = await eventually(async () => {
        const [order] = await site.orders();
        return (
          order && (await listEvents(site.pool, order.id)).find(({ kind }) => kind === "refused_for_now")
        );
      });
      expect(again.detail).toMatchObject({ code: "SERVICE_BUSY", attempt: 2 });
      expect(again.detail.nextInMs).toBeLessThanOrEqual(1_000 + 4_000);
      await site.waitForOrders(1, ["completed"]);
    },
  );
});
