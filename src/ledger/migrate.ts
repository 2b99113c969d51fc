import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";
import { encodeCrockford } from "../core/crockford.ts";
import { Failure } from "../core/failures.ts";
import { inTransaction, type Queryable, run } from "./database.ts";
import { MIGRATION_LOCK } from "./locks.ts";
import { IS_AT_WORK } from "./workers/alive.ts";

const SCHEMA = "cryobridge";
const FOLDER = new URL("./migrations/", import.meta.url);
/** The oldest PostgreSQL that every statement of the ledger and the queue runs on. */
const OLDEST_POSTGRES = 13;
const FITNESS = `
select current_setting('server_version') as version,
       current_setting('server_version_num')::integer as number,
       current_setting('server_encoding') as encoding`;

/**
 * Begins a migration that only adds what an older release neither needs nor minds: columns with a default, tables, indexes.
 * Daemons of the older release work on beside the newer one until they are replaced.
 */
const ADDITIVE = /^-- additive\b/;

interface Applied {
  readonly name: string;
  readonly sha256: string;
  readonly is_additive: boolean;
}

/**
 * Brings the ledger's schema to this release's state, in one transaction; several processes may call it at once. A newer
 * release may have added to it.
 *
 * @param folder of the migrations
 * @param only names of migrations, for tables as an older release had them; all unless given
 * @throws Failure LEDGER_NEWER when a newer release has changed the schema so that this one can't work with it; LEDGER_OLDER when
 *   the schema was made by a build from before the first release; LEDGER_OLDER_AT_WORK when daemons work with the ledger that
 *   could not go on after the change; LEDGER_SERVER_UNFIT when the server is too old or the database not in UTF-8.
 */
export async function migrateLedger(
  pool: pg.Pool,
  folder: URL = FOLDER,
  only?: ReadonlySet<string>,
): Promise<void> {
  const names = (await readdir(folder))
    .filter((name) => name.endsWith(".sql") && only?.has(name) !== false)
    .sort();
  return inTransaction(pool, async (client) => {
    await assertFit(client);
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await client.query(`create schema if not exists "${SCHEMA}"`);
    await client.query(`set local search_path to "${SCHEMA}", public`);
    await client.query(
      "create table if not exists migrations (name text primary key, sha256 text not null, is_additive boolean not null, applied_at timestamptz not null default now())",
    );
    const { rows } = await client.query<Applied>(
      "select name, sha256, is_additive from migrations order by name",
    );
    const done = new Map(rows.map((row) => [row.name, row.sha256]));
    const unknown = rows.flatMap(({ name, is_additive }) =>
      is_additive || names.includes(name) ? [] : [name],
    );
    if (unknown.length > 0) {
      throw new Failure(
        "LEDGER_NEWER",
        `the ledger has migrations that this release doesn't know: ${unknown.join(", ")}${await lastUser(client)}`,
      );
    }
    for (const name of names) {
      const sql = await readFile(new URL(name, folder), "utf8");
      const sha256 = createHash("sha256").update(sql).digest("hex");
      if (done.has(name)) {
        if (done.get(name) !== sha256)
          throw new Failure("LEDGER_OLDER", `the ledger was made with another ${name} than this release has`);
        continue;
      }
      const isAdditive = ADDITIVE.test(sql);
      if (!isAdditive && done.size > 0) await assertNobodyAtWork(client, name);
      await client.query(sql);
      await client.query("insert into migrations (name, sha256, is_additive) values ($1, $2, $3)", [
        name,
        sha256,
        isAdditive,
      ]);
    }
    await client.query("insert into ledger (instance_code) values ($1) on conflict do nothing", [
      encodeCrockford(randomBytes(4)).slice(0, 6),
    ]);
  });
}

/** Which release worked with the ledger last, in words; none where a newer one keeps that otherwise. */
async function lastUser(client: Queryable): Promise<string> {
  const asked = run<{ version: string }>(
    client,
    "select version from workers order by heartbeat_at desc limit 1",
  );
  const [last] = await asked.catch(() => []);
  return last === undefined ? "" : `; release ${last.version} worked with it last`;
}

/** Daemons that live, or did a few seconds ago; by what the tables of every release have. */
const AT_WORK = `select w.name, w.version from workers w where ${IS_AT_WORK}`;

/** The daemons that work with the ledger, in words. */
export async function listAtWork(client: Queryable): Promise<string[]> {
  const rows = await run<{ name: string; version: string }>(client, AT_WORK);
  return rows.map(({ name, version }) => `${name} (${version})`);
}

async function assertNobodyAtWork(client: pg.PoolClient, migration: string): Promise<void> {
  const working = await listAtWork(client);
  if (working.length === 0) return;
  throw new Failure(
    "LEDGER_OLDER_AT_WORK",
    `${working.join(", ")} could not work with the ledger once ${migration} has changed it`,
  );
}

/** Names, and the words that the job queue brings along, fit into no other encoding; and a missing function has no good words. */
async function assertFit(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ version: string; number: number; encoding: string }>(FITNESS);
  const [found] = rows;
  if (!found) return;
  if (found.number < OLDEST_POSTGRES * 10_000)
    throw new Failure(
      "LEDGER_SERVER_UNFIT",
      `PostgreSQL ${found.version} is too old; expected ${OLDEST_POSTGRES} or newer`,
    );
  if (found.encoding !== "UTF8")
    throw new Failure("LEDGER_SERVER_UNFIT", `the database's encoding is ${found.encoding}; expected UTF8`);
}

/** Six characters that distinguish this ledger from every other. */
export async function findInstanceCode(pool: pg.Pool): Promise<string> {
  const [row] = await run<{ instance_code: string }>(pool, "select instance_code from ledger");
  if (!row) throw new RangeError("the ledger has no identity; its migrations did not run");
  return row.instance_code;
}
