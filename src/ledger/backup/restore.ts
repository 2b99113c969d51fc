import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import { VERSION } from "../../core/version.ts";
import { inTransaction, type Queryable, run } from "../database.ts";
import { listAtWork } from "../migrate.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { decideWentBack, findLedgerEpoch, highestOf, startEpoch } from "../restored/epoch.ts";
import { readEpochFiles } from "../restored/epoch-file.ts";
import { enterRestoredWithin } from "../restored/restore.ts";
import { NOT_KEPT, named, quoted } from "./backup.ts";
import { type BackupContent, type BackupHead, type BackupTable, readBackup } from "./file.ts";

interface RestoredBackup extends BackupContent {
  /** Orders that the daemon compares with the service before it submits anything. */
  readonly open: number;
}

/** Whether anything ever came in, or was done. */
const HAS_CONTENT =
  "select exists (select from messages) or exists (select from files) or exists (select from audit) as is_there";

/** Tables refer to each other; what does is taken away while rows are put in, and checked when it is back. */
const REFERENCES = `
select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
  from pg_constraint
 where contype = 'f'
   and connamespace = 'cryobridge'::regnamespace`;

/** $1 names of the tables that are not kept. */
const TABLES = `
select relname as name
  from pg_class
 where relnamespace = 'cryobridge'::regnamespace
   and relkind = 'r'
   and relname <> all ($1)`;

const LAST_NUMBERS = `
select sequencename as name, last_value as last
  from pg_sequences
 where schemaname = 'cryobridge'`;

/** $1 sequence, $2 last number; null where none was given. */
const SET_SEQUENCE =
  "select setval(format('cryobridge.%I', $1::text)::regclass, coalesce($2::bigint, 1), $2 is not null)";

/** A restore reads, checks and joins whole tables, where the ledger's own statements never take so long, nor many rows. */
const FOR_WHOLE_TABLES = `
set local idle_in_transaction_session_timeout = 0;
set local statement_timeout = 0;
set local enable_seqscan = on;
set local enable_hashjoin = on;
set local enable_mergejoin = on`;

/**
 * Whether a backup may be put in, as far as that can be said before anybody is stopped for it.
 *
 * @param options `mayStop`: daemons that work with the ledger are stopped then
 * @throws Failure CLI_BACKUP_UNUSABLE, CLI_BACKUP_UNFIT, CLI_LEDGER_NOT_EMPTY, LEDGER_IN_USE
 */
export async function assertRestorable(
  pool: pg.Pool,
  file: string,
  { isReplacing, mayStop }: { readonly isReplacing: boolean; readonly mayStop: boolean },
): Promise<void> {
  if (!mayStop) await assertNobodyAtWork(pool);
  const { head } = await readBackup(file);
  await assertMayReplace(pool, isReplacing);
  await assertFit(pool, head);
}

async function assertNobodyAtWork(queryable: Queryable): Promise<void> {
  const working = await listAtWork(queryable);
  if (working.length > 0)
    throw new Failure(
      "LEDGER_IN_USE",
      `a daemon works on the ledger, or did a few seconds ago: ${working.join(", ")}`,
    );
}

async function assertMayReplace(queryable: Queryable, isReplacing: boolean): Promise<void> {
  const [found] = await run<{ is_there: boolean }>(queryable, HAS_CONTENT);
  if (found?.is_there && !isReplacing)
    throw new Failure("CLI_LEDGER_NOT_EMPTY", "the ledger holds messages or entries of the audit already");
}

/**
 * Has a ledger be what a backup holds, all of it or nothing. Then it goes on as an older copy: what it has open is compared
 * with the service before anything is submitted. It counts on from the highest numbers of the backup, of the ledger that is
 * replaced, and of the epoch files beside the data, which are not part of a backup. No worker may enter meanwhile.
 *
 * @param pool whose statements may take long
 * @param options `isReplacing` has what the ledger holds removed
 * @throws Failure CLI_BACKUP_UNUSABLE, CLI_BACKUP_UNFIT, CLI_LEDGER_NOT_EMPTY, LEDGER_IN_USE; nothing was changed then
 */
