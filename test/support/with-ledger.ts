import pg from "pg";
import { pino } from "pino";
import { inject } from "vitest";
import { type DatabaseConnection, openPool } from "../../src/ledger/database.ts";
import { LEDGER_TEMPLATE, refreshLedger } from "./ledger-template.ts";
import { dropDatabase, encodeUrl, newName } from "./with-database.ts";

export const silent = pino({ level: "silent" });

/** A ledger of its own, with the queue's tables beside it. */
export interface TestLedger {
  readonly pool: pg.Pool;
  readonly connection: DatabaseConnection;
  readonly url: string;
}

/**
 * Gives a test a fresh ledger and takes it away afterwards, whoever is still connected.
 *
 * To make and to drop a database costs hundreds of files, so a used one is emptied and handed on under another name: what
 * an earlier test left running doesn't find it again.
 */
export async function withLedger<T>(test: (ledger: TestLedger) => Promise<T>): Promise<T> {
  const database = await takeDatabase();
  const connection = { ...inject("postgres"), database };
  const pool = openPool({ connection, schema: "cryobridge", max: 8, applicationName: "test" }, silent);
  try {
    return await test({ pool, connection, url: encodeUrl(connection) });
  } finally {
    await pool.end();
    await giveBack(database);
  }
}

const SUPERUSER = "postgres";
const FREE = "free_";
/** How long a session of the test may take to end, ms; then its database is dropped. */
const END_WITHIN_MS = 5_000;
let admin: pg.Pool | undefined;

/** Runs a statement on the connection by which this file's databases are made and renamed. */
async function onServer<Row extends pg.QueryResultRow>(
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  admin ??= new pg.Pool({ ...inject("postgres"), max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true });
  return (await admin.query<Row>(sql, [...values])).rows;
}

async function takeDatabase(): Promise<string> {
  const name = newName();
  const free = await onServer<{ datname: string }>(
    "select datname from pg_database where starts_with(datname, $1) order by random()",
    [FREE],
  );
  for (const { datname } of free) {
    // Another test may have been quicker.
    const isOurs = await onServer(`alter database ${datname} rename to ${name}`).catch(() => undefined);
    if (isOurs) return name;
  }
  await onServer(`create database ${name} template ${LEDGER_TEMPLATE}`);
  return name;
}

async function giveBack(name: string): Promise<void> {
  const server = inject("postgres");
  if (await refresh({ ...server, database: name, user: SUPERUSER })) {
    await onServer(`alter database ${name} rename to ${newName().replace(/^test_/, FREE)}`);
  } else await dropDatabase(server, name);
}

/** Ends all other sessions of a database and makes its ledger fresh; false where it had better be dropped. */
async function refresh(connection: pg.ClientConfig): Promise<boolean> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query<{ ended: boolean }>(
      `select pg_terminate_backend(pid, $1) as ended
         from pg_stat_get_activity(null)
        where datid = (select oid from pg_database where datname = current_database())
          and pid <> pg_backend_pid()
          and backend_type = 'client backend'`,
      [END_WITHIN_MS],
    );
    return rows.every(({ ended }) => ended) && (await refreshLedger(client, inject("freshLedger")));
  } catch {
    return false;
  } finally {
    await client.end();
  }
}
