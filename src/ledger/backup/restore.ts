import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import { inTransaction, run } from "../database.ts";
import { MIGRATION_LOCK } from "../locks.ts";
import { listAtWork } from "../migrate.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { decideWentBack, findLedgerEpoch, startEpoch } from "../restored/epoch.ts";
import { readEpochFile } from "../restored/epoch-file.ts";
import { enterRestored } from "../restored/restore.ts";
import { NOT_KEPT, named, quoted } from "./backup.ts";
import { type BackupContent, type BackupHead, type BackupTable, readBackup } from "./file.ts";

/** What a restore did. */
export interface RestoredBackup extends BackupContent {
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

/** $1 sequence, $2 last number; null where none was given. */
const SET_SEQUENCE =
  "select setval(format('cryobridge.%I', $1::text)::regclass, coalesce($2::bigint, 1), $2 is not null)";

/**
 * Has a ledger be what a backup holds, all of it or nothing. Then it goes on as an older copy: what it has open is compared
 * with the service before anything is submitted. The epoch file beside the data is not part of a backup, so that the ledger
 * counts on from the higher number.
 *
 * @param options `isReplacing` has what the ledger holds removed
 * @throws Failure CLI_BACKUP_UNUSABLE, CLI_BACKUP_UNFIT, CLI_LEDGER_NOT_EMPTY, LEDGER_IN_USE; nothing was changed then
 */
export async function restoreBackup(
  pool: pg.Pool,
  file: string,
  options: { readonly isReplacing: boolean; readonly epochFile: string; readonly act: Act },
): Promise<RestoredBackup> {
  const { isReplacing, epochFile, act } = options;
  const content = await readBackup(file);
  const { head } = content;
  const kept = await readEpochFile(epochFile);
  await inTransaction(pool, async (client) => {
    // A daemon that starts meanwhile waits for this.
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await client.query("set local idle_in_transaction_session_timeout = 0; set local statement_timeout = 0");
    await assertFit(client, head);
    const working = await listAtWork(client);
    if (working.length > 0)
      throw new Failure("LEDGER_IN_USE", `${working.join(", ")} worked with the ledger a few seconds ago`);
    const [found] = await run<{ is_there: boolean }>(client, HAS_CONTENT);
    if (found?.is_there && !isReplacing)
      throw new Failure("CLI_LEDGER_NOT_EMPTY", "the ledger holds messages or entries of the audit already");
    await putIn(client, file);
  });
  const now = await findLedgerEpoch(pool);
  const isSame = kept?.ledger === now.ledger;
  const entered = await enterRestored(pool, {
    text: `it was restored from the backup of ${head.madeAt}`,
    forgottenSince: decideWentBack(now, kept, false)?.forgottenSince,
    epoch: isSame ? kept.epoch : 0,
    restores: isSame ? kept.restores : 0,
    after: now.restores,
  });
  const detail = { reason: act.reason, madeAt: head.madeAt, sha256: content.sha256 };
  await recordAudit(pool, act, "restore", [{ target: "ledger", detail }]);
  const epoch = startEpoch({ pool, file: epochFile, now: await findLedgerEpoch(pool), onWentBack: () => {} });
  await epoch.advance();
  return { ...content, open: entered?.open ?? 0 };
}

async function assertFit(client: pg.PoolClient, { migrations, version }: BackupHead): Promise<void> {
  const rows = await run<{ name: string; sha256: string }>(client, "select name, sha256 from migrations");
  const isSame =
    rows.length === Object.keys(migrations).length &&
    rows.every(({ name, sha256 }) => migrations[name] === sha256);
  if (isSame) return;
  throw new Failure(
    "CLI_BACKUP_UNFIT",
    `release ${version} made the backup, and its tables are others than those here`,
  );
}

async function putIn(client: pg.PoolClient, file: string): Promise<void> {
  const tables = (await run<{ name: string }>(client, TABLES, [NOT_KEPT])).map(
    ({ name }) => `cryobridge.${quoted(name)}`,
  );
  const references = await run<{ table: string; name: string; definition: string }>(client, REFERENCES);
  for (const { table, name } of references)
    await client.query(`alter table ${table} drop constraint ${name}`);
  for (const table of tables) await client.query(`alter table ${table} disable trigger user`);
  await client.query(`truncate ${tables.join(", ")}`);
  const { sequences } = await insertRows(client, file);
  for (const [name, last] of Object.entries(sequences)) await client.query(SET_SEQUENCE, [name, last]);
  for (const table of tables) await client.query(`alter table ${table} enable trigger user`);
  for (const { table, name, definition } of references)
    await client.query(`alter table ${table} add constraint ${name} ${definition}`);
}

/** Rows of about this many characters are put in at a time. */
const INSERT_CHARACTERS = 2_000_000;

async function insertRows(client: pg.PoolClient, file: string): Promise<BackupHead> {
  let into: BackupTable | undefined;
  let rows: string[] = [];
  let characters = 0;
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
