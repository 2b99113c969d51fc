import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { labConditions } from "../../src/jobs/deliver/lab-breaker.ts";
import { acquireDaemonLock } from "../../src/ledger/embedded/lock.ts";
import { withConsole } from "../console/console-fixture.ts";
import { countLockWaiters } from "../support/lock-waiters.ts";
import { serviceView } from "../support/service-view.ts";
import { standIn } from "../support/worker.ts";
import { Window } from "./window.ts";
import { csvMessage, PATIENT, withLab } from "./with-lab.ts";

const NOW = new Date().toISOString();
const AWAY = {
  since: new Date(NOW),
  cause: "FILE_SYSTEM_ERROR",
  nextTryAt: new Date(Date.now() + 3_599_000),
} as const;

const PARKED =
  "update orders set state = 'parked', failure_code = 'SUBJECT_UNKNOWN', failure_text = 'there is no such subject'";

describe("cryobridge top", () => {
  it("shows with --once what needs a person, orders by stage, queues and workers, and ends as status does", () =>
    withLab(async ({ cli, pool, take }) => {
      await take("bench", [csvMessage(1), csvMessage(2, { subject_code: "PAT-2" })]);
      await pool.query(`${PARKED} where id = 1`);
      const { leave } = await standIn(pool);
      const { stdout, status } = await cli(["top", "--once"]);
      const { status: statusOfStatus } = await cli(["status"]);
      await leave();
      expect(stdout).toMatch(/^✗ It is not known whether orders are taken\.\n✓ queues {2}✓ daemons\n✗ /);
      expect(stdout).toContain(
        "1 order waits for a person: the service does not have the subject of a retrieval (SUBJECT_UNKNOWN)",
      );
      expect(stdout).toMatch(/STAGE +ORDERS +OLDEST\nreceived +1 .*\nparked +1 /);
      expect(stdout).toMatch(/submit +1 +0 +0 +1 +\S/);
      expect(stdout).toMatch(/QUEUE .* PARKED +WHAT IT DOES/);
      expect(stdout).toMatch(/stand-in +test +worker +works/);
      for (const value of Object.values(PATIENT)) expect(stdout).not.toContain(value);
      expect(status).toBe(statusOfStatus);
    }));

  it("shows connectors and service as the daemon's console does", () =>
    withConsole(
      {
        deps: {
          own: () => labConditions("bench", AWAY, Date.now()),
          connectors: () => [
            {
              ...{ connector: "bench", type: "csv-drop", isTaking: true },
              ...{ trouble: null, warning: null, connections: null },
              labOutage: { since: NOW, nextTryAt: AWAY.nextTryAt.toISOString() },
            },
          ],
          service: () =>
            serviceView({
              backlog: { orders: 12, callsPerOrder: 4, calls: 50, seconds: 300 },
              ...{ breaker: "open", isReachable: false, hasApiToken: true, callsLastMinute: 3, calls: 7 },
              opening: { since: NOW, text: "the service is away", nextTryAt: NOW },
            }),
        },
      },
      ({ url }) =>
        withLab(async ({ folder, configFile, cli, take }) => {
          const text = await readFile(configFile, "utf8");
          await writeFile(configFile, text.replace("port: 0", `port: ${new URL(url).port}`));
          const release = await acquireDaemonLock(join(folder, "data"), undefined, "console");
          await take("bench", [csvMessage(1)]);
          const { stdout } = await cli(["top", "--once"]);
          expect(stdout).toMatch(
            /bench +✓ looks for files +✗ takes no results; next try in \S+ +1 +0 +0 +1 +(now|\ds ago)\n/,
          );
          expect(stdout).toMatch(
            /reachable ✗ no; calls ✗ paused; one tries [^;]*; since .*; why the service is away; .*called 7 times/,
          );
          const { stdout: status } = await cli(["status"]);
          expect(status).toContain(
            "Calls to the service in the last minute: 3 calls; at most 5 calls a second, as set.\nBacklog: 12 orders wait to be sent; with those at the service they need about 50 calls, once the service takes calls again.\n",
          );
          for (const columns of [80, 110]) {
            const narrow = (await cli(["top", "--once"], { isTTY: true, columns })).stdout;
            const lines = stripVTControlCharacters(narrow).split("\n");
            const [titles = "", row] = lines.filter((line) => /^ +(CONNECT|bench )/.test(line));
            expect(row).toMatch(/✓ looks.* ✗ takes.* 1 +0 +0 .*(now|ago)$/);
            const numbersEnd = titles.indexOf("FILES NOT TAKEN") + "FILES NOT TAKEN".length;
            expect(numbersEnd).toBeLessThan(columns);
          }
          const document = JSON.parse((await cli(["top", "--once", "--json"])).stdout);
          expect(document).toMatchObject({
            isDaemonRunning: true,
            connectors: [{ connector: "bench", received: 1, receivedLastHour: 1, isLabAway: true }],
            service: {
              breaker: "open",
              calls: 7,
              limit: { calls: 5, source: "set" },
              backlog: { seconds: 300 },
            },
            queues: [{ queue: "submit" }, { queue: "track" }, { queue: "deliver" }],
          });
          await release();
        }),
    ));

  it("waits for no ledger that gives the daemon no answer", () =>
    withConsole({ deps: { counts: () => Promise.reject(new Error("away")) } }, ({ url }) =>
      withLab(async ({ folder, configFile, cli, pool }) => {
        const text = await readFile(configFile, "utf8");
        await writeFile(configFile, text.replace("port: 0", `port: ${new URL(url).port}`));
        const release = await acquireDaemonLock(join(folder, "data"), undefined, "console");
        const other = await pool.connect();
        await other.query("begin; lock table deliveries in access exclusive mode");
        try {
          const { stdout } = await cli(["top", "--once"]);
          expect(stdout).toContain("The ledger does not answer; nothing can be counted.");
          expect(await countLockWaiters(pool)).toBe(0);
          // The lock is still there: a ledger ends it after 60 s.
          await other.query("select");
        } finally {
          other.release(true);
          await release();
        }
      }),
    ));

  it("is drawn live until q is pressed", () =>
    withLab(async ({ cli, take }) => {
      const window = new Window({ columns: 100, rows: 30 });
      const command = cli(["top"], window.world);
      expect(await window.next()).toContain("0 waiting here");
      await take("bench", [csvMessage(1)]);
      window.press(" ");
      expect(await window.next()).toContain("1 waiting here");
      window.press("q");
      expect((await command).status).toBe(0);
    }));

  it("shows in a small window the figures before what is only worth a look, at most three things of it", () =>
    withLab(async ({ cli, pool, take }) => {
      await take("bench", [csvMessage(1)]);
      const { leave } = await standIn(pool);
      const kind = "certificateExpiring";
      const conditions = [1, 2, 3, 4].map((n) => ({
        kind,
        about: `${n}`,
        text: `matter ${n}`,
        level: "look",
      }));
      await pool.query("update workers set conditions = $1", [JSON.stringify(conditions)]);
      const window = new Window({ columns: 80, rows: 30 });
      const command = cli(["top"], window.world);
      const picture = await window.next();
      window.press("q");
      await command;
      await leave();
      expect(picture).toMatch(
        /QUEUE .*\n +submit +1 [\s\S]*\n +w\d+ +stand-in .*\n\n· .*: matter 1\n· .*: matter 2\n· .*: matter 3\n… and 1 more: cryobridge status$/,
      );
    }));
});
