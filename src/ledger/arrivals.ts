import type pg from "pg";
import type { Received } from "../core/intake.ts";
import {
  type Arrival,
  type ArrivalRows,
  digestsOf,
  endsOf,
  splitRows,
  toRows,
  withoutTexts,
} from "./arrival-rows.ts";
import { insertEach, withInsert } from "./commit-messages.ts";
import { findControlIds } from "./control-ids.ts";
import { asLedgerFailure, inOneWrite, inTransaction, prepared, run } from "./database.ts";
import { lockControlIds } from "./lock-messages.ts";
import { takeIds } from "./message-drafts.ts";
import type { ArrivedMessage, MessageRecord } from "./message-record.ts";
import { isUnstorable } from "./unstorable.ts";

/**
 * Writes messages and that their orders are to be made, in one statement. Bytes come as one value each, cut up here: as
 * arrays of values they would be written and read as text. $1 connector, $2 raws, $3 digests of 32 bytes, $4 replies; then
 * arrays of one value a message: $5 ids, $6 control ids, $7 types, $8 encodings, $9 peers, $10 lengths of the raws,
 * $11 ends of the raws, $12 lengths of the replies (-1 for none), $13 ends of the replies, $14 senders, $15 ms of arrival
 * (null for now), $16 whether each is told by its answer.
 *
 * @param more what else is written, as further parts of `with`
 * @param condition what must hold of all of them, or nothing is written
 */
const insertStatement = ({ more = "", condition = "true" }) => `
with taken as (
  insert into messages (id, connector, ordinal, place, message_control_id, message_type, sha256, raw, format, encoding,
                        verdict, peer, sender, received_at, reply)
  select x.id, $1, 1, 'message 1', x.control_id, x.message_type, substring($3::bytea from x.n::integer * 32 - 31 for 32),
         substring($2::bytea from x.raw_end - x.raw_length + 1 for x.raw_length), 'hl7', x.encoding, 'accepted', x.peer,
         x.sender, coalesce(to_timestamp(x.received_ms / 1000), now()),
         case when x.reply_length >= 0 then
           substring($4::bytea from x.reply_end - x.reply_length + 1 for x.reply_length)
         end
    from unnest($5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::integer[], $11::integer[],
                $12::integer[], $13::integer[], $14::text[], $15::float8[])
         with ordinality
         as x(id, control_id, message_type, encoding, peer, raw_length, raw_end, reply_length, reply_end, sender,
              received_ms, n)
   where ${condition}
  returning id)${more}
insert into arrivals (connector, message_ids, is_told, bytes)
select $1, $5, $16::boolean[], length($2) where exists (select 1 from taken)
returning id`;

/**
 * Writes nothing when a control id came before or a message of the connector waits. To be asked with the control ids
 * locked. Indexes: messages_control_id, waiting_keys' primary key.
 */
export const INSERT_ARRIVALS = insertStatement({
  condition: `not exists (${findControlIds("$6")})
     and not exists (select 1 from waiting_keys w where w.connector = $1)`,
});

/** Notes up to which message the journal of the connector $1 is in the ledger; it never goes back. */
const noteThrough = (messageId: "$2" | "$17") => `
insert into journals (connector, through)
values ($1, ${messageId})
    on conflict (connector) do update set through = greatest(journals.through, excluded.through)`;

/** Of messages that stand in the connector's journal, which is over with them; $17 the number of the last one there. */
const INSERT_JOURNALED = insertStatement({ more: `, marked as (${noteThrough("$17")})` });

/** Numbers for messages that are to arrive, ascending. @throws Failure LEDGER_UNAVAILABLE */
export async function takeMessageIds(pool: pg.Pool, count: number): Promise<number[]> {
  try {
    return (await takeIds(pool, { messages: count, orders: 0 })).messages;
  } catch (error) {
    throw asLedgerFailure(error);
  }
}

/**
 * Of a sequence only the first of 32 numbers is written to the log, maybe by a transaction that isn't over: by itself a
 * number that was given may be given anew after a crash of the server. The note, which nobody reads, has the commit wait
 * until the log is on disk up to it. $1 how many.
 */
const TAKE_LASTING = `
with note as materialized (select pg_logical_emit_message(true, 'cryobridge', ''))
select array_agg(x.id) as ids
  from (select nextval(pg_get_serial_sequence('messages', 'id')) as id
          from note
         cross join generate_series(1, $1)) as x`;

/**
 * The same, for messages that are put down elsewhere before the ledger has them: once it resolves, no crash has these
 * numbers given a second time.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 */
