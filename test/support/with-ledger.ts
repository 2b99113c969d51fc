import type pg from "pg";
import { pino } from "pino";
import { type DatabaseConnection, openPool } from "../../src/ledger/database.ts";
import { LEDGER_TEMPLATE } from "./ledger-template.ts";
import { withDatabase } from "./with-database.ts";

export const silent = pino({ level: "silent" });

/** A migrated ledger of its own. */
export interface TestLedger {
  readonly pool: pg.Pool;
  readonly connection: DatabaseConnection;
  readonly url: string;
}

/** Gives a test a fresh ledger and takes it away afterwards. */
export async function withLedger<T>(test: (ledger: TestLedger) => Promise<T>): Promise<T> {
  return withDatabase(async ({ connection, url }) => {
    const pool = openPool({ connection, schema: "cryobridge", max: 8, applicationName: "test" }, silent);
    try {
      return await test({ pool, connection, url });
    } finally {
      await pool.end();
    }
  }, LEDGER_TEMPLATE);
}
