import type pg from "pg";
import type { Problem } from "../../core/failures.ts";
import type { Verdict } from "../../core/intake.ts";
import { run } from "../database.ts";
import { formatId } from "../ids.ts";

/** A file that is being taken; $1 id. Index: the primary key. */
const OPEN_FILE = `
select f.connector, f.file_name, f.received_at
  from files f
 where f.id = $1
   and f.status = 'reading'`;

/** Messages of a file in their order; $1 file id, $2 after this ordinal, $3 how many. Index: messages (file_id, ordinal). */
const FILE_MESSAGES = `
select m.id, m.ordinal, m.message_control_id, m.format, m.encoding, m.raw, m.verdict, m.problems, m.received_at
  from messages m
 where m.file_id = $1
   and m.ordinal > $2
 order by m.ordinal
 limit $3`;

/** A file that was opened and not closed yet. */
export interface OpenFile {
  readonly connector: string;
  readonly fileName: string;
  readonly receivedAt: Date;
}

/** A message of a file, with what became of it. */
export interface FileMessage {
  /** The ledger's number. */
  readonly id: number;
  /** The same as people write it, such as `m12`. */
  readonly messageId: string;
  readonly ordinal: number;
  readonly messageControlId: string | undefined;
  readonly format: "hl7" | "csv" | "unreadable";
  readonly encoding: string | undefined;
  /** Undefined once retention has pruned it. */
  readonly raw: Buffer | undefined;
  readonly verdict: Verdict;
  readonly problems: readonly Problem[];
  readonly receivedAt: Date;
}

/** The file with this number; undefined when there is none that is still being taken. */
export async function findOpenFile(pool: pg.Pool, id: number): Promise<OpenFile | undefined> {
  const [row] = await run<{ connector: string; file_name: string; received_at: Date }>(pool, OPEN_FILE, [id]);
  return row && { connector: row.connector, fileName: row.file_name, receivedAt: row.received_at };
}

/** The next messages of a file after an ordinal. */
export async function listFileMessages(
  pool: pg.Pool,
  fileId: number,
  after: number,
  limit: number,
): Promise<FileMessage[]> {
  const rows = await run<{
    id: number;
    ordinal: number;
    message_control_id: string | null;
    format: FileMessage["format"];
    encoding: string | null;
    raw: Buffer | null;
    verdict: Verdict;
    problems: Problem[];
    received_at: Date;
  }>(pool, FILE_MESSAGES, [fileId, after, limit]);
  return rows.map((row) => ({
    id: row.id,
    messageId: formatId("m", row.id),
    ordinal: row.ordinal,
    messageControlId: row.message_control_id ?? undefined,
    format: row.format,
    encoding: row.encoding ?? undefined,
    raw: row.raw ?? undefined,
    verdict: row.verdict,
    problems: row.problems,
    receivedAt: row.received_at,
  }));
}
