import { readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { acquireDaemonLock, isDaemonThere } from "../../../src/ledger/embedded/lock.ts";
import { machineHas } from "../../support/needs.ts";
import { startProcess } from "../../support/process.ts";
import { withFolder } from "../../support/with-folder.ts";

const LOCK_PROCESS = join(import.meta.dirname, "lock-process.ts");
const startHolder = (folder: string) => startProcess(process.execPath, [LOCK_PROCESS, folder]);

describe("the daemon lock of a data folder", () => {
  test("is refused to a second process, which is told the number of the first", () =>
    withFolder(async (folder) => {
      const holder = startHolder(folder);
      expect(await holder.nextLine()).toBe("locked");
      await expect(acquireDaemonLock(folder)).rejects.toMatchObject({
        code: "LEDGER_IN_USE",
        message: expect.stringContaining(`process ${holder.pid} `),
        hint: expect.stringContaining(`\`kill ${holder.pid}\` ends it`),
      });
      await holder.end("SIGKILL");
    }));

  test("is free as soon as its holder was killed", () =>
    withFolder(async (folder) => {
      const holder = startHolder(folder);
      await holder.nextLine();
      await holder.end("SIGKILL");
      const release = await acquireDaemonLock(folder);
      await release();
    }));

  test("is held by a stopped process", () =>
    withFolder(async (folder) => {
      const holder = startHolder(folder);
      await holder.nextLine();
      holder.child.kill("SIGSTOP");
      await expect(acquireDaemonLock(folder)).rejects.toMatchObject({ code: "LEDGER_IN_USE" });
      await holder.end("SIGKILL");
    }));

  test("can be taken again once it was released", () =>
    withFolder(async (folder) => {
      for (let times = 0; times < 3; times++) {
        const release = await acquireDaemonLock(folder);
        await release();
      }
    }));

  test("is one for all ways to the same folder", () =>
    withFolder(async (folder) => {
      const dataDir = join(folder, "data");
      const release = await acquireDaemonLock(dataDir);
      await symlink(dataDir, join(folder, "alias"));
      await expect(acquireDaemonLock(join(folder, "alias"))).rejects.toMatchObject({ code: "LEDGER_IN_USE" });
      await release();
    }));

  test("is seen by who only looks while its holder works or is stopped, and not once that was killed", () =>
    withFolder(async (folder) => {
      const holder = startHolder(folder);
      await holder.nextLine();
      expect(await isDaemonThere(folder, "worker")).toBe(true);
      expect(await isDaemonThere(folder, "console")).toBe(false);
      holder.child.kill("SIGSTOP");
      expect(await isDaemonThere(folder, "worker")).toBe(true);
      await holder.end("SIGKILL");
      expect(await isDaemonThere(folder, "worker")).toBe(false);
    }));

  test("is left to a daemon that starts while others look", () =>
    withFolder(async (folder) => {
      let isStarting = true;
      const look = async () => {
        while (isStarting) await isDaemonThere(folder, "worker");
      };
      const looking = [look(), look(), look()];
      for (let times = 0; times < 20; times++) await (await acquireDaemonLock(folder))();
      isStarting = false;
      await Promise.all(looking);
    }));

  test("is not looked for in a folder that isn't there, and none is made for that", () =>
    withFolder(async (folder) => {
      expect(await isDaemonThere(join(folder, "data"), "worker")).toBe(false);
      expect(await readdir(folder)).toEqual([]);
    }));

  test("is not shared by different folders", () =>
    withFolder(async (folder) => {
      const releases = [
        await acquireDaemonLock(join(folder, "a")),
        await acquireDaemonLock(join(folder, "b")),
      ];
      for (const release of releases) await release();
    }));

  test("goes to one of many that try at once after the holder was killed", () =>
    withFolder(async (folder) => {
      const killed = startHolder(folder);
      await killed.nextLine();
      await killed.end("SIGKILL");
      const rivals = [1, 2, 3, 4].map(() => startHolder(folder));
      const lines = await Promise.all(rivals.map((rival) => rival.nextLine()));
      expect(lines.filter((line) => line === "locked")).toHaveLength(1);
      for (const rival of rivals) await rival.end("SIGKILL");
    }));

  test.runIf(machineHas("root", "linux"))("is seen from another container that shares the folder", () =>
    withFolder(async (folder) => {
      const holder = startProcess("unshare", ["--net", process.execPath, LOCK_PROCESS, folder]);
      expect(await holder.nextLine()).toBe("locked");
      await expect(acquireDaemonLock(folder)).rejects.toMatchObject({ code: "LEDGER_IN_USE" });
      expect(await isDaemonThere(folder, "worker")).toBe(true);
      await holder.end("SIGKILL");
      await (await acquireDaemonLock(folder))();
    }),
  );
});
