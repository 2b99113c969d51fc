import { expect, test } from "vitest";
import { openPool } from "../../src/ledger/database.ts";
import { withDatabase } from "../support/with-database.ts";
import { silent } from "../support/with-ledger.ts";

test("the ledger has none of its statements compiled, also by a server that does so", () =>
  withDatabase(async ({ pool: admin, connection }) => {
    await admin.query(`alter database ${connection.database} set jit = on`);
    const pool = openPool({ connection, schema: "cryobridge", max: 1, applicationName: "test" }, silent);
    try {
      expect((await pool.query("select current_setting('jit') as jit")).rows).toEqual([{ jit: "off" }]);
    } finally {
      await pool.end();
    }
  }));

test("a statement is waited for some two minutes, or by a pool whose statements may take long, as long as it takes", () =>
  withDatabase(async ({ connection }) => {
    const settings = { connection, schema: "cryobridge", max: 1, applicationName: "test" };
    const pools = [false, true].map((mayTakeLong) => openPool({ ...settings, mayTakeLong }, silent));
    expect(pools.map(({ options }) => options.query_timeout)).toEqual([130_000, undefined]);
    for (const pool of pools) await pool.end();
  }));
