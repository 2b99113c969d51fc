import { readFile } from "node:fs/promises";
import type pg from "pg";
import { pino } from "pino";
import { type DatabaseConnection, openPool } from "../../../src/ledger/database.ts";
import { migrateLedger } from "../../../src/ledger/migrate.ts";
import { ServerSession } from "./server-session.ts";

const silent = pino({ level: "silent" });
const SCHEMAS = "cryobridge,sim,pg_catalog";
/** The time in which the tables are made. */
const MADE_AT = "set sim.now = '2026-03-01T00:00:00Z'";

/** Makes the ledger's tables in an empty database, and gives a session for histories. */
export async function makeTables(connection: DatabaseConnection): Promise<ServerSession> {
  const plain = openPool({ connection, schema: "cryobridge", max: 1, applicationName: "simulation" }, silent);
  await plain.query("create schema cryobridge");
  await plain.query(`set search_path to cryobridge, public`);
  const sql = await readFile(new URL("sessions.sql", import.meta.url), "utf8");
  const [before = "", after = ""] = sql.split(/(?=-- Marks come from the seed)/);
  await plain.query(before);
  await migrateLedger(withSearchPath(plain));
  await plain.query(after);
  await plain.query(MADE_AT);
  await plain.query("update ledger set instance_code = 'S1MS1M', mark_prefix = 'S1MS'");
  await plain.end();
  const pool = openPool({ connection, schema: SCHEMAS, max: 1, applicationName: "simulation" }, silent);
  const session = await ServerSession.open(pool.options);
  await pool.end();
  await session.script(
    "set idle_in_transaction_session_timeout = 0; set statement_timeout = 0; set lock_timeout = 0; set client_min_messages = error; set plan_cache_mode = force_generic_plan",
  );
  return session;
}

/** Lets the migrations see the simulation's functions, so that what they make, such as defaults, calls those. */
function withSearchPath(pool: pg.Pool): pg.Pool {
  return {
    connect: async () => {
      const client = await pool.connect();
      await client.query(MADE_AT);
      const query = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<unknown>;
      return {
        on: client.on.bind(client),
        off: client.off.bind(client),
        release: (how?: boolean) => client.release(how ?? true),
        query: (text: string, values?: unknown[]) =>
          query(
            text.startsWith("set local search_path") ? `set local search_path to ${SCHEMAS},public` : text,
            values,
          ),
      };
    },
  } as unknown as pg.Pool;
}
