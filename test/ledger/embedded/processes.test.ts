import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { machineHas } from "../../support/needs.ts";
import { query, withDataDir, withFreshDataDir } from "./with-data-dir.ts";

describe("several processes on one data folder", () => {
  test("start one server between them when they start at once", () =>
    withFreshDataDir(async (dataDir) => {
      const processes = [1, 2, 3].map(() => dataDir.startProcess());
      const lines = await Promise.all(processes.map((started) => started.nextLine()));
      expect(lines).toEqual(["ready", "ready", "ready"]);
      const { connection } = await dataDir.start();
      const rows = await query<{ users: number }>(
        connection,
        `SELECT count(DISTINCT application_name)::int AS users
           FROM pg_stat_activity
          WHERE application_name LIKE 'cryobridge-%'`,
      );
      expect(rows).toEqual([{ users: 4 }]);
    }));

  test("leave the server to each other, and the last one stops it", () =>
    withDataDir(async (dataDir) => {
      const first = dataDir.startProcess();
      await first.nextLine();
      const second = dataDir.startProcess();
      await second.nextLine();
      first.child.kill("SIGTERM");
      expect(await first.nextLine()).toBe("left-running");
      second.child.kill("SIGTERM");
      expect(await second.nextLine()).toBe("stopped");
    }));

  test("a server whose starter was killed is joined by the next", () =>
    withDataDir(async (dataDir) => {
      const starter = dataDir.startProcess("owner");
      await starter.nextLine();
      const pid = await dataDir.serverPid();
      await starter.end("SIGKILL");
      const next = await dataDir.start();
      expect(await dataDir.serverPid()).toBe(pid);
      expect(await next.stop()).toBe("stopped");
    }));

  test("one killed while it makes the database is followed by one that makes it whole", () =>
    withFreshDataDir(async (dataDir) => {
      const killed = dataDir.startProcess();
      const home = join(dataDir.path, "postgres");
      await eventually(async () =>
        (await readdir(home)).some((name) => existsSync(join(home, name, "data/base"))),
      );
      await killed.end("SIGKILL");
      expect(existsSync(join(home, "data"))).toBe(false);
      const { connection } = await dataDir.start();
      expect(await query(connection, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    }));

  test.runIf(machineHas("linux"))("Ctrl-C in the starter's terminal does not reach the server", () =>
    withDataDir(async (dataDir) => {
      const starter = dataDir.startProcess();
      await starter.nextLine();
      expect(await readSession(await dataDir.serverPid())).not.toBe(await readSession(starter.pid));
    }),
  );
});

/** The terminal session of a process: a signal typed at a terminal stays within it. */
async function readSession(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // After the name in brackets: state, parent, process group, session.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3];
}
