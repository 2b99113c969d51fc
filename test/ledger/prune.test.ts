import pg from "pg";
import { expect, test } from "vitest";
import { FORGET_SUBJECTS, forgetOld } from "../../src/ledger/prune.ts";
import { fillLedger } from "../bench/fill-ledger.ts";
import { withLedger } from "../support/with-ledger.ts";

const ENDED = 10_000;
const BATCH = 1_000;
const RETENTION = { messagesMs: 3_650 * 86_400_000, ordersMs: 1 };

test("what was pruned of orders is not read again each time", () =>
  withLedger(async ({ pool, connection }) => {
    const superuser = new pg.Client({ ...connection, user: "postgres" });
    await superuser.connect();
    await fillLedger(superuser, { ended: ENDED, open: 10 });
    await superuser.query("update cryobridge.orders set subject = '{}' where id > $1", [BATCH]);
    await superuser.query("vacuum (analyze) cryobridge.orders");
    expect((await forgetOld(pool, RETENTION, BATCH)).orders).toBe(BATCH);
    await superuser.query("vacuum (analyze) cryobridge.orders");
    await superuser.end();
    const { rows } = await pool.query(`explain (analyze, buffers, format json) ${FORGET_SUBJECTS}`, [
      1,
      BATCH,
    ]);
    const { Plan: plan } = rows[0]["QUERY PLAN"][0];
    expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(20);
  }));
