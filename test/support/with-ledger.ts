import pg from "pg";
import { pino } from "pino";
import { inject } from "vitest";
import { type DatabaseConnection, openPool } from "../../src/ledger/database.ts";
import type { EmbeddedConnection } from "../../src/ledger/embedded/embedded-postgres.ts";
import { LEDGER_TEMPLATE, refreshLedger } from "./ledger-template.ts";
import { dropDatabase, encodeUrl, newName } from "./with-database.ts";

export const silent = pino({ level: "silent" });

/** A ledger of its own, with the queue's tables beside it. */
export interface TestLedger {
  readonly pool: pg.Pool;
  readonly connection: DatabaseConnection;
  readonly url: string;
}

/** A database with the connections that tests of this process have to it. */
interface OpenLedger {
  readonly database: string;
  readonly connection: EmbeddedConnection;
  readonly pool: pg.Pool;
  /** What the pool is like before a test had it. */
  readonly marks: string;
  /** The superuser's connection, by which the ledger is made fresh. */
  readonly owner: pg.Client;
}

/** Ledgers that a test of this process has used and left as they were: their sessions know the tables already. */
const left: OpenLedger[] = [];

/**
 * Gives a test a fresh ledger and takes it away afterwards, whoever is still connected.
 *
 * To make and to drop a database costs hundreds of files, and a session that knows no table yet costs more than most tests do with it. So
 * a used one is emptied and handed on: with its connections where nobody else had any, else under another name, so that what an earlier
 * test left running doesn't find it again.
 */
export async function withLedger<T>(test: (ledger: TestLedger) => Promise<T>): Promise<T> {
  const ledger = left.pop() ?? (await openLedger());
  const { connection, pool } = ledger;
  try {
    return await test({ pool, connection, url: encodeUrl(connection) });
  } finally {
    if (await isLeftAsItWas(ledger)) left.push(ledger);
    else await giveUp(ledger);
  }
}

async function openLedger(): Promise<OpenLedger> {
  const database = await takeDatabase();
  const connection = { ...inject("postgres"), database };
  const pool = openPool({ connection, schema: "cryobridge", max: 8, applicationName: "test" }, silent);
  const owner = new pg.Client({ ...connection, user: SUPERUSER });
  owner.on("error", () => undefined);
  await owner.connect();
  return { database, connection, pool, marks: marksOf(pool), owner };
}

/** What a test may change of a pool that is handed on. */
function marksOf(pool: pg.Pool): string {
  const own = Object.entries(Object.getOwnPropertyDescriptors(pool)).map(([name, { value }]) => [
    name,
    typeof value,
  ]);
  const heard = pool.eventNames().map((name) => [String(name), pool.listenerCount(name)]);
  return JSON.stringify([own.sort(), heard, pool.options.max]);
}

/** How many sessions others than the superuser have in this database, and whether each of them waits for nothing but its next statement. */
const SESSIONS = `
select count(*)::integer as sessions, coalesce(bool_and(state = 'idle'), true) as "areIdle"
  from pg_stat_activity
 where datid = (select oid from pg_database where datname = current_database())
   and pid <> pg_backend_pid()
   and backend_type = 'client backend'`;

/** Whether nobody but the pool had to do with it any more, and it is as fresh as before. */
async function isLeftAsItWas({ pool, marks, owner }: OpenLedger): Promise<boolean> {
  try {
    if (pool.ended || pool.waitingCount > 0 || pool.idleCount !== pool.totalCount) return false;
    if (marksOf(pool) !== marks) return false;
    const { rows } = await owner.query<{ sessions: number; areIdle: boolean }>(SESSIONS);
    if (rows[0]?.sessions !== pool.totalCount || !rows[0].areIdle) return false;
    // Whatever a test set in a session, or locked there.
    const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
    for (const client of clients) {
      await client.query("reset all; unlisten *; discard temp; select pg_advisory_unlock_all()");
      client.release();
    }
    return await refreshLedger(owner, inject("freshLedger"));
  } catch {
    return false;
  }
}

async function giveUp({ pool, owner, database }: OpenLedger): Promise<void> {
  await owner.end();
  if (!pool.ended) await pool.end();
  await giveBack(database);
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
