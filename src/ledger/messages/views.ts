import type pg from "pg";
import type { Problem } from "../../core/failures.ts";
import type { Verdict } from "../../core/intake.ts";
import { list, type Queryable } from "../database.ts";

/** A message as an operator sees it; its text is left out. */
export interface MessageView {
  /** Such as `m12`. */
  readonly messageId: string;
  readonly connector: string;
  readonly fileName: string | undefined;
  readonly place: string;
  readonly messageControlId: string | undefined;
  readonly messageType: string | undefined;
  readonly verdict: Verdict;
  readonly problems: readonly Problem[];
  readonly receivedAt: Date;
  readonly duplicateOf: string | undefined;
  readonly replayOf: string | undefined;
  readonly orderIds: readonly string[];
}

/** A message with all that mapping it again takes. */
export interface StoredMessage extends MessageView {
  readonly ordinal: number;
  /** Undefined once retention has pruned it. */
  readonly raw: Buffer | undefined;
  readonly format: "hl7" | "csv" | "unreadable";
  readonly encoding: string | undefined;
  /** CSV only: line and cells of each row. */
  readonly csvRows:
    | readonly (readonly [line: number, cells: readonly (readonly [string, string])[]])[]
    | undefined;
}

/** Columns of a {@link MessageView}, and of a {@link StoredMessage}, of a row m with its file f. */
const VIEW = `
       'm' || m.id as "messageId", m.connector, f.file_name as "fileName", m.place,
       m.message_control_id as "messageControlId", m.message_type as "messageType", m.verdict, m.problems,
       m.received_at as "receivedAt", 'm' || m.duplicate_of as "duplicateOf", 'm' || m.replay_of as "replayOf",
       array(select 'o' || x.id
               from (select id from orders where message_id = m.id
                      union
                     select order_id from corrections where message_id = m.id) x
              order by x.id) as "orderIds"`;
const STORED = `${VIEW}, m.ordinal, m.raw, m.format, m.encoding, m.csv_rows as "csvRows"`;

/**
 * Newest first; $1 connector, $2 verdict, $3 since, $4 limit; null for any. Indexes: the primary key, messages_connector,
 * messages_unaccepted, messages_received.
 */
const LIST_MESSAGES = `
select ${VIEW}
  from messages m
  left join files f on f.id = m.file_id
 where ($1::text is null or m.connector = $1)
   and ($2::text is null or m.verdict = $2)
   and ($3::timestamptz is null or m.received_at >= $3)
 order by m.id desc
 limit $4`;

/** Messages, newest first. */
export function listMessages(
  pool: pg.Pool,
  filter: {
    readonly connector?: string | undefined;
    readonly verdict?: string | undefined;
    readonly since?: Date | undefined;
    readonly limit: number;
  },
): Promise<MessageView[]> {
  const { connector = null, verdict = null, since = null, limit } = filter;
  return list<MessageView>(pool, LIST_MESSAGES, [connector, verdict, since, limit]);
}

/** $1 ids. Index: the primary key. */
const MESSAGES_BY_ID = `
select ${STORED}
  from messages m
  left join files f on f.id = m.file_id
 where m.id = any ($1)
 order by m.id`;

/** Messages with their texts, in the order of their ids; those that don't exist are left out. */
export function listStoredMessages(pool: Queryable, messageIds: readonly number[]): Promise<StoredMessage[]> {
  return list<StoredMessage>(pool, MESSAGES_BY_ID, [messageIds]);
}

/** One message with its text; undefined when there is none with this id. */
export async function findMessage(pool: Queryable, messageId: number): Promise<StoredMessage | undefined> {
  return (await listStoredMessages(pool, [messageId]))[0];
}

/** $1 file id, $2 after this ordinal, $3 how many. Index: messages (file_id, ordinal). */
const FILE_MESSAGES = `
select ${STORED}
  from messages m
  left join files f on f.id = m.file_id
 where m.file_id = $1
   and m.ordinal > $2
 order by m.ordinal
 limit $3`;

/** The next messages of a file after an ordinal, in their order. */
export function listFileMessages(
  pool: pg.Pool,
  fileId: number,
  after: number,
  limit: number,
): Promise<StoredMessage[]> {
  return list<StoredMessage>(pool, FILE_MESSAGES, [fileId, after, limit]);
}
