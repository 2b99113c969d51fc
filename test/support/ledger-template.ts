import type pg from "pg";
import { pino } from "pino";
import { openQueues } from "../../src/jobs/queues.ts";
import { openPool } from "../../src/ledger/database.ts";
import type { EmbeddedConnection } from "../../src/ledger/embedded/embedded-postgres.ts";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { runOnServer } from "./with-database.ts";

/** The database that each test's ledger is a copy of: its tables and those of the queue are made once a run. */
export const LEDGER_TEMPLATE = "ledger_template";

/** What tells a fresh ledger from one that a test has used. */
export interface FreshLedger {
  /** Changes with every table, function, trigger, constraint or setting, and when tables were analyzed. */
  readonly shape: string;
  /** The rows of the tables that are not empty, as JSON, by `schema.table`. */
  readonly rows: Readonly<Record<string, string>>;
}

const silent = pino({ level: "silent" });

/** Makes the template on the run's server. */
export async function createLedgerTemplate(server: EmbeddedConnection): Promise<FreshLedger> {
  await runOnServer(server, `CREATE DATABASE ${LEDGER_TEMPLATE} TEMPLATE template0`);
  const connection = { ...server, database: LEDGER_TEMPLATE };
  const pool = openPool({ connection, schema: "cryobridge", max: 1, applicationName: "test" }, silent);
  const queue = openPool({ connection, schema: "bullmq", max: 4, applicationName: "test" }, silent);
  await migrateLedger(pool);
  const queues = await openQueues({ kind: "postgres", pool: queue }, [], silent);
  await queues.close(0);
  await queue.end();
  const { shape, used } = await lookAtLedger(pool);
  const rows: Record<string, string> = {};
  for (const table of used) rows[table] = await readRows(pool, table);
  await pool.end();
  return { shape, rows };
}

/** One row: the ledger's shape, the tables with content or traces of it, and the sequences that gave out a number. */
const LOOK = `
select concat_ws(
         ' ',
         (select concat_ws(' ', count(*), sum(oid::bigint), count(*) filter (where relkind = 'r' and reltuples >= 0))
            from pg_class
           where oid >= 16384 and relpersistence <> 't'),
         (select concat_ws(' ', count(*), sum(attrelid::bigint * attnum), max(xmin::text::bigint))
            from pg_attribute
           where attrelid >= 16384),
         (select concat_ws(' ', count(*), sum(oid::bigint), max(xmin::text::bigint)) from pg_attrdef where oid >= 16384),
         (select concat_ws(' ', count(*), sum(oid::bigint), max(xmin::text::bigint)) from pg_constraint where oid >= 16384),
         (select concat_ws(' ', count(*), sum(oid::bigint), max(xmin::text::bigint)) from pg_trigger where oid >= 16384),
         (select concat_ws(' ', count(*), sum(oid::bigint), max(xmin::text::bigint)) from pg_proc where oid >= 16384),
         (select count(*)
            from pg_db_role_setting
           where setdatabase = (select oid from pg_database where datname = current_database()))) as shape,
       t.used,
       t."largestBytes",
       (select coalesce(array_agg(seqrelid::regclass::text), '{}')
          from pg_sequence
         where pg_sequence_last_value(seqrelid) is not null) as drawn
  from (select coalesce(array_agg(oid::regclass::text) filter (where bytes > 0), '{}') as used,
               coalesce(max(bytes), 0)::integer as "largestBytes"
          from pg_class, pg_relation_size(oid) as bytes
         where relkind in ('r', 'p')
           and relnamespace in ('cryobridge'::regnamespace, 'bullmq'::regnamespace)) as t`;

interface Look {
  readonly shape: string;
  readonly used: readonly string[];
  readonly largestBytes: number;
  readonly drawn: readonly string[];
}

async function lookAtLedger(client: Pick<pg.ClientBase, "query">): Promise<Look> {
  await client.query("set search_path to pg_catalog");
  // Each session looks many times, and to plan it takes as long as to do it.
  const { rows } = await client.query<Look>({ name: "look", text: LOOK });
  const [look] = rows;
  if (!look) throw new Error("no answer about the ledger");
  return look;
}

async function readRows(client: Pick<pg.ClientBase, "query">, table: string): Promise<string> {
  const { rows } = await client.query<{ all: string }>(
    `select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as all from ${table} t`,
  );
  return rows[0]?.all ?? "[]";
}

/** Tables up to here are emptied row by row, which makes no new files; larger ones would keep too much dead space. */
const SMALL_BYTES = 128 * 1024;

/**
 * Makes a used ledger fresh again. False when something other than its rows was changed, so that it is of no more use.
 *
 * @param client the superuser's, since history refuses to be deleted
 */
export async function refreshLedger(client: pg.ClientBase, fresh: FreshLedger): Promise<boolean> {
  const { shape, used, largestBytes, drawn } = await lookAtLedger(client);
  if (shape !== fresh.shape) return false;
  const isSmall = largestBytes <= SMALL_BYTES;
  const empty = isSmall ? deleteRows : truncate;
  const changed: string[] = [];
  for (const [table, rows] of Object.entries(fresh.rows)) {
    if (!isSmall || (await readRows(client, table)) !== rows) changed.push(table);
  }
  const filled = used.filter((table) => !(table in fresh.rows) || changed.includes(table));
  await client.query(`begin; set local session_replication_role = replica; ${empty(filled)}`);
  for (const table of changed) {
    await client.query(
      `insert into ${table} overriding system value select * from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
      [fresh.rows[table]],
    );
  }
  await client.query(
    "select setval(seqrelid, seqstart, false) from pg_sequence where seqrelid = any($1::text[]::regclass[])",
    [drawn],
  );
  await client.query("commit");
  return true;
}

const truncate = (tables: readonly string[]) => `truncate ${tables.join(", ")} cascade`;
const deleteRows = (tables: readonly string[]) => tables.map((table) => `delete from ${table};`).join(" ");
