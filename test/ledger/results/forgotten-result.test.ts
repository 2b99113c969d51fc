import type pg from "pg";
import { expect, test } from "vitest";
import { listDueDeliveries, recordDelivered } from "../../../src/ledger/results/deliveries.ts";
import { withLedger } from "../../support/with-ledger.ts";

const makeResult = async (pool: pg.Pool) => {
  await pool.query("insert into deliveries (id, connector, file_name, bytes) values (1, 'lims', 'a', 'x')");
  return listDueDeliveries(pool, "lims", 1);
};

test("that the lab got a result which the ledger forgot, put back to an older copy, is not said of the one that came since under its id", () =>
  withLedger(async ({ pool }) => {
    const forgotten = await makeResult(pool);
    await pool.query("delete from deliveries");
    const own = await makeResult(pool);
    await recordDelivered(pool, forgotten, { areFiles: false });
    expect(await listDueDeliveries(pool, "lims", 1)).toEqual(own);
    await recordDelivered(pool, own, { areFiles: false });
    expect(await listDueDeliveries(pool, "lims", 1)).toEqual([]);
  }));
