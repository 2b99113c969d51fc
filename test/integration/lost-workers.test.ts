import { expect, test } from "vitest";
import { runWithWorkers } from "../chaos/run-with-workers.ts";
import { ALL_WELL } from "../support/account.ts";

/** Its blows: a daemon is cut off from the service, one is killed, cut off from the ledger, and frozen for longer than its lease. */
const SEED = 20_261_137;

test("three daemons that are killed, frozen and cut off submit each of twenty orders once and tell the lab", async () => {
  const plan = {
    seed: SEED,
    orders: 20,
    blows: 4,
    workers: 3,
    queue: "postgres",
    endWithinMs: 120_000,
  } as const;
  const report = await runWithWorkers(plan);
  expect({ ...report.account, blows: report.blows }).toEqual({ ...ALL_WELL, blows: report.blows });
  expect(report.requests).toBeLessThanOrEqual(plan.orders);
});
