import type pg from "pg";
import type { Problem } from "../../core/failures.ts";
import type { Verdict } from "../../core/intake.ts";
import type { OutcomeMessage } from "../../core/outcome.ts";
import type { Place } from "../../core/place.ts";
import { beginsWith, list, narrowed, type Queryable, withoutNulls } from "../database.ts";
import { parseId } from "../ids.ts";
import { type LedgerOrder, listOrderRows, ORDER_COLUMNS } from "../orders/row.ts";
import { decodeEcho } from "./echo.ts";

/** A message as an operator sees it; its text is left out. */
export interface MessageView {
  /** Such as `m12`. */
  readonly messageId: string;
  readonly connector: string;
  /** Such as `f3`; undefined for one that came over a connection, and for a replay. */
  readonly fileId: string | undefined;
  readonly fileName: string | undefined;
  readonly place: Place;
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
       'm' || m.id as "messageId", m.connector, 'f' || f.id as "fileId", f.file_name as "fileName", m.place,
       m.message_control_id as "messageControlId", m.message_type as "messageType", m.verdict, m.problems,
       m.received_at as "receivedAt", 'm' || m.duplicate_of as "duplicateOf", 'm' || m.replay_of as "replayOf",
       array(select 'o' || x.id
               from (select id from orders where message_id = m.id
                      union
                     select order_id from corrections where message_id = m.id) x
              order by x.id) as "orderIds"`;
const STORED = `${VIEW}, m.ordinal, m.raw, m.format, m.encoding, m.csv_rows as "csvRows"`;

/**
 * A word finds at most this many messages, those of the newest files: more are listed by the file. One more than an act on all that
 * was found may change, so that it is refused instead of done to some.
 */
const FOUND = 1_001;

/**
 * Newest first; $1 connector, $2 verdict, $3 since, $4 before id, $5 word, $6 the number of an id that is the word, $7 the
 * beginning of a file's name as a pattern, $8 limit; null for any. Indexes: the primary key, messages_connector,
 * messages_unaccepted, messages_received; for a word messages_repeat, messages_names, files_name, messages (file_id, ordinal).
 */
const LIST_MESSAGES = `
select ${VIEW}
  from messages m
  left join files f on f.id = m.file_id
 where ($1::text is null or m.connector = $1)
   and ($2::text is null or m.verdict = $2)
   and ($3::timestamptz is null or m.received_at >= $3)
   and ($4::bigint is null or m.id < $4)
   and ($5::text is null
        or m.id = any ($6::bigint
                       || array(select c.id from messages c where c.message_control_id = $5 order by c.id desc limit ${FOUND})
                       || array(select c.id from messages c where c.names ? $5 order by c.id desc limit ${FOUND})
                       || array(select n.id
                                  from (select id from files where file_name like $7 order by id desc limit ${FOUND}) x
                                 cross join lateral (select o.id, o.ordinal
                                                       from messages o
                                                      where o.file_id = x.id
                                                      order by o.ordinal desc
                                                      limit ${FOUND}) n
                                 order by x.id desc, n.ordinal desc
                                 limit ${FOUND})))
 order by m.id desc
 limit $8`;

/** Which messages to list; all conditions hold together. */
export interface MessageFilter {
  readonly connector?: string | undefined;
  readonly verdict?: string | undefined;
  readonly since?: Date | undefined;
  /** An id, a control id, the beginning of a file's name; or an order's number or label of which no order was made. */
  readonly word?: string | undefined;
  /** Messages before this one, for the next page. */
  readonly beforeId?: number | undefined;
}

/** Messages, newest first. */
export async function listMessages(
  pool: pg.Pool,
  filter: MessageFilter & { readonly limit: number },
): Promise<MessageView[]> {
  const { connector, verdict, since, word, beforeId, limit } = filter;
  const id = word === undefined ? undefined : parseId("m", word);
  const name = word === undefined ? undefined : beginsWith(word);
  const values = [connector, verdict, since, beforeId, word, id, name, limit];
  return (await narrowed(pool, LIST_MESSAGES, values)).map((row) => withoutNulls(row) as MessageView);
}

/** $1 ids. Index: the primary key. */
const VIEWS_BY_ID = `
select ${VIEW}
  from messages m
  left join files f on f.id = m.file_id
 where m.id = any ($1)
 order by m.id`;

/** Messages without their texts, in the order of their ids; those that don't exist are left out. */
export function listMessagesById(pool: pg.Pool, messageIds: readonly number[]): Promise<MessageView[]> {
  return list<MessageView>(pool, VIEWS_BY_ID, [messageIds]);
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
const fileMessages = (columns: string) => `
select ${columns}
  from messages m
  left join files f on f.id = m.file_id
 where m.file_id = $1
   and m.ordinal > $2
 order by m.ordinal
 limit $3`;

/** A message of a file as its answer names it. */
export interface AnsweredMessage extends MessageView {
  readonly ordinal: number;
  readonly echo: OutcomeMessage["echo"];
}

/** The next messages of a file after an ordinal, in their order, with what their answers repeat of them. */
export async function listAnsweredMessages(
  pool: pg.Pool,
  fileId: number,
  after: number,
  limit: number,
): Promise<AnsweredMessage[]> {
  type Row = Omit<AnsweredMessage, "echo"> & { readonly echo?: string };
  const rows = await list<Row>(pool, fileMessages(`${VIEW}, m.ordinal, m.echo`), [fileId, after, limit]);
  return rows.map((row) => ({ ...row, echo: decodeEcho(row.echo) }));
}

/** The same for people. */
export function listFileMessageViews(
  pool: pg.Pool,
  fileId: number,
  after: number,
  limit: number,
): Promise<Omit<AnsweredMessage, "echo">[]> {
  return list(pool, fileMessages(`${VIEW}, m.ordinal`), [fileId, after, limit]);
}

/**
 * What answered a message: on its connection, or as the first result that says something of the message itself; $1 id.
 * Indexes: the primary keys, outcomes_message.
 */
const MESSAGE_ANSWER = `
select coalesce(m.reply, d.bytes) as bytes, m.reply is not null as "isReply",
       case when m.reply is null then 'd' || d.id end as "deliveryId"
  from messages m
  left join lateral (
       select a.id, a.bytes
         from outcomes t
         join deliveries a on a.id = t.delivery_id
        where t.message_id = m.id
          and t.kind <> 'changed'
          and a.bytes is not null
        order by a.id
        limit 1) d on true
 where m.id = $1
   and (m.reply is not null or d.id is not null)`;

/** What the lab was, or will be, answered about a message. */
export interface MessageAnswer {
  readonly bytes: Buffer;
  /** Sent over the connection that the message came by. */
  readonly isReply: boolean;
  /** The result that it is, such as `d4`; undefined for a reply. */
  readonly deliveryId: string | undefined;
}

/** What answered a message; undefined when nothing did, or the bytes were pruned. */
export async function findMessageAnswer(
  pool: pg.Pool,
  messageId: number,
): Promise<MessageAnswer | undefined> {
  return (await list<MessageAnswer>(pool, MESSAGE_ANSWER, [messageId]))[0];
}

/**
 * Ids of a connector's newest messages that still have their bytes, newest first: no repeats and no replays; $1 connector,
 * $2 how many. Index: messages_connector.
 */
const NEWEST_KEPT = `
select m.id
  from messages m
 where m.connector = $1
   and m.raw is not null
   and m.verdict <> 'duplicate'
   and m.replay_of is null
 order by m.id desc
 limit $2`;

/**
 * What messages made and nobody changed since; $1 bigint[] message ids. Indexes: orders (message_id, position), the primary key of
 * order_events.
 */
const UNCHANGED_ORDERS = `
select ${ORDER_COLUMNS}
  from orders o
 where o.message_id = any ($1)
   and not exists (select from order_events e where e.order_id = o.id and e.kind in ('changed', 'corrected'))
 order by o.message_id, o.position`;

/** A message of the ledger with the orders that it made, as they were made. */
export interface KeptMessage {
  readonly message: StoredMessage;
  readonly orders: readonly LedgerOrder[];
}

const A_PAGE = 100;

/** The newest messages of a connector that can be mapped again, a page at a time. @param most how many in all */
export async function* listKeptMessages(
  pool: pg.Pool,
  connector: string,
  most: number,
): AsyncGenerator<readonly KeptMessage[]> {
  const ids = (await list<{ id: number }>(pool, NEWEST_KEPT, [connector, most])).map(({ id }) => id);
  for (let at = 0; at < ids.length; at += A_PAGE) {
    const some = ids.slice(at, at + A_PAGE);
    const messages = await listStoredMessages(pool, some);
    const orders = await listOrderRows(pool, UNCHANGED_ORDERS, [some]);
    yield messages.map((message) => ({
      message,
      orders: orders.filter(({ messageId }) => `m${messageId}` === message.messageId),
    }));
  }
}
