import { expect, test } from "vitest";
import { ALL_WELL } from "../support/account.ts";
import { runWithWorkers } from "./run-with-workers.ts";
import { readSettings } from "./settings.ts";

const { seed: firstSeed, runs, orders, kills: blows } = readSettings(process.env);
const seeds = Array.from({ length: runs }, (_, run) => firstSeed + run);
const END_WITHIN_MS = 600_000;

const CASES = (["postgres", "redis"] as const).flatMap((queue) =>
  (["request", "external"] as const).flatMap((surface) => seeds.map((seed) => ({ queue, surface, seed }))),
);

test.each(CASES)(
  "three daemons on one ledger, whatever happens to them, submit each order once and report each (queue on $queue, $surface surface, seed $seed)",
  async (chosen) => {
    const report = await runWithWorkers({ ...chosen, orders, blows, workers: 3, endWithinMs: END_WITHIN_MS });
    console.log(JSON.stringify({ ...chosen, ...report, account: undefined }, null, 2));
    expect(report.account).toEqual(ALL_WELL);
    expect(report.requests).toBeLessThanOrEqual(orders);
  },
);
