import type pg from "pg";
import { VERSION } from "../../core/version.ts";
import { inTransaction } from "../database.ts";
import { type BackupContent, type BackupHead, type WrittenPart, writeBackup } from "./file.ts";

/** Tables that say how things stand right now, and those of the schema itself; each start makes them anew. */
export const NOT_KEPT = ["migrations", "workers", "service_pause"];

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

/** So many rows are read at a time where they have so many bytes at most; else each by itself. */
const ROWS_AT_ONCE = 100;
const BYTES_AT_ONCE = 2_000_000;

/**
 * Writes all that the ledger holds at one moment into a file, whoever works with it meanwhile; nothing of it is kept in memory.
 *
 * @param options `onRows` is called now and then with the rows that were written so far
 * @throws Failure CLI_BACKUP_UNWRITABLE, LEDGER_UNAVAILABLE; the reason of the signal
 */
export function backupLedger(
  pool: pg.Pool,
  file: string,
  options: {
    readonly madeAt: Date;
    readonly onRows?: (rows: number) => void;
    readonly signal?: AbortSignal;
  },
): Promise<BackupContent> {
  const { madeAt, onRows = () => {}, signal } = options;
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
    return { head, ...(await writeBackup(file, head, readTables(client, tables, { onRows, signal }))) };
  });
}

interface Row {
  readonly json: string;
  /** Bytes of the next rows, as many as are read at once; null for the last one. */
  readonly ahead: number | null;
}

async function* readTables(
  client: pg.PoolClient,
  tables: readonly { readonly table: string; readonly columns: string[] }[],
  { onRows, signal }: { readonly onRows: (rows: number) => void; readonly signal: AbortSignal | undefined },
): AsyncGenerator<WrittenPart> {
  let written = 0;
  for (const table of tables) {
    yield { kind: "table", table };
    await client.query(
      `declare backup no scroll cursor for
       select x.json, sum(octet_length(x.json)) over (rows between 1 following and ${ROWS_AT_ONCE} following) as ahead
         from (select row_to_json(r)::text as json
                 from (select ${named(table.columns)} from cryobridge.${quoted(table.table)}) r
               offset 0) x`,
    );
    for (let count = 1; count > 0; ) {
      signal?.throwIfAborted();
      const { rows } = await client.query<Row>(`fetch ${count} from backup`);
      yield { kind: "rows", json: rows.map(({ json }) => json) };
      written += rows.length;
      onRows(written);
      const ahead = rows.at(-1)?.ahead ?? undefined;
      count = ahead === undefined ? 0 : ahead <= BYTES_AT_ONCE ? ROWS_AT_ONCE : 1;
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
