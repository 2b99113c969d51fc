import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import type {
  Accepted,
  Fate,
  FileEnd,
  FileOpening,
  IncomingFile,
  Settled,
  Settlement,
} from "../../core/intake.ts";
import { inTransaction, list } from "../database.ts";
import { isInsertRace } from "../database-failures.ts";
import { formatId, numberOfId } from "../ids.ts";
import { INSERT_DELIVERY } from "../results/outcomes.ts";
import { commitOfFile, withInsert } from "./commit.ts";
import { type Claimed, decideDropped, lockUndecided, type Owner, whileOwner } from "./dropped-files.ts";
import type { MessageRecord } from "./record.ts";

/**
 * The file with these bytes that this connector has taken or is taking, and whether messages of it were; $1 connector, $2 sha256.
 * Indexes: files_once, messages (file_id, ordinal).
 */
const FIND_FILE = `
select f.id, f.status, f.file_name, f.received_at, exists (select 1 from messages m where m.file_id = f.id) as is_begun
  from files f
 where f.connector = $1
   and f.sha256 = $2
   and f.status in ('reading', 'taken')`;

/** $1 connector, $2 name, $3 sha256, $4 size in bytes, $5 dialect. Nothing is returned when the same bytes are there already. */
const INSERT_FILE = `
insert into files (connector, file_name, sha256, size_bytes, dialect, status)
values ($1, $2, $3, $4, $5, 'reading')
on conflict (connector, sha256) where status in ('reading', 'taken') do nothing
returning id`;

/**
 * A file that was closed since it had changed while it was read is open again, now that it is there with the bytes that it
 * had: of those only a part may have been taken. $1 id. Index: the primary key.
 */
const REOPEN_FILE = `
update files
   set status = 'reading',
       problems = '[]',
       closed_at = null
 where id = $1
   and status = 'taken'
   and problems @> '[{"code": "FILE_CHANGED"}]'
returning id`;

/** $1 connector, $2 name, $3 sha256, $4 size in bytes, $5 the first file's id. */
const INSERT_DUPLICATE = `
insert into files (connector, file_name, sha256, size_bytes, status, first_file_id, closed_at)
values ($1, $2, $3, $4, 'duplicate', $5, now())
returning id`;

/** $1 id, $2 status, $3 problems as JSON. A file is closed once; a repeat after a crash changes nothing. */
const CLOSE_FILE = `
update files
   set status = $2,
       problems = $3,
       closed_at = now()
 where id = $1
   and status = 'reading'`;

/**
 * The same for a file that may be refused: a table of which no message was taken has no other answer than the row that says
 * so. $1 to $3 as above. Indexes: the primary key, messages (file_id, ordinal).
 */
const CLOSE_AND_REPORT = `
with closed as (${CLOSE_FILE}
  returning id, connector, dialect)
insert into outcomes (connector, file_id, kind, payload, occurred_at)
select c.connector, c.id, 'refused', jsonb_build_object('problems', $3::jsonb), clock_timestamp()
  from closed c
 where $2 = 'refused'
   and c.dialect is not null
   and not exists (select 1 from messages m where m.file_id = c.id)`;

interface FileRow {
  id: number;
  status: "reading" | "taken";
  file_name: string;
  received_at: Date;
  is_begun: boolean;
}

/**
 * Records that a connector takes a file, and commits its first messages with it; or finds what is known of the same bytes.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 * @throws NotInHand where another worker has the file by now, or it was decided before
 */
