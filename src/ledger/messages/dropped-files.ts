import type pg from "pg";
import {
  type ArchivedFile,
  type ArchiveLook,
  type DroppedFiles,
  type InHand,
  NotInHand,
} from "../../core/dropped-files.ts";
import { Failure } from "../../core/failures.ts";
import type { Fate, MayMove } from "../../core/intake.ts";
import { inTransaction, list, run } from "../database.ts";
import { counts, MAY_BE_DYING } from "../workers/alive.ts";

/** A writer that goes on is mostly seen at once; one that writes in turns, within the hour. */
const FIRST_LOOK = "1 minute";
const LAST_LOOK = "1 hour";
const DUE_AT_ONCE = 100;

/** Whether the worker $2 counts as alive: others have not taken over what it has. Index: the primary key. */
const WE_LIVE = counts("$2");

/** $1 connector, $2 worker, $3 ids, $4 names. Nothing is inserted for a worker that counts as gone. */
const CLAIM = `
insert into dropped_files (id, connector, file_name, worker)
select c.id, $1, c.name, $2
  from unnest($3::text[], $4::text[]) as c (id, name)
 where ${WE_LIVE}
on conflict (id) do nothing
returning id`;

/**
 * Gives the worker $2 what workers that are gone had of the connector $1, and what it has itself beside the ids $3. Of two that try at
 * once one gets a file: the other waits, and then sees whose it is. Index: dropped_files_in_hand.
 */
const TAKE_OVER = `
with taken as (
  update dropped_files d
     set worker = $2
   where d.connector = $1
     and d.worker is not null
     and not ${counts("d.worker")}
     and ${WE_LIVE}
  returning d.id, d.file_name as name, d.fate)
select id, name, fate
  from taken
union all
select d.id, d.file_name as name, d.fate
  from dropped_files d
 where d.connector = $1
   and d.worker = $2
   and d.id <> all ($3)
   and ${WE_LIVE}
 order by id`;

/**
 * Of the files $2 that lie in the folder of connector $1 and are not this worker's: whether a worker has one of them that is dead or
 * cut off, but that the others have not found to be gone yet; and which other connector has one. Not for longer than it takes to find
 * that out, whatever the clocks do. Index: the primary key.
 */
const OF_OTHERS = `
select coalesce(bool_or(w.ended_at is null and ${MAY_BE_DYING}), false) as "isAwaiting",
       min(d.connector) filter (where d.connector <> $1) as "otherConnector"
  from dropped_files d
  left join workers w
    on w.id = d.worker
 where d.id = any ($2)
   and d.worker is not null`;

/** $1 ids, $2 worker. Index: the primary key. */
const FORGET = "delete from dropped_files where id = any ($1) and worker = $2";

/** $1 worker, $2 ids, $3 paths, $4 sizes in bytes, $5 times of the last writes. Index: the primary key. */
const KEEP_ARCHIVED = `
update dropped_files d
   set worker = null,
       fate = null,
       kept_as = null,
       path = a.path,
       size_bytes = a.size_bytes,
       modified = a.modified,
       archived_at = now(),
       due_at = now() + interval '${FIRST_LOOK}'
  from unnest($2::text[], $3::text[], $4::bigint[], $5::text[]) as a (id, path, size_bytes, modified)
 where d.id = a.id
   and d.worker = $1`;

/** $1 connector, $2 how many. Index: dropped_files_due. */
const DUE = `
select id, path, size_bytes as "sizeBytes", modified as "modifiedNs"
  from dropped_files
 where due_at <= now()
   and connector = $1
 order by due_at
 limit $2`;

/**
 * What was checked for the first time is due once more, and else never again. Of two daemons that share a folder, and check at the same
 * moment, one counts; $1 ids of those that are the same, $2 of those that are gone. Index: the primary key.
 */
const PUT_OFF = `
with put_off as (
  update dropped_files
     set due_at = archived_at + interval '${LAST_LOOK}'
   where id = any ($1)
     and due_at <= now()
     and now() < archived_at + interval '${LAST_LOOK}'
  returning id)
delete from dropped_files
 where id = any ($1::text[] || $2::text[])
   and due_at <= now()
   and id not in (select id from put_off)`;

/** The rows stay: the tasks say from them where the files lie. $1 ids, $2 texts. Indexes: the primary key, tasks_file. */
const OPEN_TASKS = `
with changed as (
  update dropped_files d
     set due_at = null
    from unnest($1::text[], $2::text[]) as c (id, text)
   where d.id = c.id
  returning d.file_id, c.text)
insert into tasks (file_id, kind, text)
select distinct on (c.file_id) c.file_id, 'late_write', c.text
  from changed c
on conflict (file_id) where file_id is not null do nothing`;

interface Decided {
  readonly id: string;
  readonly name: string;
  readonly fate: Fate | null;
}

/** Who this worker is by now, and whether it is so for certain; its number changes after others took it for dead. */
export interface Owner {
  readonly id: number;
  readonly isSure: boolean;
}

/** What the worker of that number is told to be its own is so while this says yes. To be made before the ledger is asked. */
export function whileOwner(worker: Owner): MayMove {
  const { id } = worker;
  return () => worker.id === id && worker.isSure;
}

/**
 * The rows of dropped files, for one worker.
 *
 * @param ledger the ledger's own code
 */
