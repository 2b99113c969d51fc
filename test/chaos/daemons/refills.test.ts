import { join } from "node:path";
import { expect, test } from "vitest";
import type { Simulator } from "../../../src/simulator/simulator.ts";
import { runCli } from "../../cli/run-cli.ts";
import { eventually } from "../../support/eventually.ts";
import { withChildSite } from "../../support/with-child-site.ts";

const tankOf = ({ control }: Simulator, facilityId: number) =>
  control.storages().find((storage) => storage.facilityId === facilityId)?.id ?? 0;
const IDLE = { device: { auto: false } };

/** A refill from its beginning to its end. */
function refill({ control }: Simulator, tankId: number, end: "complete" | "fail" = "complete"): number {
  const { id } = control.createRefill(tankId);
  control.startProcedure(id);
  if (end === "complete") control.completeProcedure(id);
  else control.failProcedure(id, "valve is stuck");
  return id;
}

/** What `cryobridge refills` lists: facility, procedure, status. */
async function listed(configFile: string): Promise<string[]> {
  const { stdout } = await runCli(["--config", configFile, "refills", "--json"]);
  const { refills } = JSON.parse(stdout) as { refills: Record<string, string>[] };
  return refills
    .map(({ facilityCode, procedureId, status }) => `${facilityCode} ${procedureId} ${status}`)
    .sort();
}

test("a daemon that is killed again and again lists each refill once", () =>
  withChildSite(
    { simulator: IDLE, config: { refills: { facilities: ["NORTH"], every: "100ms" } } },
    async (site) => {
      const configFile = join(site.folder, "cryobridge.yaml");
      const ids: number[] = [];
      for (const calls of [1, 3]) {
        const daemon = site.start();
        await daemon.running;
        for (let count = 0; count < 5; count += 1)
          ids.push(refill(site.simulator, tankOf(site.simulator, 12)));
        // The kill meets the reading or the recording, whichever follows so many calls.
        const { received } = site.simulator.tally();
        await eventually(() => site.simulator.tally().received >= received + calls);
        await daemon.end("SIGKILL");
      }
      await site.start().running;
      const refills = await eventually(
        async () => (await listed(configFile)).length === ids.length && listed(configFile),
      );
      expect(refills).toEqual(ids.map((id) => `NORTH ${id} COMPLETED`).sort());
    },
  ));
