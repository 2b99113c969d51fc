import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { startEmbeddedPostgres } from "../../../src/ledger/embedded/embedded-postgres.ts";
import { machineHas } from "../../support/needs.ts";
import { query, shareDataDir, withDataDir, withFreshDataDir } from "./with-data-dir.ts";

let shared: Awaited<ReturnType<typeof shareDataDir>>;
beforeAll(async () => {
  shared = await shareDataDir();
});
afterAll(() => shared.end());

describe("the running server", () => {
  test("is durable, speaks UTF-8, checks its pages and listens to nobody on the network", async () => {
    const expected = {
      data_checksums: "on",
      fsync: "on",
      full_page_writes: "on",
      listen_addresses: "",
      password_encryption: "scram-sha-256",
      server_encoding: "UTF8",
      synchronous_commit: "on",
    };
    const rows = await query<{ name: string; setting: string }>(
      shared.server.connection,
      `SELECT name, setting FROM pg_settings WHERE name = ANY ('{${Object.keys(expected).join(",")}}')`,
    );
    expect(Object.fromEntries(rows.map((row) => [row.name, row.setting]))).toEqual(expected);
  });

  test("sorts by bytes", async () => {
    const sql = "SELECT datcollate FROM pg_database WHERE datname = current_database()";
    expect(await query(shared.server.connection, sql)).toEqual([{ datcollate: "C" }]);
  });

  test("gives the ledger a role that is no superuser", async () => {
    const sql = "SELECT usesuper FROM pg_user WHERE usename = current_user";
    expect(await query(shared.server.connection, sql)).toEqual([{ usesuper: false }]);
  });

  test("refuses a wrong password", async () => {
    const wrong = { ...shared.server.connection, password: "guessed" };
    await expect(query(wrong, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  });

  test.for(["data", "run", "log", "password"])("keeps its %s to its own account", async (name) => {
    const { mode } = await stat(join(shared.dataDir.path, "postgres", name));
    expect(mode & 0o077).toBe(0);
  });

  test.runIf(machineHas("root", "linux"))("runs under another account when root started it", async () => {
    const { uid } = await stat(`/proc/${await shared.dataDir.serverPid()}`);
    expect(uid).not.toBe(0);
  });

  test.runIf(machineHas("linux"))("sees nothing of the starter's environment", async () => {
    const environment = await readFile(`/proc/${await shared.dataDir.serverPid()}/environ`, "utf8");
    const names = environment.split("\0").map((entry) => entry.split("=")[0]);
    expect(names.filter((name) => name && !/^(PATH|LC_ALL|TZ|PG.*|OLDPWD|PWD|SHLVL|_)$/.test(name))).toEqual(
      [],
    );
  });
});

describe("a server that is stopped", () => {
  test("keeps what was committed, and none of it in its log", () =>
    withDataDir(async (dataDir) => {
      const first = await dataDir.start();
      await query(first.connection, "CREATE TABLE kept (code text PRIMARY KEY)");
      const insert = "INSERT INTO kept VALUES ('CANARY')";
      await query(first.connection, insert);
      await expect(query(first.connection, insert)).rejects.toThrow();
      await expect(query(first.connection, "SELECT 'CANARY'::int")).rejects.toThrow();
      await expect(query(first.connection, "SELECT CANARY")).rejects.toThrow();
      expect(await first.stop()).toBe("stopped");
      const second = await dataDir.start();
      expect(await query(second.connection, "SELECT code FROM kept")).toEqual([{ code: "CANARY" }]);
      const folder = join(dataDir.path, "postgres/log");
      const names = await readdir(folder);
      const logs = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
      expect(logs.join("")).toContain("database system is shut down");
      expect(logs.join("")).not.toMatch(/canary/i);
    }));
});

describe("a path", () => {
  test("that is too long for sockets is refused in words, and nothing is made in it", () =>
    withFreshDataDir(async ({ path }) => {
      const dataDir = join(path, "long-".repeat(25));
      const started = startEmbeddedPostgres({
        dataDir,
        clock: systemClock,
        logger: pino({ level: "silent" }),
      });
      await expect(started).rejects.toMatchObject({
        code: "LEDGER_FOLDER_UNUSABLE",
        message: expect.stringMatching(/too long by \d+ bytes .* choose a shorter dataDir/),
      });
      expect(await readdir(dataDir)).toEqual([]);
    }));

  test("may hold quotes, spaces and a comma", () =>
    withDataDir(async (dataDir) => {
      const { connection } = await dataDir.start();
      expect(connection.host).toContain(dataDir.path);
    }, `o'neil "lab", north`));
});

describe("data that are not as they should be", () => {
  test("a database whose making was cut off is made anew", () =>
    withFreshDataDir(async (dataDir) => {
      const partial = join(dataDir.path, "postgres/init-1/data");
      await mkdir(partial, { recursive: true });
      await writeFile(join(partial, "PG_VERSION"), "18\n");
      await dataDir.start();
      expect(await readdir(join(dataDir.path, "postgres"))).not.toContain("init-1");
    }));

  test("another major version is refused and left alone", () =>
    withFreshDataDir(async (dataDir) => {
      const data = join(dataDir.path, "postgres/data");
      await mkdir(data, { recursive: true });
      await writeFile(join(data, "PG_VERSION"), "17\n");
      await expect(dataDir.start()).rejects.toMatchObject({ code: "LEDGER_VERSION_MISMATCH" });
      expect(await readdir(data)).toEqual(["PG_VERSION"]);
    }));

  test("a folder with other files is refused and left alone", () =>
    withFreshDataDir(async (dataDir) => {
      const data = join(dataDir.path, "postgres/data");
      await mkdir(data, { recursive: true });
      await writeFile(join(data, "thesis.txt"), "");
      await expect(dataDir.start()).rejects.toMatchObject({ code: "LEDGER_DATA_UNKNOWN" });
      expect(await readdir(data)).toEqual(["thesis.txt"]);
    }));

  test("a lost password file is named", async () => {
    const file = join(shared.dataDir.path, "postgres/password");
    await rename(file, `${file}.away`);
    await expect(shared.dataDir.start()).rejects.toMatchObject({ code: "LEDGER_PASSWORD_MISSING" });
    await rename(`${file}.away`, file);
  });

  test("the password of another database is refused", async () => {
    const file = join(shared.dataDir.path, "postgres/password");
    const password = await readFile(file, "utf8");
    await writeFile(file, "another");
    await expect(shared.dataDir.start()).rejects.toMatchObject({ code: "LEDGER_PASSWORD_REFUSED" });
    await writeFile(file, password);
  });
});
