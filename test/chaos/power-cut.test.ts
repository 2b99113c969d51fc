import { describe, expect, test } from "vitest";
import { cutAtSteps } from "../connectors/drop-folder/cut-at-steps.ts";
import { ALL_WELL } from "../support/account.ts";
import { machineHas } from "../support/needs.ts";
import { runFirstStartWithCuts } from "./cut-at-first-start.ts";
import { NO_FAULT, runStormWithCuts } from "./cut-while-messages-come.ts";
import { runResultsWithCuts } from "./cut-while-results-go.ts";
import { runWithPowerCuts } from "./run-with-power-cuts.ts";
import { readSettings } from "./settings.ts";

const { seed: firstSeed, runs, orders, cuts } = readSettings(process.env);
const seeds = Array.from({ length: runs }, (_, run) => firstSeed + run);
const END_WITHIN_MS = 300_000;

describe.runIf(machineHas("disks in files"))("when the power is cut again and again", () => {
  test.each(seeds)(
    "each acknowledged message is there once and answered as before (seed %i)",
    async (seed) => {
      const { faults, acknowledged } = await runStormWithCuts({ seed, cuts, cutsAtOnce: 5 });
      console.log(`messages: seed ${seed}, ${cuts} cuts, acknowledged before each: ${acknowledged}`);
      expect(faults).toEqual(faults.map(() => NO_FAULT));
    },
  );

  test.each(seeds)(
    "each dropped file is taken once, and each result is whole and sent once (seed %i)",
    async (seed) => {
      const report = await runWithPowerCuts({ seed, orders, cuts, endWithinMs: END_WITHIN_MS });
      const { faults, account, requests, uncertain } = report;
      console.log(
        `files: seed ${seed}, ${cuts} cuts, ${requests} requests, ${uncertain} uncertain retrievals`,
      );
      expect({ faults, account }).toEqual({ faults: [], account: ALL_WELL });
      expect(requests).toBeGreaterThanOrEqual(orders - uncertain);
      expect(requests).toBeLessThanOrEqual(orders);
    },
  );

  test.each(seeds)(
    "a lab gets all results by MLLP, and what is sent again is the same to the byte (seed %i)",
    async (seed) => {
      const report = await runResultsWithCuts({ seed, orders, cuts, endWithinMs: END_WITHIN_MS });
      const { faults, account, sent, sentAgain } = report;
      console.log(`results: seed ${seed}, ${cuts} cuts, ${sent} sent, ${sentAgain} of them again`);
      expect({ faults, account }).toEqual({ faults: [], account: ALL_WELL });
    },
  );

  test.each(seeds)("during the first start, the next start has all that it needs (seed %i)", async (seed) => {
    const failed = await runFirstStartWithCuts({ seed, cuts });
    expect(failed).toEqual([]);
  });

  test.each(["lags", "is committed"] as const)(
    "at any step of a drop folder, the end is the same (the journal %s)",
    async (journal) => {
      const { expected, ends } = await cutAtSteps(journal);
      console.log(`steps: the journal ${journal}, ${ends.length} cuts`);
      for (const end of ends) expect(end).toEqual({ point: end.point, faults: [], end: expected });
    },
  );
});
