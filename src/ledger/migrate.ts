import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";
import { encodeCrockford } from "../core/crockford.ts";
import { Failure } from "../core/failures.ts";
import { inTransaction } from "./database.ts";

const FOLDER = new URL("./migrations/", import.meta.url);
/** Serialises processes that start at the same time; any number of our own. */
const MIGRATION_LOCK = 7_264_001;

/**
 * Brings the ledger's schema to this release's state, in one transaction; several processes may call it at once.
 *
 * @throws Failure LEDGER_NEWER when a newer release has already changed the schema.
 */
export async function migrateLedger(pool: pg.Pool, schema = "cryobridge"): Promise<{ applied: string[] }> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith(".sql")).sort();
  return inTransaction(pool, async (client) => {
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await client.query(`create schema if not exists "${schema}"`);
    await client.query(`set local search_path to "${schema}", public`);
    await client.query(
      "create table if not exists migrations (name text primary key, sha256 text not null, applied_at timestamptz not null default now())",
    );
    const { rows } = await client.query<{ name: string }>("select name from migrations order by name");
    const done = new Set(rows.map((row) => row.name));
    const unknown = [...done].filter((name) => !names.includes(name));
    if (unknown.length > 0) {
      throw new Failure(
        "LEDGER_NEWER",
        `the ledger has migrations that this release doesn't know: ${unknown.join(", ")}`,
      );
    }
    const applied = names.filter((name) => !done.has(name));
    for (const name of applied) {
      const sql = await readFile(new URL(name, FOLDER), "utf8");
      await client.query(sql);
      await client.query("insert into migrations (name, sha256) values ($1, $2)", [
        name,
        createHash("sha256").update(sql).digest("hex"),
      ]);
    }
    await client.query("insert into ledger (instance_code, secret) values ($1, $2) on conflict do nothing", [
      encodeCrockford(randomBytes(4)).slice(0, 6),
      randomBytes(32),
    ]);
    return { applied };
  });
}
