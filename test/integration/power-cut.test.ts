import { describe, expect, test } from "vitest";
import { NO_FAULT, runStormWithCuts } from "../chaos/cut-while-messages-come.ts";
import { runWithPowerCuts } from "../chaos/run-with-power-cuts.ts";
import { ALL_WELL } from "../support/account.ts";
import { machineHas } from "../support/needs.ts";

const SEED = 20_261_122;

// With more orders and more cuts, and of results by MLLP: `npm run test:chaos`.
describe.runIf(machineHas("disks in files")).concurrent("when the power is cut", () => {
  test("each message that was acknowledged over MLLP is there once, with its order, and answered as before", async () => {
    const { faults, acknowledged } = await runStormWithCuts({ seed: SEED, cuts: 2 });
    expect(faults).toEqual([NO_FAULT, NO_FAULT]);
    expect(acknowledged.at(-1)).toBeGreaterThan(50);
  });

  test("each dropped file is taken once, and each result is whole and sent once", async () => {
    const report = await runWithPowerCuts({ seed: SEED, orders: 10, cuts: 2, endWithinMs: 60_000 });
    expect(report.faults).toEqual([]);
    expect(report.account).toEqual(ALL_WELL);
    expect(report.requests + report.uncertain).toBeGreaterThanOrEqual(10);
  });
});
