import { rm } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { describe, expect, it } from "vitest";
import { backupLedger } from "../../../src/ledger/backup/backup.ts";
import { restoreBackup } from "../../../src/ledger/backup/restore.ts";
import { findLedgerEpoch } from "../../../src/ledger/restored/epoch.ts";
import { writeEpochFile } from "../../../src/ledger/restored/epoch-file.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withFolder } from "../../support/with-folder.ts";
import { withLedger } from "../../support/with-ledger.ts";

/** Gives a test a ledger with an order, the backup of it, and what restores that. */
const withBackup = (
  test: (pool: pg.Pool, restore: () => Promise<unknown>, epochFile: string) => Promise<void>,
) =>
  withLedger(({ pool }) =>
    withFolder(async (folder) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const file = join(folder, "backup.gz");
      await backupLedger(pool, file, { madeAt: new Date("2026-11-21T10:00:00Z") });
      const epochFile = join(folder, "data.epoch");
      const restore = async () => {
        await rm(epochFile, { force: true });
        return restoreBackup(pool, file, { isReplacing: true, epochFile, act: { actor: "ada" } });
      };
      await test(pool, restore, epochFile);
    }),
  );

describe("a restore in the place of a ledger", () => {
  it("gives no number again that the ledger has given, also without an epoch file", () =>
    withBackup(async (pool, restore) => {
      await pool.query("update ledger set epoch = 50, restores = 2; select setval('orders_id_seq', 9000000)");
      await restore();
      expect(await findLedgerEpoch(pool)).toMatchObject({ restores: 3, epoch: 51 });
      const { rows } = await pool.query("select nextval('orders_id_seq') as next");
      expect(rows).toEqual([{ next: 12_000_001 }]);
    }));

  it("gives none again that the file of any daemon of the machine knows", () =>
    withBackup(async (pool, restore, epochFile) => {
      const now = await findLedgerEpoch(pool);
      await writeEpochFile(`${epochFile}.intake`, { ...now, epoch: 60 }, { isFirst: true });
      await writeEpochFile(`${epochFile}.console`, { ...now, restores: 4 }, { isFirst: true });
      await restore();
      expect(await findLedgerEpoch(pool)).toMatchObject({ restores: 5, epoch: 61 });
    }));

  it("lets the planner read and join whole tables, and takes as long as it needs", () =>
    withBackup(async (pool, restore) => {
      const names = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "statement_timeout"];
      await pool.query(`
        create function name_settings() returns trigger language plpgsql as $$
          begin raise '${names.map(() => "%").join(" ")}', ${names.map((name) => `current_setting('${name}')`).join(", ")}; end $$;
        create trigger name_settings before insert on audit
           for each row when (new.action = 'restore-noticed') execute function name_settings()`);
      await expect(restore()).rejects.toThrow("on on on 0");
    }));

  it("counts on from its own restores where the ledger was another one", () =>
    withBackup(async (pool, restore) => {
      await pool.query("update ledger set epoch = 50, restores = 2, instance_code = 'ZZZZZZ'");
      await restore();
      expect(await findLedgerEpoch(pool)).toMatchObject({ restores: 1, epoch: 1 });
    }));
});
