import { Client } from "pg";
import { pino } from "pino";
import { openPool } from "../../src/ledger/database.ts";
import type { EmbeddedConnection } from "../../src/ledger/embedded/embedded-postgres.ts";
import { migrateLedger } from "../../src/ledger/migrate.ts";

/** The database that each test's ledger is a copy of: migrated once a run instead of once a test. */
export const LEDGER_TEMPLATE = "ledger_template";

/** Makes the template on the run's server. */
export async function createLedgerTemplate(server: EmbeddedConnection): Promise<void> {
  const client = new Client(server);
  await client.connect();
  await client.query(`CREATE DATABASE ${LEDGER_TEMPLATE} TEMPLATE template0`);
  await client.end();
  const connection = { ...server, database: LEDGER_TEMPLATE };
  const pool = openPool(
    { connection, schema: "cryobridge", max: 1, applicationName: "test" },
    pino({ level: "silent" }),
  );
  await migrateLedger(pool);
  await pool.end();
}