export function openFile(
  pool: pg.Pool,
  file: IncomingFile,
  claimed: Claimed,
  records: readonly MessageRecord[],
): Promise<FileOpening> {
  return withInsert(pool, async (client, insert): Promise<FileOpening> => {
    await lockUndecided(client, claimed);
    const { connector } = file;
    const sha256 = Buffer.from(file.sha256, "hex");
    const values = [connector, file.fileName, sha256, file.sizeBytes];
    const [inserted] = (await client.query<{ id: number }>(INSERT_FILE, [...values, file.dialect ?? null]))
      .rows;
    if (inserted) {
      const verdicts = await insert(client, { fileId: inserted.id, connector }, records);
      return { status: "new", fileId: formatId("f", inserted.id), verdicts };
    }
    const [found] = (await client.query<FileRow>(FIND_FILE, [connector, sha256])).rows;
    if (!found)
      throw new Failure("LEDGER_UNAVAILABLE", "the same file was refused by another process at this moment");
    const isOpen = found.status === "reading" || (await client.query(REOPEN_FILE, [found.id])).rowCount === 1;
    if (isOpen) {
      const verdicts = await commitOfFile(client, { fileId: found.id, connector, records }, insert);
      const status = found.is_begun ? "resumed" : "new";
      return { status, fileId: formatId("f", found.id), verdicts };
    }
    const [duplicate] = (await client.query<{ id: number }>(INSERT_DUPLICATE, [...values, found.id])).rows;
    return {
      status: "duplicate",
      fileId: formatId("f", duplicate?.id ?? found.id),
      firstFileName: found.file_name,
      firstReceivedAt: found.received_at,
    };
  });
}

/**
 * Commits further messages of a file that was opened.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 * @throws NotInHand as {@link openFile}
 */
export function goOnWithFile(
  pool: pg.Pool,
  file: { readonly connector: string; readonly fileId: string },
  claimed: Claimed,
  records: readonly MessageRecord[],
): Promise<Accepted[]> {
  const batch = { connector: file.connector, fileId: numberOfId("f", file.fileId), records };
  return withInsert(pool, async (client, insert) => {
    await lockUndecided(client, claimed);
    return commitOfFile(client, batch, insert);
  });
}

/** How a file ends in the ledger, and what answers it as a whole. */
export interface Closing {
  readonly end: FileEnd;
  readonly answer?:
    | { readonly connector: string; readonly fileName: string; readonly bytes: Buffer }
    | undefined;
}

/**
 * Keeps what is to become of a dropped file of the worker's, and records its end in the same transaction, so that it is answered
 * exactly once; see Intake.settleFile. A table that was refused is reported to the lab, as results are.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 * @throws NotInHand
 */
export async function settleFile(
  pool: pg.Pool,
  owner: Owner,
  { claimId, fileId, kept }: Settlement,
  closing: Closing | undefined,
): Promise<Settled | undefined> {
  const claimed = { id: claimId, worker: owner.id };
  const mayMove = whileOwner(owner);
  const file = numberOfId("f", fileId);
  const settle = (fate: Fate | undefined) =>
    inTransaction(pool, async (client) => {
      if (fate) await decideDropped(client, claimed, file, fate);
      else await lockUndecided(client, claimed);
      if (closing) await close(client, file, closing);
      return fate && { fate, mayMove };
    });
  if (kept === undefined) return settle(undefined);
  const [name, other] = kept.names;
  try {
    return await settle({ ...kept.fate, keptAs: name });
  } catch (error) {
    if (!isInsertRace(error)) throw error;
    return settle({ ...kept.fate, keptAs: other });
  }
}

async function close(client: pg.ClientBase, fileId: number, { end, answer }: Closing): Promise<void> {
  const values = [fileId, end.status, JSON.stringify(end.problems)];
  if (answer === undefined) {
    await client.query(CLOSE_AND_REPORT, values);
    return;
  }
  const { rowCount } = await client.query(CLOSE_FILE, values);
  const { connector, fileName, bytes } = answer;
  if (rowCount === 1) await client.query(INSERT_DELIVERY, [connector, fileName, bytes]);
}

/** A file that was opened and not closed yet. */
export interface OpenFile {
  readonly connector: string;
  readonly fileName: string;
  readonly receivedAt: Date;
}

/** A file that is being taken; $1 id. Index: the primary key. */
const OPEN_FILE = `
select f.connector, f.file_name as "fileName", f.received_at as "receivedAt"
  from files f
 where f.id = $1
   and f.status = 'reading'`;

/** The file with this number; undefined when there is none that is still being taken. */
export async function findOpenFile(pool: pg.Pool, id: number): Promise<OpenFile | undefined> {
  return (await list<OpenFile>(pool, OPEN_FILE, [id]))[0];
}
