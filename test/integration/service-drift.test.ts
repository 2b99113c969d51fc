import { describe, expect, it } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import { systemClock } from "../../src/core/clock.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

const HEADER =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description";

const order = (number: number) =>
  `${HEADER}\nC-${number},STORE,NORTH,PAT-${number},Ottilie,Quersack,1981-02-03,V-${number},serum\n`;

/** What the console of a daemon shows. */
async function look(daemon: Awaited<ReturnType<Site["start"]>>) {
  const running = await openConsole(daemon, { version: "1.2.3", logger: silent, clock: systemClock });
  try {
    const status = (await (await fetch(new URL("/api/status", running.url))).json()) as {
      readonly serviceChanges: { readonly finding: string; readonly text: string }[];
    };
    const metrics = await (await fetch(new URL("/metrics", running.url))).text();
    return { changes: status.serviceChanges, metrics };
  } finally {
    await running.close();
  }
}

describe("a service that changes its behaviour", () => {
  it("is noticed while the daemon runs and over a restart, and told on page, metrics, readiness and check", () =>
    withSite({}, async (site) => {
      const first = await site.start();
      await site.drop("csv", "a.csv", order(1));
      await site.settled(1);
      await first.stop();
      const { rows: before } = await site.pool.query("select kind, drifts from service_findings");
      expect(before.length).toBeGreaterThan(0);
      expect(before.every(({ drifts }) => drifts === 0)).toBe(true);

      site.simulator.control.behave({ listEnvelope: "items" });
      const second = await site.start();
      await site.drop("csv", "b.csv", order(2));
      await site.settled(2);
      const { changes, metrics } = await eventually(async () => {
        const seen = await look(second);
        return seen.changes.length > 0 && seen;
      });
      expect(changes).toContainEqual(
        expect.objectContaining({
          finding: "envelope",
          text: '/api/subjects comes as a list under "items"; before: array',
        }),
      );
      expect(metrics).toMatch(/^cryobridge_service_drift_total\{finding="envelope"\} [1-9]/m);
      expect(second.troubles().join()).toContain("the storage service changed its behaviour");
      const { stdout } = await runCli(["--config", site.configFile, "check"]);
      expect(stdout).toMatch(/! service, change: since .*comes as a list under "items"; before: array/);
      const told = JSON.stringify([changes, metrics, second.troubles(), stdout]);
      expect(told).not.toMatch(/PAT-|Ottilie|Quersack|1981/);
    }));
});
