import type pg from "pg";
import type { ArchivedFile, ArchiveLook } from "../../core/archive-watch.ts";
import { inTransaction, list, run } from "../database.ts";
import { requireFileId } from "./files.ts";

/** A writer that goes on is mostly seen at once; one that writes in turns, within the hour. */
const FIRST_LOOK = "1 minute";
const LAST_LOOK = "1 hour";
const DUE_AT_ONCE = 100;

/** $1 file, $2 path, $3 bytes, $4 time of the last write. */
const NOTE = `
insert into archived_files (file_id, path, size_bytes, modified, due_at)
values ($1, $2, $3, $4, now() + interval '${FIRST_LOOK}')
on conflict (file_id) do nothing`;

/** $1 connector, $2 how many. Index: archived_files_due. */
const DUE = `
select 'f' || a.file_id as "fileId", a.path, a.size_bytes as "sizeBytes", a.modified
  from archived_files a
  join files f on f.id = a.file_id
 where a.due_at <= now()
   and f.connector = $1
 order by a.due_at
 limit $2`;

/**
 * What was looked at for the first time is due once more. Of two daemons that share a folder, and look at the same moment,
 * one counts; $1 file. Index: the primary key.
 */
const PUT_OFF = `
update archived_files
   set due_at = archived_at + interval '${LAST_LOOK}'
 where file_id = $1
   and due_at <= now()
   and now() < archived_at + interval '${LAST_LOOK}'`;

/** $1 file. Index: the primary key. */
const FORGET = "delete from archived_files where file_id = $1 and due_at <= now()";

/** $1 file. Index: the primary key. */
const END = "update archived_files set due_at = null where file_id = $1";

/** Once for each file; $1 file, $2 text. Index: tasks_file. */
const OPEN_TASK = `
insert into tasks (file_id, kind, text)
values ($1, 'late_write', $2)
on conflict (file_id) where file_id is not null do nothing`;

/** Remembers an archived file, to be looked at a minute and an hour after this. */
export async function noteArchived(pool: pg.Pool, file: ArchivedFile): Promise<void> {
  const { fileId, path, sizeBytes, modifiedNs } = file;
  await run(pool, NOTE, [requireFileId(fileId), path, sizeBytes, String(modifiedNs)]);
}

/** The archived files of a connector that are due for a look. */
export async function listDueArchived(pool: pg.Pool, connector: string): Promise<ArchivedFile[]> {
  type Row = Omit<ArchivedFile, "modifiedNs"> & { readonly modified: string };
  const rows = await list<Row>(pool, DUE, [connector, DUE_AT_ONCE]);
  return rows.map(({ modified, ...file }) => ({ ...file, modifiedNs: BigInt(modified) }));
}

/** Keeps what a look at an archived file found. */
export async function recordArchiveLook(pool: pg.Pool, file: ArchivedFile, look: ArchiveLook): Promise<void> {
  const id = requireFileId(file.fileId);
  await inTransaction(pool, async (client) => {
    if (look === "same" && (await client.query(PUT_OFF, [id])).rowCount === 1) return;
    if (typeof look === "string") {
      await client.query(FORGET, [id]);
      return;
    }
    await client.query(END, [id]);
    await client.query(OPEN_TASK, [id, wordsOf(file.sizeBytes, look.sizeBytes)]);
  });
}

function wordsOf(readBytes: number, nowBytes: number): string {
  const sizes =
    readBytes === nowBytes
      ? `it has ${nowBytes} bytes as before, but was written again`
      : `it had ${readBytes} bytes then, and has ${nowBytes} now`;
  return `this file was written to after it was read and archived: ${sizes}; what was written since was not taken. Have the lab drop that as a new file, and have it rename files into the folder once they are whole, or announce them by a marker`;
}
