import { expect, test } from "vitest";
import { openAlerts } from "../../src/app/alerts.ts";
import { systemClock } from "../../src/core/clock.ts";
import { eventually } from "../support/eventually.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

const EVERY_MS = 100;

test("a ledger that hangs is asked each thing once, however many rounds of alerts want to know it", () =>
  withSite({ config: { alerts: { checkEvery: `${EVERY_MS}ms`, to: [{ type: "log" }] } } }, async (site) => {
    const daemon = await site.start();
    await eventually(() => daemon.isLeader());
    let rounds = 0;
    // An answer is waited for as long as the next round is.
    const sleep = (ms: number, signal?: AbortSignal) => {
      if (ms === EVERY_MS) rounds += 1;
      return systemClock.sleep(EVERY_MS, signal);
    };
    const locking = await site.pool.connect();
    const waiting = async () => {
      const { rows } = await site.pool.query<{ count: number }>(
        `select count(*)::integer as count from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows[0]?.count ?? 0;
    };
    await locking.query("begin; lock table tasks in access exclusive mode");
    const parts = { version: "0", logger: silent, clock: { ...systemClock, sleep }, path: undefined };
    const close = openAlerts(daemon, parts);
    try {
      await eventually(() => rounds >= 2);
      const first = await waiting();
      expect(first).toBeGreaterThan(0);
      await eventually(() => rounds >= 8);
      expect(await waiting()).toBe(first);
    } finally {
      await locking.query("rollback");
      locking.release();
      await close();
    }
  }));