export function droppedFilesOf(pool: pg.Pool, ledger: string, worker: Owner): DroppedFiles {
  /** Gives how many of them are noted now for the first time. */
  const claim = async (connector: string, files: readonly InHand[]) => {
    if (files.length === 0) return 0;
    const columns = [files.map(({ id }) => id), files.map(({ name }) => name)];
    return (await run(pool, CLAIM, [connector, worker.id, ...columns])).length;
  };
  return {
    ledger,
    claim: async (connector, files) => {
      const mayMove = whileOwner(worker);
      if ((await claim(connector, files)) < files.length)
        throw new Failure("LEDGER_UNAVAILABLE", "this worker has to enter the ledger anew first");
      return mayMove;
    },
    forget: async (ids) => void (await run(pool, FORGET, [ids, worker.id])),
    takeOver: async (connector, { lying, inHand }) => {
      await claim(connector, lying);
      const mayMove = whileOwner(worker);
      const rows = await run<Decided>(pool, TAKE_OVER, [connector, worker.id, inHand]);
      const files = rows.map(({ fate, ...file }) => ({ ...file, fate: fate ?? undefined }));
      const taken = new Set(files.map(({ id }) => id));
      const others = lying.flatMap(({ id }) => (taken.has(id) ? [] : [id]));
      if (others.length === 0) return { files, mayMove, isAwaiting: false, otherConnector: undefined };
      type Row = { readonly isAwaiting: boolean; readonly otherConnector: string | null };
      const [row] = await run<Row>(pool, OF_OTHERS, [connector, others]);
      return {
        ...{ files, mayMove },
        isAwaiting: row?.isAwaiting === true,
        otherConnector: row?.otherConnector ?? undefined,
      };
    },
    finish: async (files) => {
      const archived = files.flatMap((file) => file.archived ?? []);
      const others = files.flatMap(({ id, archived: kept }) => (kept ? [] : [id]));
      await inTransaction(pool, async (client) => {
        if (others.length > 0) await client.query(FORGET, [others, worker.id]);
        if (archived.length === 0) return;
        const columns = [
          archived.map(({ id }) => id),
          archived.map(({ path }) => path),
          archived.map(({ sizeBytes }) => sizeBytes),
          archived.map(({ modifiedNs }) => modifiedNs),
        ];
        await client.query(KEEP_ARCHIVED, [worker.id, ...columns]);
      });
    },
    listDue: (connector) => list<ArchivedFile>(pool, DUE, [connector, DUE_AT_ONCE]),
    record: (found) => recordLooks(pool, found),
  };
}

/** A dropped file of a worker's. */
export interface Claimed {
  /** The claim's id. */
  readonly id: string;
  readonly worker: number;
}

/**
 * $1 id, $2 worker. Whoever takes the file over waits for the transaction, and so does the worker itself for one that lives on behind a
 * broken connection. Index: the primary key.
 */
const LOCK_UNDECIDED = `
select 1
  from dropped_files
 where id = $1
   and worker = $2
   and fate is null
   for no key update`;

/**
 * Until the transaction ends a dropped file is the worker's, and nothing is decided about it.
 *
 * @throws NotInHand where it is not so now
 */
export async function lockUndecided(client: pg.ClientBase, { id, worker }: Claimed): Promise<void> {
  if ((await client.query(LOCK_UNDECIDED, [id, worker])).rowCount !== 1) throw new NotInHand();
}

/** $1 id, $2 worker, $3 fate, $4 the name it gets, $5 file. Nothing is returned when it is no longer this worker's, or was decided. Index: the primary key. */
const DECIDE = `
update dropped_files
   set fate = $3,
       kept_as = $4,
       file_id = $5
 where id = $1
   and worker = $2
   and fate is null
returning id`;

/**
 * Keeps what is to become of a dropped file. Throws where another file in hand gets that name.
 *
 * @throws NotInHand when it is no longer the worker's, or was decided before
 */
export async function decideDropped(
  client: pg.ClientBase,
  { id, worker }: Claimed,
  fileId: number,
  fate: Fate,
): Promise<void> {
  const { rowCount } = await client.query(DECIDE, [id, worker, JSON.stringify(fate), fate.keptAs, fileId]);
  if (rowCount !== 1) throw new NotInHand();
}

async function recordLooks(pool: pg.Pool, found: Parameters<DroppedFiles["record"]>[0]): Promise<void> {
  const idsOf = (what: ArchiveLook) => found.flatMap(({ file, look }) => (look === what ? [file.id] : []));
  const changed = found.flatMap(({ file, look }) =>
    typeof look === "string" ? [] : [{ id: file.id, text: wordsOf(file.sizeBytes, look.sizeBytes) }],
  );
  await inTransaction(pool, async (client) => {
    await client.query(PUT_OFF, [idsOf("same"), idsOf("gone")]);
    if (changed.length === 0) return;
    await client.query(OPEN_TASKS, [changed.map(({ id }) => id), changed.map(({ text }) => text)]);
  });
}

function wordsOf(readBytes: number, nowBytes: number): string {
  const sizes =
    readBytes === nowBytes
      ? `it has ${nowBytes} bytes as before, but was written again`
      : `it had ${readBytes} bytes then, and has ${nowBytes} now`;
  return `this file was written to after it was read and archived: ${sizes}; what was written since was not taken. Have the lab drop that as a new file, and have it rename files into the folder once they are whole, or announce them by a marker`;
}
