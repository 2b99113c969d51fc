import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";
import { encodeCrockford } from "../core/crockford.ts";
import { Failure } from "../core/failures.ts";
import { inTransaction, run } from "./database.ts";

const SCHEMA = "cryobridge";
const FOLDER = new URL("./migrations/", import.meta.url);
/** Serialises processes that start at the same time; any number of our own. */
const MIGRATION_LOCK = 7_264_001;
/** The oldest PostgreSQL that every statement of the ledger and the queue runs on. */
const OLDEST_POSTGRES = 13;
const FITNESS = `
select current_setting('server_version') as version,
       current_setting('server_version_num')::integer as number,
       current_setting('server_encoding') as encoding`;

/**
 * Brings the ledger's schema to this release's state, in one transaction; several processes may call it at once.
 *
 * @throws Failure LEDGER_NEWER when a newer release has already changed the schema; LEDGER_OLDER when the schema was made by
 *   a build from before the first release; LEDGER_SERVER_UNFIT when the server is too old or the database not in UTF-8.
 */
export async function migrateLedger(pool: pg.Pool): Promise<void> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith(".sql")).sort();
  return inTransaction(pool, async (client) => {
    await assertFit(client);
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await client.query(`create schema if not exists "${SCHEMA}"`);
    await client.query(`set local search_path to "${SCHEMA}", public`);
    await client.query(
      "create table if not exists migrations (name text primary key, sha256 text not null, applied_at timestamptz not null default now())",
    );
    const { rows } = await client.query<{ name: string; sha256: string }>(
      "select name, sha256 from migrations order by name",
    );
    const done = new Map(rows.map((row) => [row.name, row.sha256]));
    const unknown = [...done.keys()].filter((name) => !names.includes(name));
    if (unknown.length > 0) {
      throw new Failure(
        "LEDGER_NEWER",
        `the ledger has migrations that this release doesn't know: ${unknown.join(", ")}`,
      );
    }
    for (const name of names) {
      const sql = await readFile(new URL(name, FOLDER), "utf8");
      const sha256 = createHash("sha256").update(sql).digest("hex");
      if (done.has(name)) {
        if (done.get(name) !== sha256)
          throw new Failure("LEDGER_OLDER", `the ledger was made with another ${name} than this release has`);
        continue;
      }
      await client.query(sql);
      await client.query("insert into migrations (name, sha256) values ($1, $2)", [name, sha256]);
    }
    await client.query("insert into ledger (instance_code) values ($1) on conflict do nothing", [
      encodeCrockford(randomBytes(4)).slice(0, 6),
    ]);
  });
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
