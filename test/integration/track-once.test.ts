import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

const READ = "GET /api/procedure-requests/:id";

test("a facility's orders are read once, also while a reading that a former leader handed over is under way", () =>
  withSite(
    {
      simulator: { staff: { auto: false } },
      config: { service: { polling: { first: "1h", max: "1h" } } },
    },
    async ({ start, drop, waitForOrders, simulator, pool }) => {
      const { queues } = await start();
      await drop("hl7", "a.hl7", omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"] }));
      await waitForOrders(1, ["submitted"]);
      const reads = () => simulator.tally().routes[READ]?.received ?? 0;
      const before = reads();
      simulator.control.setFaults([{ path: "/api/procedure-requests/*", answerAfterMs: [1_000, 1_000] }]);
      await pool.query("update orders set next_at = now()");
      await queues?.add("track", [
        { jobId: "track-f12-w98", data: { facilityId: 12 } },
        { jobId: "track-f12-w99", data: { facilityId: 12 } },
      ]);
      await eventually(async () => {
        const { rows } = await pool.query("select from orders where next_at > now()");
        const counts = await queues?.counts();
        return rows.length === 1 && Object.values(counts?.track ?? {}).every((count) => count === 0);
      });
      expect(reads() - before).toBe(1);
    },
  ));