export async function takeLastingMessageIds(pool: pg.Pool, count: number): Promise<number[]> {
  const [row] = await run<{ ids: number[] | null }>(pool, TAKE_LASTING, [count]);
  return row?.ids ?? [];
}

/** $1 message id. */
const PASS_ID = `
select count(nextval(pg_get_serial_sequence('messages', 'id')))
  from generate_series(1, $1 - coalesce(pg_sequence_last_value(pg_get_serial_sequence('messages', 'id')), 0))`;

/** Has all numbers that are given from now on be above this one. @throws Failure LEDGER_UNAVAILABLE */
export async function passMessageId(pool: pg.Pool, messageId: number): Promise<void> {
  await run(pool, PASS_ID, [messageId]);
}

/**
 * Commits messages that came over a connection, each in order and with a control id of its own, before their orders are
 * made; {@link takeUpArrivals} makes them. When it resolves with true all of it is on disk.
 *
 * @returns false, with nothing changed, when there is more to decide about one of them: its control id came before, a
 * message of the connector waits, or the database can't hold one of its values.
 * @throws Failure LEDGER_UNAVAILABLE when the database is out of reach.
 */
export async function insertArrivals(
  pool: pg.Pool,
  connector: string,
  arrivals: readonly Arrival[],
): Promise<boolean> {
  try {
    const rows = toRows(arrivals, null);
    const [, inserted] = await inOneWrite(pool, (client) => [
      // One that is being committed, perhaps for a daemon that lost its connection, came before, too.
      lockControlIds(
        client,
        connector,
        rows.controlIds.filter((controlId) => controlId !== null),
      ),
      insertRows(client, "insert_arrivals", INSERT_ARRIVALS, connector, rows),
    ]);
    return inserted === 1;
  } catch (error) {
    if (isUnstorable(error)) return false;
    throw asLedgerFailure(error);
  }
}

/**
 * Commits messages that were answered when they stood in the connector's journal, whatever came before: how their
 * orders are taken is decided by {@link takeUpArrivals}. A text that the database can't hold is left out; the bytes of
 * the message are always kept.
 *
 * @param through up to which number the journal is in the ledger then
 * @throws Failure LEDGER_UNAVAILABLE; then it may have been committed all the same, see {@link findThrough}.
 */
export async function insertJournaled(
  pool: pg.Pool,
  connector: string,
  rows: ArrivalRows,
  through: number,
): Promise<void> {
  const insert = (client: pg.Pool | pg.PoolClient, some: ArrivalRows) =>
    insertRows(client, "insert_journaled", INSERT_JOURNALED, connector, some, through);
  try {
    await insert(pool, rows).catch((error: unknown) => {
      if (!isUnstorable(error)) throw error;
      return inTransaction(pool, async (client) => {
        for (const row of splitRows(rows)) {
          await client.query("savepoint before_row");
          await insert(client, row).catch(async (fault: unknown) => {
            if (!isUnstorable(fault)) throw fault;
            await client.query("rollback to savepoint before_row");
            return insert(client, withoutTexts(row));
          });
        }
      });
    });
  } catch (error) {
    throw asLedgerFailure(error);
  }
}

async function insertRows(
  client: pg.Pool | pg.PoolClient,
  name: string,
  statement: string,
  connector: string,
  rows: ArrivalRows,
  ...more: readonly unknown[]
): Promise<number | null> {
  const { rowCount } = await prepared(client, name, statement, [
    connector,
    rows.raws,
    digestsOf(rows),
    rows.replies,
    rows.messageIds,
    rows.controlIds,
    rows.messageTypes,
    rows.encodings,
    rows.peers,
    rows.rawLengths,
    endsOf(rows.rawLengths),
    rows.replyLengths,
    endsOf(rows.replyLengths),
    rows.senders,
    rows.receivedAt,
    rows.isTold,
    ...more,
  ]);
  return rowCount;
}

/** $1 connector. */
const FIND_THROUGH = "select j.through from journals j where j.connector = $1";

/** Up to which message a connector's journal is in the ledger; 0 when it never was. @throws Failure LEDGER_UNAVAILABLE */
export async function findThrough(pool: pg.Pool, connector: string): Promise<number> {
  const [row] = await run<{ through: number }>(pool, FIND_THROUGH, [connector]);
  return row?.through ?? 0;
}

/**
 * Notes that a connector's journal holds no message up to this one that is still to be taken into the ledger.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 */
export async function markThrough(pool: pg.Pool, connector: string, messageId: number): Promise<void> {
  await run(pool, noteThrough("$2"), [connector, messageId]);
}

