import { expect, test } from "vitest";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { withDatabase } from "../support/with-database.ts";

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
    await pool.query("insert into cryobridge.migrations (name, sha256) values ('0002_more.sql', '')");
    await expect(migrateLedger(pool)).rejects.toMatchObject({
      code: "LEDGER_NEWER",
      message: expect.stringContaining("0002_more.sql"),
    });
  }));

test("refuses a ledger whose tables were made by other statements", () =>
  withDatabase(async ({ pool }) => {
    await migrateLedger(pool);
    await pool.query("update cryobridge.migrations set sha256 = 'other'");
    await expect(migrateLedger(pool)).rejects.toMatchObject({ code: "LEDGER_OLDER" });
  }));
