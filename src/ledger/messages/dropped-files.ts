import type pg from "pg";
import type { ArchivedFile, ArchiveLook, DroppedFiles, InHand } from "../../core/dropped-files.ts";
import { Failure } from "../../core/failures.ts";
import type { Fate } from "../../core/intake.ts";
import { inTransaction, list, run } from "../database.ts";

/** A writer that goes on is mostly seen at once; one that writes in turns, within the hour. */
const FIRST_LOOK = "1 minute";
const LAST_LOOK = "1 hour";
const DUE_AT_ONCE = 100;

/** Whether the worker $2 counts as alive: others have not taken over what it has. Index: the primary key. */
const WE_LIVE = "exists (select 1 from workers w where w.id = $2 and w.ended_at is null)";

/** $1 connector, $2 worker, $3 ids, $4 names. Nothing is inserted for a worker that counts as gone. */
const CLAIM = `
insert into dropped_files (id, connector, file_name, worker)
select c.id, $1, c.name, $2
  from unnest($3::text[], $4::text[]) as c (id, name)
 where ${WE_LIVE}
on conflict (id) do nothing
returning id`;

/**
 * What the worker $2 has of the connector $1, with what nobody has any more. Of two that try at once one gets a file: the other
 * waits, and then sees whose it is. Index: dropped_files_in_hand.
 */
const TAKE_OVER = `
update dropped_files d
   set worker = $2
 where d.connector = $1
   and d.worker is not null
   and (d.worker = $2
        or not exists (select 1 from workers w where w.id = d.worker and w.ended_at is null))
   and ${WE_LIVE}
returning d.id, d.file_name as name, d.fate`;

/** $1 ids, $2 worker. Index: the primary key. */
const STILL_OURS = "select id from dropped_files where id = any ($1) and worker = $2";

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
 * What was checked for the first time is due once more. Of two daemons that share a folder, and check at the same moment,
 * one counts; $1 id. Index: the primary key.
 */
const PUT_OFF = `
update dropped_files
   set due_at = archived_at + interval '${LAST_LOOK}'
 where id = $1
   and due_at <= now()
   and now() < archived_at + interval '${LAST_LOOK}'`;

/** $1 id. Index: the primary key. */
const END_LOOKS = "delete from dropped_files where id = $1 and due_at <= now()";

/** The row stays: the task says from it where the file lies. $1 id, $2 text. Indexes: the primary key, tasks_file. */
const OPEN_TASK = `
with changed as (
  update dropped_files
     set due_at = null
   where id = $1
  returning file_id)
insert into tasks (file_id, kind, text)
select c.file_id, 'late_write', $2
  from changed c
on conflict (file_id) where file_id is not null do nothing`;

/**
 * The rows of dropped files, for one worker.
 *
 * @param ledger the ledger's own code
 * @param worker who it is by now; its number changes after others took it for dead
 */
export function droppedFilesOf(pool: pg.Pool, ledger: string, worker: { readonly id: number }): DroppedFiles {
  const claim = async (connector: string, files: readonly InHand[]) => {
    if (files.length === 0) return 0;
    const values = [connector, worker.id, files.map(({ id }) => id), files.map(({ name }) => name)];
    return (await run(pool, CLAIM, values)).length;
  };
  return {
    ledger,
    claim: async (connector, files) => {
      if ((await claim(connector, files)) < files.length)
        throw new Failure("LEDGER_UNAVAILABLE", "this worker has to enter the ledger anew first");
    },
    forget: async (ids) => void (await run(pool, FORGET, [ids, worker.id])),
    takeOver: async (connector, lying) => {
      await claim(connector, lying);
      const rows = await run<InHand & { readonly fate: Fate | null }>(pool, TAKE_OVER, [
        connector,
        worker.id,
      ]);
      return rows
        .map(({ fate, ...file }) => ({ ...file, fate: fate ?? undefined }))
        .sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    stillOurs: async (ids) => {
      const rows = await run<{ id: string }>(pool, STILL_OURS, [ids, worker.id]);
      return new Set(rows.map(({ id }) => id));
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
    record: (file, look) => recordArchiveLook(pool, file, look),
  };
}

/** $1 id, $2 worker, $3 fate, $4 the name it gets, $5 file. Nothing is returned when it is no longer this worker's. Index: the primary key. */
const DECIDE = `
update dropped_files
   set fate = $3,
       kept_as = $4,
       file_id = $5
 where id = $1
   and worker = $2
returning id`;

/** Keeps what is to become of a dropped file. False when it is no longer the worker's. Throws where another file in hand gets that name. */
export async function decideDropped(
  client: pg.ClientBase,
  { id, worker, fileId, fate }: { id: string; worker: number; fileId: number; fate: Fate },
): Promise<boolean> {
  const { rowCount } = await client.query(DECIDE, [id, worker, JSON.stringify(fate), fate.keptAs, fileId]);
  return rowCount === 1;
}

async function recordArchiveLook(pool: pg.Pool, file: ArchivedFile, look: ArchiveLook): Promise<void> {
  await inTransaction(pool, async (client) => {
    if (look === "same" && (await client.query(PUT_OFF, [file.id])).rowCount === 1) return;
    if (typeof look === "string") await client.query(END_LOOKS, [file.id]);
    else await client.query(OPEN_TASK, [file.id, wordsOf(file.sizeBytes, look.sizeBytes)]);
  });
}

function wordsOf(readBytes: number, nowBytes: number): string {
  const sizes =
    readBytes === nowBytes
      ? `it has ${nowBytes} bytes as before, but was written again`
      : `it had ${readBytes} bytes then, and has ${nowBytes} now`;
  return `this file was written to after it was read and archived: ${sizes}; what was written since was not taken. Have the lab drop that as a new file, and have it rename files into the folder once they are whole, or announce them by a marker`;
}
