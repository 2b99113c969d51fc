import { expect, test } from "vitest";
import { runWithKills } from "../chaos/run-with-kills.ts";
import { ALL_WELL } from "../support/account.ts";

const SEED = 20_261_121;

test("a daemon that is killed three times submits each of fifteen orders once and tells the lab", async () => {
  const report = await runWithKills({ seed: SEED, orders: 15, kills: 3, endWithinMs: 90_000 });
  expect(report.account).toEqual(ALL_WELL);
  expect(report.requests + report.uncertain).toBeGreaterThanOrEqual(15);
});
