import type pg from "pg";
import { describe, expect, it } from "vitest";
import { withReceiver } from "../alerts/receivers.ts";
import { withLab } from "./with-lab.ts";

const KEY = "invented-key-of-the-hook";

/** An alert that started a minute ago and was announced to `hook`. */
async function addAlert(pool: pg.Pool, kind: string, about: string): Promise<void> {
  await pool.query(
    `with a as (insert into alerts (kind, about, text, since, started_at, announced_at)
                values ($1, $2, $1 || ' of ' || $2, now() - interval '1 minute', now(), now()) returning id)
     insert into alert_messages (alert_id, place, event, attempts, failure)
     select id, 'hook', 'started', 2, 'status 500' from a`,
    [kind, about],
  );
}

const alertsIn = (stdout: string) => (JSON.parse(stdout) as { alerts: Record<string, unknown>[] }).alerts;

describe("cryobridge alerts", () => {
  it("lists what holds and what was sent where, and says when nobody is told", () =>
    withLab(async ({ cli, pool }) => {
      expect((await cli(["alerts"])).stderr).toContain("Nobody is told");
      await addAlert(pool, "tankOverdue", "NORTH T1");
      const { stdout } = await cli(["alerts", "list"]);
      expect(stdout).toMatch(/^a1 +open +tankOverdue .*tankOverdue of NORTH T1.*hook waits \(status 500\)$/m);
      expect(alertsIn((await cli(["alerts", "--json"])).stdout)).toMatchObject([
        { id: "a1", kind: "tankOverdue", about: "NORTH T1", messages: [{ place: "hook", attempts: 2 }] },
      ]);
    }));

  it("keeps who sees to an alert and why, once, with the audit", () =>
    withLab(async ({ cli, pool }) => {
      await addAlert(pool, "tasksOpen", "");
      expect((await cli(["alerts", "acknowledge", "a1"])).stderr).toContain("--reason");
      const acknowledge = ["alerts", "acknowledge", "a1", "--reason", "called them"];
      expect(await cli(acknowledge)).toMatchObject({ status: 0, stdout: "✓ a1 is acknowledged\n" });
      expect(await cli(acknowledge)).toMatchObject({ status: 1 });
      expect(alertsIn((await cli(["alerts", "--json"])).stdout)).toMatchObject([
        { acknowledgedReason: "called them" },
      ]);
      const { rows } = await pool.query("select action, target from audit");
      expect(rows).toEqual([{ action: "alert-acknowledge", target: "a1" }]);
    }));

  it("silences one alert, or all of a kind", () =>
    withLab(async ({ cli, pool }) => {
      await addAlert(pool, "ordersParked", "CONFIG_INVALID");
      await addAlert(pool, "noTraffic", "lims");
      await addAlert(pool, "ordersParked", "SUBJECT_INCOMPLETE");
      for (const word of ["a1", "noTraffic"]) {
        const { stdout } = await cli(["alerts", "silence", word, "--for", "4h", "--reason", "known"]);
        expect(stdout).toContain("nothing is announced until");
      }
      const silenced = alertsIn((await cli(["alerts", "--json"])).stdout).filter(
        (each) => each.silencedUntil,
      );
      expect(silenced.map(({ id }) => id).sort()).toEqual(["a1", "a2"]);
      expect((await cli(["alerts", "silence", "a9", "--for", "4h", "--reason", "x"])).stderr).toContain(
        "no alert a9",
      );
    }));

  it("tries each place, and says what came of it", () =>
    withReceiver(KEY, async (receiver) => {
      const to = `alerts:
  to:
    - { type: webhook, name: hook, url: "${receiver.url}", secret: ${KEY} }
    - { type: command, command: [/nowhere/at-all] }
`;
      await withLab(async ({ cli }) => {
        expect(await cli(["alerts", "test", "--to", "hook"])).toMatchObject({
          status: 0,
          stdout: "✓ hook: sent\n",
        });
        const all = await cli(["alerts", "test", "--json"]);
        expect(all.status).toBe(1);
        expect(JSON.parse(all.stdout).places).toMatchObject([
          { place: "hook", isSent: true },
          { place: "command", isSent: false, failure: "/nowhere/at-all can't be run: ENOENT" },
        ]);
        expect(receiver.taken.map(({ news }) => news.event)).toEqual(["test", "test"]);
        const { stderr } = await cli(["alerts", "test", "--to", "nobody"]);
        expect(stderr).toContain("the configuration has hook, command");
      }, to);
    }));
});
