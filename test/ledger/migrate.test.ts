import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { withDatabase } from "../support/with-database.ts";
import { withFolder } from "../support/with-folder.ts";

const WORKER =
  "insert into cryobridge.workers (name, host, pid, version, roles, connectors) values ('lab-1', 'm1', 1, '1.0.0', '{worker}', '{}')";

test("makes the ledger once, also when several processes start at the same time", () =>
  withDatabase(async ({ pool }) => {
    await Promise.all([migrateLedger(pool), migrateLedger(pool), migrateLedger(pool)]);
    const { rows } = await pool.query("select name from cryobridge.migrations");
    expect(rows).toEqual([{ name: "0001_initial.sql" }]);
    const ledgers = await pool.query("select instance_code from cryobridge.ledger");
    expect(ledgers.rows).toHaveLength(1);
  }));

test("refuses a ledger that a newer release has changed, and names what it doesn't know", () =>
  withDatabase(async ({ pool }) => {
    await migrateLedger(pool);
    await pool.query(
      "insert into cryobridge.migrations (name, sha256, is_additive) values ('0002_more.sql', '', false)",
    );
    await expect(migrateLedger(pool)).rejects.toMatchObject({
      code: "LEDGER_NEWER",
      message: expect.stringContaining("0002_more.sql"),
    });
  }));

/** A newer release: this one's migrations and one more. */
async function withNewerRelease(more: string, work: (folder: URL) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const first = new URL("../../src/ledger/migrations/0001_initial.sql", import.meta.url);
    await copyFile(first, join(folder, "0001_initial.sql"));
    await writeFile(join(folder, "0002_more.sql"), more);
    await work(pathToFileURL(`${folder}/`));
  });
}

test("lets an older release work on beside a newer one that only added to the tables", () =>
  withNewerRelease("-- additive: a column\nalter table orders add column extra text;", (folder) =>
    withDatabase(async ({ pool }) => {
      await migrateLedger(pool);
      await pool.query(WORKER);
      await migrateLedger(pool, folder);
      await migrateLedger(pool);
      const { rows } = await pool.query("select name from cryobridge.migrations order by name");
      expect(rows).toEqual([{ name: "0001_initial.sql" }, { name: "0002_more.sql" }]);
    }),
  ));

test("makes the tables of an older release where only its migrations are named, and those of this one later", () =>
  withNewerRelease("alter table orders add column extra text;", (folder) =>
    withDatabase(async ({ pool }) => {
      const columns = async () =>
        (await pool.query("select from information_schema.columns where column_name = 'extra'")).rowCount;
      await migrateLedger(pool, folder, new Set(["0001_initial.sql"]));
      expect(await columns()).toBe(0);
      await migrateLedger(pool, folder);
      expect(await columns()).toBe(1);
    }),
  ));

test("doesn't change tables under daemons of an older release that could not go on, and names them", () =>
  withNewerRelease("alter table orders rename column sources to origins;", (folder) =>
    withDatabase(async ({ pool }) => {
      await migrateLedger(pool);
      await pool.query(WORKER);
      await expect(migrateLedger(pool, folder)).rejects.toMatchObject({
        code: "LEDGER_OLDER_AT_WORK",
        message: "lab-1 (1.0.0) could not work with the ledger once 0002_more.sql has changed it",
      });
      await pool.query("update cryobridge.workers set ended_at = now(), ended_as = 'stopped'");
      await migrateLedger(pool, folder);
      await expect(migrateLedger(pool)).rejects.toMatchObject({
        code: "LEDGER_NEWER",
        message: expect.stringContaining("0002_more.sql; release 1.0.0 worked with it last"),
      });
    }),
  ));

test("refuses a ledger whose tables were made by other statements", () =>
  withDatabase(async ({ pool }) => {
    await migrateLedger(pool);
    await pool.query("update cryobridge.migrations set sha256 = 'other'");
    await expect(migrateLedger(pool)).rejects.toMatchObject({ code: "LEDGER_OLDER" });
  }));
