import type pg from "pg";
import { VERSION } from "../../core/version.ts";
import { inTransaction } from "../database.ts";
import { type BackupContent, type BackupHead, type BackupPart, writeBackup } from "./file.ts";

/** Tables that say how things stand right now, and those of the schema itself; each start makes them anew. */
export const NOT_KEPT = ["migrations", "workers", "leader", "service_pause"];

/** The tables that are kept, each with its columns; $1 names of the others. What the database computes is no column of theirs. */
const TABLES = `
select c.relname as table, array_agg(a.attname::text order by a.attnum) as columns
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
 where c.relnamespace = 'cryobridge'::regnamespace
   and c.relkind = 'r'
   and c.relname <> all ($1)
 group by c.relname
 order by c.relname`;

const HEAD = `
select l.instance_code as ledger,
       (select json_object_agg(m.name, m.sha256) from migrations m) as migrations,
       (select json_object_agg(s.sequencename, s.last_value) from pg_sequences s where s.schemaname = 'cryobridge') as sequences
  from ledger l`;

/** The database fetches as many rows at a time as have about this many characters. */
const FETCH_CHARACTERS = 1_000_000;
const MOST_ROWS = 2_000;

/**
 * Writes all that the ledger holds at one moment into a file, whoever works with it meanwhile; nothing of it is kept in memory.
 *
 * @throws Failure CLI_BACKUP_UNWRITABLE, LEDGER_UNAVAILABLE
 */
export function backupLedger(pool: pg.Pool, file: string, madeAt: Date): Promise<BackupContent> {
  return inTransaction(pool, async (client) => {
    await client.query("set transaction isolation level repeatable read, read only");
    // The disk that is written to may be slower than the database.
    await client.query("set local idle_in_transaction_session_timeout = 0");
    const { rows: tables } = await client.query<{ table: string; columns: string[] }>(TABLES, [NOT_KEPT]);
    const { rows } = await client.query<Pick<BackupHead, "ledger" | "migrations" | "sequences">>(HEAD);
    const [found] = rows;
    if (!found) throw new RangeError("the ledger has no identity; its migrations did not run");
    const head: BackupHead = {
      ...{ cryobridge: "backup", format: 1, version: VERSION, madeAt: madeAt.toISOString() },
      ...found,
    };
    return { head, ...(await writeBackup(file, head, readTables(client, tables))) };
  });
}

async function* readTables(
  client: pg.PoolClient,
  tables: readonly { readonly table: string; readonly columns: string[] }[],
): AsyncGenerator<BackupPart> {
  for (const table of tables) {
    yield { kind: "table", table };
    await client.query(
      `declare backup no scroll cursor for
       select row_to_json(x)::text as json from (select ${named(table.columns)} from cryobridge.${quoted(table.table)}) x`,
    );
    for (let count = 10; ; ) {
      const { rows } = await client.query<{ json: string }>(`fetch ${count} from backup`);
      let characters = 1;
      for (const { json } of rows) {
        characters += json.length;
        yield { kind: "row", json };
      }
      if (rows.length < count) break;
      count = Math.min(MOST_ROWS, Math.max(1, Math.floor((count * FETCH_CHARACTERS) / characters)));
    }
    await client.query("close backup");
  }
}

/** A name as SQL has it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Names as a list of SQL. */
export function named(columns: readonly string[]): string {
  return columns.map(quoted).join(", ");
}
