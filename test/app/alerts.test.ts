import { join } from "node:path";
import { expect, test } from "vitest";
import { openAlerts } from "../../src/app/alerts.ts";
import { startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import { ROLES } from "../../src/core/role.ts";
import { pauseQueue, resumeQueue } from "../../src/ledger/operator/queues.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { withReceiver } from "../alerts/receivers.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaiters } from "../support/lock-waiters.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

const EVERY_MS = 100;

test("a ledger that hangs is asked each thing once, however many rounds of alerts want to know it", () =>
  withSite({ config: { alerts: { checkEvery: `${EVERY_MS}ms`, to: [{ type: "log" }] } } }, async (site) => {
    const daemon = await site.start();
    let rounds = 0;
    // An answer is waited for as long as the next round is.
    const sleep = (ms: number, signal?: AbortSignal) => {
      if (ms === EVERY_MS) rounds += 1;
      return systemClock.sleep(EVERY_MS, signal);
    };
    const locking = await site.pool.connect();
    await locking.query(
      "begin; set local idle_in_transaction_session_timeout = 0; lock table tasks in access exclusive mode",
    );
    const parts = { version: "0", logger: silent, clock: { ...systemClock, sleep }, path: undefined };
    const close = openAlerts(daemon, parts);
    try {
      await eventually(() => rounds >= 2);
      const first = await countLockWaiters(site.pool);
      expect(first).toBeGreaterThan(0);
      await eventually(() => rounds >= 8);
      expect(await countLockWaiters(site.pool)).toBe(first);
    } finally {
      await locking.query("rollback");
      locking.release();
      await close();
    }
  }));

/** Another daemon of a site's ledger, as on another machine. */
function startElsewhere({ configFile, folder }: Site) {
  const config = loadConfig(configFile, { env: {}, profileSchema });
  const dataDir = join(folder, "elsewhere");
  return startDaemon(
    { ...config, dataDir, epochFile: `${dataDir}.epoch`, connectors: [] },
    {
      ...{ roles: new Set(ROLES), logger: silent },
      onFatal: (failure) => {
        throw failure;
      },
    },
  );
}

test("of several daemons one sends what there is to report, and another one goes on when it ends", () =>
  withReceiver("invented-key-of-the-hook", (hook) => {
    const to = [{ type: "webhook", url: hook.url, secret: "invented-key-of-the-hook" }];
    const rules = { queuePaused: { after: "0s" } };
    const alerts = { checkEvery: "100ms", overAfter: "100ms", rules, to };
    return withSite({ config: { alerts } }, async (site) => {
      const parts = { version: "0", logger: silent, clock: systemClock, path: undefined };
      const { pool } = site;
      const by = { actor: "kim" };
      const sent = async () => {
        const { rows } = await pool.query<{ event: string; attempts: number }>(
          `select m.event, m.attempts
             from alert_messages m
             join alerts a on a.id = m.alert_id and a.kind = 'queuePaused'
            where m.sent_at is not null
            order by m.id`,
        );
        return rows;
      };
      const first = await site.start();
      const closeFirst = openAlerts(first, parts);
      const other = await startElsewhere(site);
      const closeOther = openAlerts(other, parts);
      try {
        await pauseQueue(pool, "submit", by);
        await eventually(async () => (await sent()).length === 1);
        await closeFirst();
        await first.stop();
        await resumeQueue(pool, "submit", by);
        await eventually(async () => (await sent()).length === 2);
        expect(await sent()).toEqual([
          { event: "started", attempts: 1 },
          { event: "over", attempts: 1 },
        ]);
      } finally {
        await closeOther();
        await other.stop();
      }
    });
  }));
