import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { ALL_WELL } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { withServerSite } from "../support/with-server-site.ts";

const ORDERS = 40;
const SIMULATOR = {
  staff: { reviewAfterMs: [50, 500] },
  device: { startAfterMs: [20, 50], runMs: [50, 500] },
} as const;
const SERVICE = {
  maxRequestsPerSecond: 50,
  timeout: "2s",
  reconcile: { checks: ["200ms", "1s"], giveUpAfter: "4s" },
};
/** A bound against hanging, not for speed. */
const RECOVERED_WITHIN_MS = 300_000;

describe("while orders are under way", () => {
  test("the database server may crash again and again: nothing is lost and nothing made twice", () =>
    withServerSite({ simulator: SIMULATOR, service: SERVICE }, async (site) => {
      const load = planLoad(3, ORDERS);
      seedRetrievals(site.simulator, load);
      await site.start();
      for (const { connector, name, content } of load.files) await site.lab.drop(connector, name, content);
      for (const made of [5, 20]) {
        await eventually(() => site.simulator.tally().journal.length >= made);
        await site.server.crash();
        // So long that work which was under way fails.
        await systemClock.sleep(1_000);
        await site.server.start();
      }
      expect(await site.waitForEnd(load.orders, RECOVERED_WITHIN_MS)).toEqual(ALL_WELL);
      expect(site.fatal).toEqual([]);
    }));

  test("the daemon may be stopped and started: what is in hand is ended or taken up again", () =>
    withServerSite({ simulator: SIMULATOR, service: SERVICE }, async (site) => {
      const load = planLoad(4, ORDERS);
      seedRetrievals(site.simulator, load);
      const perRound = load.files.length / 4;
      for (let round = 0; round < 4; round++) {
        const daemon = await site.start();
        const files = load.files.slice(round * perRound, (round + 1) * perRound);
        for (const { connector, name, content } of files) await site.lab.drop(connector, name, content);
        await eventually(() => site.simulator.tally().journal.length > round * 5);
        await daemon.stop();
      }
      await site.start();
      expect(await site.waitForEnd(load.orders, RECOVERED_WITHIN_MS)).toEqual(ALL_WELL);
    }));
});

test("a daemon whose database is away takes little of the machine", () =>
  withServerSite({}, async (site) => {
    const daemon = await site.start();
    await site.server.crash();
    await eventually(() => daemon.conditions().length > 0);
    const before = process.cpuUsage();
    await systemClock.sleep(4_000);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 4_000_000).toBeLessThan(0.15);
    await site.server.start();
    await eventually(() => daemon.conditions().length === 0, { what: "the recovery" });
  }));
