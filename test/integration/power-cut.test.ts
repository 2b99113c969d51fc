import { describe, expect, test } from "vitest";
import { NO_FAULT, runStormWithCuts } from "../chaos/cut-while-messages-come.ts";
import { machineHas } from "../support/needs.ts";

const SEED = 20_261_122;

// With more cuts, with a whole daemon on files, and of results by MLLP: `npm run test:chaos`.
describe.runIf(machineHas("disks in files"))("when the power is cut", () => {
  test("each message that was acknowledged over MLLP is there once, with its order, and answered as before", async () => {
    const { faults, acknowledged } = await runStormWithCuts({ seed: SEED, cuts: 1 });
    expect(faults).toEqual([NO_FAULT]);
    expect(acknowledged.at(-1)).toBeGreaterThan(10);
  });
});
