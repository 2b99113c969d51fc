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
