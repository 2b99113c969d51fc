import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";

const FOLDER = new URL("../../src/ledger/migrations/", import.meta.url);

/** Makes an empty database the ledger of an earlier release: with the migrations whose names come before this one. */
export async function makeEarlierLedger(pool: pg.Pool, before: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("create schema cryobridge");
    await client.query("set search_path to cryobridge");
    await client.query(
      "create table migrations (name text primary key, sha256 text not null, applied_at timestamptz not null default now())",
    );
    for (const name of (await readdir(FOLDER)).filter((each) => each < before).sort()) {
      await client.query(await readFile(new URL(name, FOLDER), "utf8"));
      await client.query("insert into migrations (name, sha256) values ($1, '')", [name]);
    }
  } finally {
    client.release(true);
  }
}
