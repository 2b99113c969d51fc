import { expect, test } from "vitest";
import { ALL_WELL } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { withServerSite } from "../support/with-server-site.ts";

const ORDERS = 12;
const SIMULATOR = {
  staff: { reviewAfterMs: [50, 100] },
  device: { startAfterMs: [20, 50], runMs: [50, 100] },
} as const;
const RECOVERED_WITHIN_MS = 240_000;

// With more orders, while the server crashes, and what a daemon without a database costs: `npm run test:chaos`.
test("a daemon may be stopped and started while orders are under way: what is in hand is ended or taken up again; while its database is away it says that it is in trouble", () =>
  withServerSite({ simulator: SIMULATOR, service: { maxRequestsPerSecond: 50 } }, async (site) => {
    const load = planLoad(4, ORDERS);
    seedRetrievals(site.simulator, load);
    const first = await site.start();
    for (const { connector, name, content } of load.files) await site.lab.drop(connector, name, content);
    await eventually(() => site.simulator.tally().journal.length > 2);
    await first.stop();
    const daemon = await site.start();
    expect(await site.waitForEnd(load.orders, RECOVERED_WITHIN_MS)).toEqual(ALL_WELL);
    await site.server.crash();
    await eventually(() => daemon.conditions().length > 0);
    await site.server.start();
    await eventually(() => daemon.conditions().length === 0, { what: "the recovery" });
  }));
