import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { findPostgresPackage, openPrograms } from "../../../src/ledger/embedded/binaries.ts";
import { startEmbeddedPostgres } from "../../../src/ledger/embedded/embedded-postgres.ts";
import { findAccount, runAs } from "../../../src/ledger/embedded/unprivileged.ts";
import { machineHas } from "../../support/needs.ts";
import { startProcess } from "../../support/process.ts";
import { withFolder } from "../../support/with-folder.ts";
import { query } from "./with-data-dir.ts";

const logger = pino({ level: "silent" });
const start = (dataDir: string) => startEmbeddedPostgres({ dataDir, clock: systemClock, logger });

describe.runIf(machineHas("root", "linux"))("root, with a data folder below a private one", () => {
  /** Gives a test a data folder that only root can reach, and removes the home that the server gets elsewhere. */
  const withPrivateFolder = (body: (dataDir: string, folder: string) => Promise<void>) =>
    withFolder(async (folder) => {
      await chmod(folder, 0o700);
      const dataDir = join(folder, "data");
      try {
        await body(dataDir, folder);
      } finally {
        await rm(await realpath(join(dataDir, "postgres")).catch(() => folder), {
          recursive: true,
          force: true,
        });
      }
    });

  test("the database is kept where its account gets through, linked from the data folder", () =>
    withPrivateFolder(async (dataDir) => {
      const server = await start(dataDir);
      expect(await query(server.connection, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
      expect(await readlink(join(dataDir, "postgres"))).toMatch(/^\/var\/lib\/cryobridge\/[0-9a-f]{16}$/);
      expect(await server.stop()).toBe("stopped");
    }));

  test("the same database is found again, also after the data folder was moved", () =>
    withPrivateFolder(async (dataDir, folder) => {
      const first = await start(dataDir);
      await query(first.connection, "CREATE TABLE kept AS SELECT 42 AS answer");
      await first.stop();
      await rename(dataDir, join(folder, "moved"));
      const second = await start(join(folder, "moved"));
      expect(await query(second.connection, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
      await second.stop();
      await rename(join(folder, "moved"), dataDir);
    }));

  test("a copy of the data folder does not get the original's database", () =>
    withPrivateFolder(async (dataDir, folder) => {
      await (await start(dataDir)).stop();
      await cp(dataDir, join(folder, "copy"), { recursive: true, verbatimSymlinks: true });
      await expect(start(join(folder, "copy"))).rejects.toMatchObject({ code: "LEDGER_DATA_NOT_OURS" });
    }));

  test("a link whose target is gone is no reason to begin an empty database", () =>
    withPrivateFolder(async (dataDir) => {
      await (await start(dataDir)).stop();
      const home = await readlink(join(dataDir, "postgres"));
      await rename(home, `${home}-away`);
      await expect(start(dataDir)).rejects.toMatchObject({ code: "LEDGER_PLACE_UNREACHABLE" });
      await rename(`${home}-away`, home);
    }));

  test("data that became unreachable are not abandoned for an empty database", () =>
    withPrivateFolder(async (dataDir, folder) => {
      await chmod(folder, 0o755);
      await (await start(dataDir)).stop();
      await chmod(folder, 0o700);
      await expect(start(dataDir)).rejects.toMatchObject({ code: "LEDGER_PLACE_UNREACHABLE" });
      expect((await lstat(join(dataDir, "postgres"))).isDirectory()).toBe(true);
    }));
});

describe.runIf(machineHas("root", "linux", "a checkout that all users can reach"))("an ordinary user", () => {
  test("runs the server as itself", () =>
    withFolder(async (folder) => {
      const account = await findAccount();
      await chown(folder, account.uid, account.gid);
      const script = join(import.meta.dirname, "server-process.ts");
      const started = startProcess(process.execPath, [script, join(folder, "data")], {
        uid: account.uid,
        gid: account.gid,
      });
      expect(await started.nextLine()).toBe("ready");
      expect((await stat(join(folder, "data/postgres/data"))).uid).toBe(account.uid);
      started.child.kill("SIGTERM");
      expect(await started.nextLine()).toBe("stopped");
    }));

  test("is told that a database was made by another user", () =>
    withFolder(async (folder) => {
      await (await start(join(folder, "data"))).stop();
      const script = join(import.meta.dirname, "server-process.ts");
      const started = startProcess(process.execPath, [script, join(folder, "data")], {
        uid: 12345,
        gid: 12345,
      });
      expect(await started.nextLine()).toMatch(/^LEDGER_(DATA_NOT_OURS|FOLDER_UNUSABLE): .*data/);
    }));
});

describe.runIf(machineHas("root", "linux"))("the database programs", () => {
  /** A copy of the package without its library links, as npm leaves it when install scripts are blocked. */
  async function installWithoutScripts(folder: string) {
    const from = await findPostgresPackage();
    const native = join(folder, "native");
    await cp(from.native, native, { recursive: true, verbatimSymlinks: true });
    for (const entry of await readdir(join(native, "lib"), { withFileTypes: true })) {
      if (entry.isSymbolicLink()) await rm(join(native, "lib", entry.name));
    }
    return { ...from, native };
  }

  test("get the library links that npm's blocked script did not make", () =>
    withFolder(async (folder) => {
      const from = await installWithoutScripts(folder);
      const home = { path: folder, data: join(folder, "data"), account: await findAccount() };
      const before = await runAs(home.account, join(from.native, "bin/postgres"), ["--version"], folder);
      expect(before.status).not.toBe(0);
      const programs = await openPrograms(from, home, logger);
      expect(programs.postgres).toBe(join(from.native, "bin/postgres"));
      expect((await runAs(home.account, programs.initdb, ["--version"], folder)).status).toBe(0);
    }));

  test("are copied when they stand where their account cannot reach them", () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "private"), { mode: 0o700 });
      const from = await installWithoutScripts(join(folder, "private"));
      const home = { path: folder, data: join(folder, "data"), account: await findAccount() };
      const programs = await openPrograms(from, home, logger);
      expect(programs.postgres).toBe(join(folder, "runtime", from.serverVersion, "bin/postgres"));
      expect(await openPrograms(from, home, logger)).toEqual(programs);
    }));

  test("that cannot run at all are refused with the system's own words", () =>
    withFolder(async (folder) => {
      const from = await installWithoutScripts(folder);
      await rm(join(from.native, "lib/libcrypto.so.1.1"));
      const home = { path: folder, data: join(folder, "data"), account: await findAccount() };
      await expect(openPrograms(from, home, logger)).rejects.toMatchObject({
        code: "LEDGER_BINARIES_UNUSABLE",
        message: expect.stringContaining("libcrypto.so.1.1"),
      });
    }));
});