export async function restoreBackup(
  pool: pg.Pool,
  file: string,
  options: {
    readonly isReplacing: boolean;
    readonly epochFile: string;
    readonly act: Act;
    /** Called now and then with the rows that were put in, and all there are. */
    readonly onRows?: (done: number, total: number) => void;
  },
): Promise<RestoredBackup> {
  const { isReplacing, epochFile, act, onRows = () => {} } = options;
  const content = await readBackup(file);
  const { head } = content;
  const files = await readEpochFiles(epochFile);
  // That it is an older copy is committed with it: a crash leaves no restored ledger that does not say so.
  const entered = await inTransaction(pool, async (client) => {
    await assertNobodyAtWork(client);
    await assertMayReplace(client, isReplacing);
    const replaced = await findLedgerEpoch(client);
    await loadBackup(client, file, head, (done) => onRows(done, content.rows));
    const now = await findLedgerEpoch(client);
    const entered = await enterRestoredWithin(client, {
      text: `it was restored from the backup of ${head.madeAt}`,
      forgottenSince: decideWentBack(now, files.worker, false)?.forgottenSince,
      ...highestOf([...files.all, replaced], now),
      after: now.restores,
    });
    const detail = { reason: act.reason, madeAt: head.madeAt, sha256: content.sha256 };
    await recordAudit(client, act, "restore", [{ target: "ledger", detail }]);
    return entered;
  });
  const epoch = startEpoch({ pool, file: epochFile, now: await findLedgerEpoch(pool), onWentBack: () => {} });
  await epoch.advance();
  return { ...content, open: entered?.open ?? 0 };
}

/**
 * Puts the rows of a backup in the place of all that the tables hold, within a transaction of a pool whose statements may take
 * long. No sequence goes back.
 *
 * @param head of the backup, which was read to its end before
 * @param onRows called now and then with the rows that were put in
 * @throws Failure CLI_BACKUP_UNFIT when the tables are others than the backup's
 */
export async function loadBackup(
  client: pg.PoolClient,
  file: string,
  head: BackupHead,
  onRows: (done: number) => void = () => {},
): Promise<void> {
  await client.query(FOR_WHOLE_TABLES);
  await assertFit(client, head);
  await putIn(client, file, onRows);
}

const OTHER_BUILD =
  "It is another build of this release, and there is no upgrade between the two: restore the backup with the build that made it.";

async function assertFit(client: Queryable, { migrations, version }: BackupHead): Promise<void> {
  const rows = await run<{ name: string; sha256: string }>(client, "select name, sha256 from migrations");
  const isSame =
    rows.length === Object.keys(migrations).length &&
    rows.every(({ name, sha256 }) => migrations[name] === sha256);
  if (isSame) return;
  const message = `release ${version} made the backup, and its tables are others than those here`;
  const hint = version === VERSION ? OTHER_BUILD : undefined;
  throw new Failure("CLI_BACKUP_UNFIT", { message, hint });
}

async function putIn(client: pg.PoolClient, file: string, onRows: (done: number) => void): Promise<void> {
  const tables = (await run<{ name: string }>(client, TABLES, [NOT_KEPT])).map(
    ({ name }) => `cryobridge.${quoted(name)}`,
  );
  const references = await run<{ table: string; name: string; definition: string }>(client, REFERENCES);
  for (const { table, name } of references)
    await client.query(`alter table ${table} drop constraint ${name}`);
  for (const table of tables) await client.query(`alter table ${table} disable trigger user`);
  await client.query(`truncate ${tables.join(", ")}`);
  const { sequences } = await insertRows(client, file, onRows);
  const given = await run<{ name: string; last: number | null }>(client, LAST_NUMBERS);
  const lastByName = new Map(given.map(({ name, last }) => [name, last]));
  for (const [name, before] of Object.entries(sequences)) {
    const last = Math.max(before ?? 0, lastByName.get(name) ?? 0) || null;
    // What setval does to a sequence is rolled back only where the same transaction has restarted it before.
    await client.query(`alter sequence cryobridge.${quoted(name)} restart`);
    await client.query(SET_SEQUENCE, [name, last]);
  }
  for (const table of tables) await client.query(`alter table ${table} enable trigger user`);
  for (const { table, name, definition } of references)
    await client.query(`alter table ${table} add constraint ${name} ${definition}`);
}

/** Rows of about this many characters are put in at a time. */
const INSERT_CHARACTERS = 2_000_000;

async function insertRows(
  client: pg.PoolClient,
  file: string,
  onRows: (done: number) => void,
): Promise<BackupHead> {
  let into: BackupTable | undefined;
  let rows: string[] = [];
  let characters = 0;
  let done = 0;
  const insert = async () => {
    if (into && rows.length > 0) {
      const table = `cryobridge.${quoted(into.table)}`;
      const columns = named(into.columns);
      await client.query(
        `insert into ${table} (${columns})
         overriding system value
         select ${columns} from json_populate_recordset(null::${table}, $1::json)`,
        [`[${rows.join(",")}]`],
      );
    }
    done += rows.length;
    onRows(done);
    rows = [];
    characters = 0;
  };
  const { head } = await readBackup(file, async (part) => {
    if (part.kind === "table") {
      await insert();
      into = part.table;
      return;
    }
    rows.push(part.json);
    characters += part.json.length;
    if (characters >= INSERT_CHARACTERS) await insert();
  });
  await insert();
  return head;
}
