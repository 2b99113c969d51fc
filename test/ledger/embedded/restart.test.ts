import { spawn } from "node:child_process";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Pool } from "pg";
import { describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { machineHas } from "../../support/needs.ts";
import { query, withDataDir } from "./with-data-dir.ts";

describe("a server that is killed", () => {
  test("is started again by its owner, and the same pool works on", () =>
    withDataDir(async (dataDir) => {
      const server = await dataDir.start(true);
      const pool = new Pool(server.connection);
      pool.on("error", () => undefined);
      await pool.query("CREATE TABLE kept AS SELECT 42 AS answer");
      const killedPid = await dataDir.serverPid();
      process.kill(killedPid, "SIGKILL");
      await eventually(async () => (await dataDir.serverPid()) !== killedPid);
      const answer = await eventually(async () => (await pool.query("SELECT answer FROM kept")).rows[0]);
      expect(answer).toEqual({ answer: 42 });
      await pool.end();
    }));

  test("is started again as often as it is killed", () =>
    withDataDir(async (dataDir) => {
      const { connection } = await dataDir.start(true);
      for (let times = 0; times < 3; times++) {
        const killedPid = await dataDir.serverPid();
        process.kill(killedPid, "SIGKILL");
        await eventually(async () => (await dataDir.serverPid()) !== killedPid);
        await eventually(() => query(connection, "SELECT 1"));
      }
    }));

  test("is not started again while one of its children still works on the data", () =>
    withDataDir(async (dataDir) => {
      const { connection } = await dataDir.start();
      const pool = new Pool(connection);
      pool.on("error", () => undefined);
      // A stopped child cannot notice that the server is gone.
      const { rows } = await pool.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      const childPid = rows[0]?.pid ?? 0;
      process.kill(childPid, "SIGSTOP");
      process.kill(await dataDir.serverPid(), "SIGKILL");
      let isStarted = false;
      const next = dataDir.start().then((server) => {
        isStarted = true;
        return server;
      });
      await eventually(async () =>
        (await readFile(join(dataDir.path, "postgres/start.log"), "utf8")).includes("shared memory block"),
      );
      expect(isStarted).toBe(false);
      process.kill(childPid, "SIGKILL");
      expect(await query((await next).connection, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
      await pool.end();
    }));

  test("is no longer there when its only user leaves", () =>
    withDataDir(async (dataDir) => {
      const server = await dataDir.start();
      const pid = await dataDir.serverPid();
      process.kill(pid, "SIGKILL");
      await eventually(async () => (await readStatus(pid)) === "ended");
      expect(await server.stop()).toBe("stopped");
    }));

  test("is not taken for running when another process has its number now", () =>
    withDataDir(async (dataDir) => {
      await (await dataDir.start()).stop();
      // Of the server's own account: PostgreSQL would not take another user's process for its own.
      const { uid, gid } = await stat(join(dataDir.path, "postgres/data"));
      const stranger = spawn("sleep", ["60"], { uid, gid });
      const file = join(dataDir.path, "postgres/data/postmaster.pid");
      const lines = [
        stranger.pid,
        join(dataDir.path, "postgres/data"),
        1,
        5432,
        "/nowhere",
        "",
        "1 1",
        "ready",
      ];
      await writeFile(file, `${lines.join("\n")}\n`);
      await expect(dataDir.start()).resolves.toBeDefined();
      expect(stranger.exitCode).toBeNull();
      stranger.kill();
      await rm(file, { force: true });
    }));

  test.runIf(machineHas("linux"))(
    "is started again though other processes have the numbers in all of its notes",
    () =>
      withDataDir(async (dataDir) => {
        const home = join(dataDir.path, "postgres");
        const server = dataDir.startProcess();
        await server.nextLine();
        const pid = await dataDir.serverPid();
        await server.end("SIGKILL");
        process.kill(pid, "SIGKILL");
        await eventually(async () => (await readStatus(pid)) === "ended");
        const { uid, gid } = await stat(join(home, "data"));
        const stranger = spawn("sleep", ["60"], { uid, gid });
        for (const note of ["data/postmaster.pid", "run/.s.PGSQL.5432.lock"]) {
          const text = await readFile(join(home, note), "utf8");
          await writeFile(join(home, note), text.replace(/^\d+/, String(stranger.pid)));
        }
        await expect(dataDir.start()).resolves.toBeDefined();
        expect(stranger.exitCode).toBeNull();
        stranger.kill();
      }),
  );
});

/** Whether a process runs; one that has ended may still have its number until its parent asks. */
async function readStatus(pid: number): Promise<"ended" | "runs"> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  return stat === "" || /\) Z /.test(stat) ? "ended" : "runs";
}

describe.runIf(machineHas("linux"))("a server that hangs", () => {
  test("is waited for, not doubled", () =>
    withDataDir(async (dataDir) => {
      const first = await dataDir.start();
      const pid = await dataDir.serverPid();
      process.kill(pid, "SIGSTOP");
      const second = dataDir.start();
      await eventually(() =>
        readFile(join(dataDir.path, "start.lock")).catch((error) => error.code === "ENXIO"),
      );
      process.kill(pid, "SIGCONT");
      await second;
      expect(await dataDir.serverPid()).toBe(pid);
      expect(await first.stop()).toBe("left-running");
    }));
});
