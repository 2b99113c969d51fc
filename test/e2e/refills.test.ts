import { expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

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

const COUNTS = "select facility_id, status, count from refill_counts order by facility_id";

test("two facilities on two surfaces: what ended is listed, what ended since the start is counted, and no lab is sent anything", () => {
  let aheadMs = -3_600_000;
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const config = {
    facilities: { NORTH: 12, SOUTH: { id: 13, surface: "external" } },
    refills: { facilities: ["NORTH", "SOUTH"], every: "100ms" },
  };
  return withSite({ simulator: { ...IDLE, clock }, config }, async (site) => {
    const { configFile } = site;
    const anHourAgo = refill(site.simulator, tankOf(site.simulator, 12));
    aheadMs = 0;
    await site.start();
    await eventually(async () => (await listed(configFile)).length === 1);
    const north = refill(site.simulator, tankOf(site.simulator, 12));
    const south = refill(site.simulator, tankOf(site.simulator, 13), "fail");
    expect(
      await eventually(async () => (await listed(configFile)).length === 3 && listed(configFile)),
    ).toEqual([`NORTH ${anHourAgo} COMPLETED`, `NORTH ${north} COMPLETED`, `SOUTH ${south} FAILED`]);
    expect((await site.pool.query(COUNTS)).rows).toEqual([
      { facility_id: 12, status: "COMPLETED", count: 1 },
      { facility_id: 13, status: "FAILED", count: 1 },
    ]);
    expect((await site.pool.query("select 1 from deliveries")).rowCount).toBe(0);
  });
});

test("an outage of the service delays refills and loses none", () =>
  withSite(
    { simulator: IDLE, config: { refills: { facilities: ["NORTH"], every: "100ms" } } },
    async (site) => {
      const { configFile } = site;
      await site.start();
      site.simulator.control.setFaults([{ before: "drop" }]);
      const ids = [1, 2, 3].map(() => refill(site.simulator, tankOf(site.simulator, 12)));
      const { received } = site.simulator.tally();
      // More failures would only make the pause before the next try longer.
      await eventually(() => site.simulator.tally().received > received);
      site.simulator.control.setFaults([]);
      const refills = await eventually(
        async () => (await listed(configFile)).length === 3 && listed(configFile),
      );
      expect(refills).toEqual(ids.map((id) => `NORTH ${id} COMPLETED`));
    },
  ));

test("a tank that was not refilled for too long alerts in the metrics and on the status page, and the daemon stays ready", () =>
  withSite(
    {
      simulator: IDLE,
      config: { refills: { facilities: ["NORTH"], every: "100ms", alertAfter: "14d" } },
    },
    async (site) => {
      const daemon = await site.start();
      const opened = await openConsole(daemon, { version: "0", logger: silent, clock: systemClock });
      try {
        const overdue = async () =>
          /^cryobridge_tanks_overdue (\d+)$/m.exec(await (await fetch(`${opened.url}/metrics`)).text())?.[1];
        refill(site.simulator, tankOf(site.simulator, 12));
        await eventually(
          async () => (await site.pool.query("select 1 from refills where reached = 3")).rowCount === 1,
        );
        expect(await overdue()).toBe("0");
        await site.pool.query("update refills set completed_time = now() - interval '15 days'");
        expect(await overdue()).toBe("1");
        const status = (await (await fetch(`${opened.url}/api/status`)).json()) as {
          overdueTanks: unknown[];
        };
        expect(status.overdueTanks).toHaveLength(1);
        expect((await fetch(`${opened.url}/readyz`)).status).toBe(200);
        const { stdout } = await runCli(["--config", site.configFile, "refills", "tanks"]);
        expect(stdout).toMatch(/14d +overdue$/m);
      } finally {
        await opened.close();
      }
    },
  ));
