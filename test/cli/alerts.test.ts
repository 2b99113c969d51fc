import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { addAlert } from "../alerts/add-alert.ts";
import { withReceiver } from "../alerts/receivers.ts";
import { runCli } from "./run-cli.ts";
import { configText, ENV, withLab } from "./with-lab.ts";

const KEY = "invented-key-of-the-hook";

const alertsIn = (stdout: string) => (JSON.parse(stdout) as { alerts: Record<string, unknown>[] }).alerts;

describe("cryobridge alerts", () => {
  it("lists what holds and what was sent where, and says when alerts are sent to nobody", () =>
    withLab(async ({ cli, pool }) => {
      expect((await cli(["alerts"])).stderr).toContain("Alerts are sent to nobody");
      await addAlert(pool, "tankOverdue", "NORTH T1");
      const { stdout } = await cli(["alerts", "list"]);
      expect(stdout).toMatch(
        /^a1 +needs a person +open +tankOverdue .*tankOverdue of NORTH T1.*hook waits \(status 500\)$/m,
      );
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
        expect(stdout).toContain("✓ Nothing is announced of ");
      }
      const silenced = alertsIn((await cli(["alerts", "--json"])).stdout).filter(
        (each) => each.silencedUntil,
      );
      expect(silenced.map(({ id }) => id).sort()).toEqual(["a1", "a2"]);
      expect((await cli(["alerts", "silence", "a9", "--for", "4h", "--reason", "x"])).stderr).toContain(
        "no alert a9",
      );
    }));

  it("silences for a minute at least and 90 days at most, and says what can be silenced", () =>
    withLab(async ({ cli, pool }) => {
      for (const span of ["59s", "91d"]) {
        const { status, stderr } = await cli([
          "alerts",
          "silence",
          "noTraffic",
          "--for",
          span,
          "--reason",
          "x",
        ]);
        expect([status, stderr]).toEqual([2, expect.stringContaining("from 1m to 90d")]);
      }
      const { stderr } = await cli(["alerts", "silence", "traffic", "--for", "1m", "--reason", "x"]);
      expect(stderr).toContain("traffic: expected the id of an alert, such as a12, or one of ");
      expect(stderr).toContain("noTraffic");
      expect((await pool.query("select from alert_silences")).rowCount).toBe(0);
      for (const span of ["1m", "90d"])
        expect((await cli(["alerts", "silence", "noTraffic", "--for", span, "--reason", "x"])).status).toBe(
          0,
        );
    }));

  it("lists silences and ends one, after which nothing is silenced", () =>
    withLab(async ({ cli, pool }) => {
      await addAlert(pool, "noTraffic", "lims");
      await cli(["alerts", "silence", "a1", "--for", "4h", "--reason", "known"]);
      await cli(["alerts", "silence", "noTraffic", "--for", "2d", "--reason", "holiday"]);
      const { stdout } = await cli(["alerts", "silences"]);
      expect(stdout).toMatch(/^s1 +noTraffic lims .* known$/m);
      expect(stdout).toMatch(/^s2 +all noTraffic .* holiday$/m);
      expect(await cli(["alerts", "unsilence", "s1", "s2"])).toMatchObject({ status: 0 });
      expect(await cli(["alerts", "unsilence", "s2"])).toMatchObject({
        status: 1,
        stdout: "✗ s2 had ended before\n",
      });
      expect((await cli(["alerts", "silences"])).stdout).toBe("Nothing is silenced.\n");
      const [alert] = alertsIn((await cli(["alerts", "--json"])).stdout);
      expect(alert).toMatchObject({ id: "a1", silencedUntil: null });
      const { rows } = await pool.query("select action, target from audit order by id");
      expect(rows.slice(2)).toEqual([
        { action: "alert-unsilence", target: "s1" },
        { action: "alert-unsilence", target: "s2" },
      ]);
    }));

  it("tries each place, and says what came of it", () =>
    withReceiver(KEY, async (receiver) => {
      const to = `alerts:
  to:
    - { type: webhook, name: hook, url: "${receiver.url}", secret: ${KEY} }
    - { type: command, command: [/nowhere/at-all] }
`;
      await withLab(async ({ cli, pool }) => {
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
        const failure = "/nowhere/at-all can't be run: ENOENT";
        expect((await pool.query("select action, target, detail from audit order by id")).rows).toMatchObject(
          [
            { action: "alert-test", target: "hook", detail: { failure: null } },
            { action: "alert-test", target: "hook", detail: { failure: null } },
            { action: "alert-test", target: "command", detail: { failure } },
          ],
        );
      }, to);
    }));

  it("tries each place also while the ledger's server takes connections and says nothing", () =>
    withReceiver(KEY, async (receiver) => {
      const to = `alerts:
  to: [{ type: webhook, name: hook, url: "${receiver.url}", secret: ${KEY} }]
`;
      const sockets = new Set<Socket>();
      const silentServer = createServer((socket) => sockets.add(socket.on("error", () => {})));
      await once(silentServer.listen(0, "127.0.0.1"), "listening");
      const { port } = silentServer.address() as AddressInfo;
      try {
        await withLab(async ({ configFile }) => {
          const text = configText(`postgres://nobody:none@127.0.0.1:${port}/none`, to);
          await writeFile(configFile, text);
          // What the ledger has five seconds for is late soon.
          const sleep: Clock["sleep"] = (ms, signal) => systemClock.sleep(ms === 5_000 ? 50 : ms, signal);
          const world = { env: ENV, clock: { ...systemClock, sleep } };
          const { status, stdout } = await runCli(["--config", configFile, "alerts", "test"], world);
          expect(stdout).toBe(
            "✓ hook: sent\nNot kept in the audit: the ledger gave no answer within 5 s (LEDGER_UNAVAILABLE)\n",
          );
          expect(status).toBe(0);
        });
      } finally {
        for (const socket of sockets) socket.destroy();
        silentServer.close();
      }
    }));

  it("tries each place also before there is a ledger, and says that no audit keeps it", () =>
    withReceiver(KEY, async (receiver) => {
      const to = `alerts:
  to: [{ type: webhook, name: hook, url: "${receiver.url}", secret: ${KEY} }]
`;
      await withLab(async ({ cli, configFile }) => {
        await writeFile(configFile, configText(undefined, to));
        const { status, stdout } = await cli(["alerts", "test"]);
        expect(stdout).toMatch(
          /^✓ hook: sent\nNot kept in the audit: there is no ledger in .* yet \(CLI_LEDGER_MISSING\)\n$/,
        );
        expect(status).toBe(0);
        expect(receiver.taken).toHaveLength(1);
      });
    }));
});
