import { chmod, chown, cp, lstat, mkdir, readdir, rename, rm, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { startEmbeddedPostgres } from "../../../src/ledger/embedded/embedded-postgres.ts";
import { findAccount, findObstacle, runAs } from "../../../src/ledger/embedded/home.ts";
import { findPostgresPackage, openPrograms } from "../../../src/ledger/embedded/programs.ts";
import { machineHas } from "../../support/needs.ts";
import { startProcess } from "../../support/process.ts";
import { layDatabase } from "../../support/test-server.ts";
import { withFolder } from "../../support/with-folder.ts";
import { query } from "./with-data-dir.ts";

const logger = pino({ level: "silent" });
const start = (dataDir: string) => startEmbeddedPostgres({ dataDir, clock: systemClock, logger });

describe.runIf(machineHas("root", "linux"))(
  "root, with a data folder that another account can't get to",
  () => {
    const unreachable = (closed: string) => ({
      code: "LEDGER_PLACE_UNREACHABLE",
      message: expect.stringContaining(`may not enter ${closed}`),
    });

    test.each([
      ["below a private one", 0o700, 0o755],
      ["that is private itself", 0o755, 0o700],
      ["below one that only its group may enter", 0o750, 0o755],
    ])("is refused the start, and nothing is made elsewhere: one %s", (_, outerMode, innerMode) =>
      withFolder(async (folder) => {
        const before = await readdir("/var/lib");
        const dataDir = join(folder, "data");
        await mkdir(dataDir);
        await chmod(dataDir, innerMode);
        await chmod(folder, outerMode);
        const closed = outerMode === 0o755 ? dataDir : folder;
        await expect(start(dataDir)).rejects.toMatchObject(unreachable(closed));
        expect(await findObstacle(dataDir)).toMatchObject(unreachable(closed));
        expect(await readdir("/var/lib")).toEqual(before);
        expect((await readdir(dataDir)).filter((name) => name === "postgres")).toEqual([]);
      }),
    );

    test("starts once others may pass through", () =>
      withFolder(async (folder) => {
        const dataDir = join(folder, "data");
        await chmod(folder, 0o700);
        await expect(start(dataDir)).rejects.toMatchObject(unreachable(folder));
        await chmod(folder, 0o701);
        expect(await findObstacle(dataDir)).toBeUndefined();
        const server = await start(dataDir);
        expect(await query(server.connection, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
        await server.stop();
      }));

    test("data that became unreachable are not abandoned for an empty database", () =>
      withFolder(async (folder) => {
        const dataDir = join(folder, "data");
        await layDatabase(dataDir);
        await chmod(folder, 0o700);
        await expect(start(dataDir)).rejects.toMatchObject(unreachable(folder));
        expect((await lstat(join(dataDir, "postgres"))).isDirectory()).toBe(true);
      }));
  },
);

describe.skipIf(process.platform === "win32")(
  "a part of the data folder that is a link to another place",
  () => {
    test.each(["postgres", "postgres/data", "postgres/data/pg_wal"])("is refused: %s", (part) =>
      withFolder(async (folder) => {
        const dataDir = join(folder, "data");
        await layDatabase(dataDir);
        await rename(join(dataDir, part), join(folder, "elsewhere"));
        await symlink(join(folder, "elsewhere"), join(dataDir, part));
        const linked = {
          code: "LEDGER_DATA_LINKED",
          message: expect.stringContaining(`${join(dataDir, part)} is a link`),
        };
        expect(await findObstacle(dataDir)).toMatchObject(linked);
        await expect(start(dataDir)).rejects.toMatchObject(linked);
      }),
    );
  },
);

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
      await layDatabase(join(folder, "data"));
      for (const path of [folder, join(folder, "data")]) await chown(path, 12345, 12345);
      const script = join(import.meta.dirname, "server-process.ts");
      const started = startProcess(process.execPath, [script, join(folder, "data")], {
        uid: 12345,
        gid: 12345,
      });
      expect(await started.nextLine()).toMatch(/^LEDGER_DATA_NOT_OURS: .*data belongs to user/);
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
