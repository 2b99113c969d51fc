import { expect, test } from "vitest";
import { findRestored } from "../../src/ledger/restored/restore.ts";
import { listWorkers } from "../../src/ledger/workers/roster.ts";
import { withCluster } from "../cluster/cluster.ts";
import { ALL_WELL } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";

const END_WITHIN_MS = 120_000;
/** The service takes its time, so that calls are under way when something happens. */
const SIMULATOR = {
  staff: { reviewAfterMs: [50, 150] },
  device: { startAfterMs: [20, 50], runMs: [50, 150] },
  faults: [{ name: "slow", method: "POST", path: "/api/**", answerAfterMs: [50, 300] }],
} as const;

test("several daemons share the work, and what a killed and a paused one had in hand is done by others", () =>
  withCluster({ workers: 3, simulator: SIMULATOR }, async (cluster) => {
    const { daemons, pool, simulator, lab } = cluster;
    const [first, second] = daemons;
    expect((await listWorkers(pool, 0)).map(({ name }) => name).sort()).toEqual([
      ...["worker-1", "worker-2", "worker-3"],
    ]);
    const load = planLoad(1, 20);
    seedRetrievals(simulator, load);
    for (const { connector, name, content } of load.files) await lab.drop(connector, name, content);
    await eventually(() => simulator.tally().journal.length >= 5, { what: "the first requests" });
    await first?.kill();
    second?.pause();
    expect(await cluster.waitForEnd(load.orders, END_WITHIN_MS)).toEqual(ALL_WELL);
    second?.resume();
    await first?.restart();
    await eventually(async () => (await listWorkers(pool, 0)).filter(({ isAlive }) => isAlive).length === 3, {
      what: "three workers",
    });
    // Each has an epoch file of its own, and the first one made the ledger's first call.
    expect(await findRestored(pool)).toBeUndefined();
    for (const daemon of daemons) expect([daemon.name, await daemon.stop()]).toEqual([daemon.name, 0]);
  }));
