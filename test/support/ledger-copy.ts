import type pg from "pg";

/** All that a ledger held at one moment, as a backup of its database has it. */
export interface LedgerCopy {
  readonly tables: ReadonlyMap<string, string>;
  readonly sequences: ReadonlyMap<string, number | null>;
}

const TABLES = "select tablename as name from pg_tables where schemaname = 'cryobridge' order by 1";
const SEQUENCES =
  "select sequencename as name, last_value::text as last from pg_sequences where schemaname = 'cryobridge'";
const COLUMNS = `
select string_agg(quote_ident(attname), ', ' order by attnum) as names
  from pg_attribute
 where attrelid = format('cryobridge.%I', $1::text)::regclass
   and attnum > 0
   and not attisdropped
   and attgenerated = ''`;

/** Tables refer to each other; what does is taken away while rows are put back. */
const REFERENCES = `
select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
  from pg_constraint
 where contype = 'f'
   and connamespace = 'cryobridge'::regnamespace`;

/** Copies a ledger as it is at this moment, whoever works on it meanwhile. */
export async function copyLedger(pool: pg.Pool): Promise<LedgerCopy> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    const tables = new Map<string, string>();
    for (const { name } of (await client.query<{ name: string }>(TABLES)).rows) {
      const { rows } = await client.query<{ all: string }>(
        `select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as all from cryobridge."${name}" t`,
      );
      tables.set(name, rows[0]?.all ?? "[]");
    }
    const sequences = await client.query<{ name: string; last: string | null }>(SEQUENCES);
    await client.query("commit");
    return {
      tables,
      sequences: new Map(sequences.rows.map(({ name, last }) => [name, last === null ? null : Number(last)])),
    };
  } finally {
    client.release();
  }
}

/** SQLSTATE of a transaction that was ended since each waited for the other's lock. */
const DEADLOCK = "40P01";

/** Puts a ledger back to what it was then. Who works on it meanwhile may get in its way; then it is done again. */
export async function restoreLedger(pool: pg.Pool, copy: LedgerCopy): Promise<void> {
  for (;;) {
    try {
      return await restoreOnce(pool, copy);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === DEADLOCK)) throw error;
    }
  }
}

async function restoreOnce(pool: pg.Pool, copy: LedgerCopy): Promise<void> {
  const client = await pool.connect();
  let isWhole = false;
  try {
    await client.query("begin");
    const references = await client.query<{ table: string; name: string; definition: string }>(REFERENCES);
    for (const { table, name } of references.rows) {
      await client.query(`alter table ${table} drop constraint ${name}`);
    }
    const names = [...copy.tables.keys()].map((name) => `cryobridge."${name}"`);
    for (const name of names) await client.query(`alter table ${name} disable trigger user`);
    await client.query(`truncate ${names.join(", ")}`);
    for (const [name, rows] of copy.tables) {
      const { rows: found } = await client.query<{ names: string }>(COLUMNS, [name]);
      const columns = found[0]?.names ?? "";
      await client.query(
        `insert into cryobridge."${name}" (${columns})
         overriding system value
         select ${columns} from jsonb_populate_recordset(null::cryobridge."${name}", $1::jsonb)`,
        [rows],
      );
    }
    for (const [name, last] of copy.sequences) {
      await client.query("select setval(format('cryobridge.%I', $1::text)::regclass, $2, $3)", [
        name,
        last ?? 1,
        last !== null,
      ]);
    }
    for (const name of names) await client.query(`alter table ${name} enable trigger user`);
    for (const { table, name, definition } of references.rows) {
      await client.query(`alter table ${table} add constraint ${name} ${definition}`);
    }
    await client.query("commit");
    isWhole = true;
  } finally {
    client.release(!isWhole);
  }
}