/** One process at a time takes up a connector's arrivals, so that orders are made in the order of their messages; $1 connector. */
const LOCK_CONNECTOR = "select pg_advisory_xact_lock(7264010, hashtext($1))";

/**
 * The oldest arrivals of a connector, as far as they hold no more messages than $2 and no more bytes than $3, but at
 * least one; $1 connector.
 */
const FIND_DUE = `
select x.id, x.message_ids, x.is_told
  from (select a.id, a.message_ids, a.is_told, row_number() over (order by a.id) as n,
               sum(cardinality(a.message_ids)) over (order by a.id) as messages,
               sum(a.bytes) over (order by a.id) as bytes
          from (select * from arrivals where connector = $1 order by id limit $2) as a) as x
 where x.n = 1
    or (x.messages <= $2 and x.bytes <= $3)
 order by x.id`;

/** $1 connector. Index: the primary key. */
const LAST = "select max(a.id) as id from arrivals a where a.connector = $1";

/** The newest arrival of a connector; 0 when there is none. @throws Failure LEDGER_UNAVAILABLE */
export async function findLastArrival(pool: pg.Pool, connector: string): Promise<number> {
  const [row] = await run<{ id: number | null }>(pool, LAST, [connector]);
  return row?.id ?? 0;
}

/** $1 connector, $2 bigint[] ids. */
const FORGET = "delete from arrivals where connector = $1 and id = any ($2)";

/** How arrivals are taken up. */
export interface TakeUpOptions {
  /** Messages and bytes of one transaction at most; a commit that had more is taken up whole. */
  readonly most: { readonly messages: number; readonly bytes: number };
  /** What mapping makes of these messages, in their order. */
  readonly recordsOf: (
    client: pg.PoolClient,
    arrived: readonly ArrivedMessage[],
  ) => Promise<readonly MessageRecord[]>;
  /** Whether each message is taken up by itself, and one that fails for whatever reason is kept as refused. */
  readonly isEachAlone: boolean;
}

/** Messages whose orders were made. */
export interface TakenUp {
  /** The newest arrival among them; undefined when nothing was due. */
  readonly through: number | undefined;
  readonly messageIds: readonly number[];
  /** What became of each. */
  readonly received: readonly Received[];
}

/**
 * Makes the orders of the oldest messages of a connector that arrived, in one transaction: a crash loses and doubles
 * none.
 *
 * @throws Failure LEDGER_UNAVAILABLE when the database is out of reach.
 */
export async function takeUpArrivals(
  pool: pg.Pool,
  connector: string,
  { most, recordsOf, isEachAlone }: TakeUpOptions,
): Promise<TakenUp> {
  const work = async (client: pg.PoolClient, insert: typeof insertEach) => {
    await client.query(LOCK_CONNECTOR, [connector]);
    const { rows } = await client.query<{ id: number; message_ids: number[]; is_told: boolean[] }>(FIND_DUE, [
      connector,
      most.messages,
      most.bytes,
    ]);
    // Not by number: another process may have taken lower ones ahead and used them later.
    const arrived = rows.flatMap((row) =>
      row.message_ids.map((messageId, n) => ({ messageId, isTold: row.is_told[n] === true })),
    );
    const messageIds = arrived.map(({ messageId }) => messageId);
    const through = rows.at(-1)?.id;
    if (through === undefined) return { through, messageIds, received: [] };
    const records = await recordsOf(client, arrived);
    const received = await insert(
      client,
      { fileId: null, connector },
      records.map((record, n) => ({ ...record, arrived: arrived[n] })),
    );
    await client.query(FORGET, [connector, rows.map((row) => row.id)]);
    return { through, messageIds, received };
  };
  return withInsert(pool, isEachAlone ? (client) => work(client, insertEach) : work);
}

/** Messages whose orders are to be made, by connector, and for how long the oldest has been there. */
const COUNT = `
select a.connector, sum(cardinality(a.message_ids))::bigint as count,
       extract(epoch from now() - min(a.arrived_at))::float8 as oldest_seconds
  from arrivals a
 group by a.connector
 order by a.connector`;

/** Messages of one connector that were answered and whose orders are still to be made. */
export interface ArrivalCount {
  readonly connector: string;
  readonly count: number;
  readonly oldestSeconds: number;
}

/** How many there are; connectors without any are left out. @throws Failure LEDGER_UNAVAILABLE */
export async function countArrivals(pool: pg.Pool): Promise<ArrivalCount[]> {
  const rows = await run<{ connector: string; count: number; oldest_seconds: number }>(pool, COUNT);
  return rows.map((row) => ({
    connector: row.connector,
    count: row.count,
    oldestSeconds: row.oldest_seconds,
  }));
}
