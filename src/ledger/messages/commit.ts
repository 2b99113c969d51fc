import { hash } from "node:crypto";
import type pg from "pg";
import type { Problem } from "../../core/failures.ts";
import type { Accepted, MessageVerdict } from "../../core/intake.ts";
import { phi } from "../../core/phi.ts";
import { inTransaction, list, type Queryable } from "../database.ts";
import { isInsertRace, isUnstorable } from "../database-failures.ts";
import { acceptControlRequests } from "../orders/accept-control.ts";
import type { OrderSnapshot } from "../orders/row.ts";
import { noteUnheardRefusals } from "../results/tasks.ts";
import { earlierOrders, insertAnswers, ordersByMessage } from "./answer.ts";
import { draftMessages } from "./draft.ts";
import { correctOrders, insertDrafts } from "./insert.ts";
import {
  type BatchSource,
  draftSnapshot,
  type MessageBatch,
  type MessageDraft,
  type MessageRecord,
} from "./record.ts";

/** Messages of a file that are committed already; $1 file id, $2 int[] ordinals. Index: messages (file_id, ordinal). */
const FIND_COMMITTED = `
select m.ordinal, m.place, m.message_control_id as "messageControlId", m.verdict, m.problems,
       coalesce(m.duplicate_of, m.id) as "sourceId"
  from messages m
 where m.file_id = $1
   and m.ordinal = any ($2)`;

const MAX_TRIES = 5;

/**
 * Commits a batch of messages with their orders, timeline entries and answers to the lab, in one transaction. When it
 * resolves, all of it is on disk. Those of a file are committed by `files.ts`.
 *
 * - The same message (control id and bytes) as one accepted before is a duplicate; so is an order with the same
 *   placer order number and the same content. Neither becomes a second order.
 * - The same placer order number with other content is kept as a parked order, for a person to decide; but where the first
 *   order is parked itself and nothing of it was sent, the lab corrects it so (see `corrects`).
 * - A message about a subject of whom an earlier one waits for a code waits for that one too, unless it only stops an
 *   open order, or asks about one.
 * - A message with a value that the database can't hold is kept as refused and stops no other of the batch.
 *
 * @throws Failure LEDGER_UNAVAILABLE when the database is out of reach.
 */
export function commitMessages(pool: pg.Pool, batch: MessageBatch): Promise<Accepted[]> {
  return withInsert(pool, (client, insert) => insert(client, batch, batch.records));
}

/**
 * Runs work that inserts messages in a transaction, again when another process was faster with the same order; with all
 * messages together, which is quick, or each by itself when one of them can't be held.
 */
export async function withInsert<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient, insert: Insert) => Promise<T>,
): Promise<T> {
  let insert = insertTogether;
  for (let tries = 1; ; tries += 1) {
    try {
      return await inTransaction(pool, (client) => work(client, insert));
    } catch (error) {
      if (isUnstorable(error) && insert === insertTogether) insert = insertOneByOne;
      else if (!isInsertRace(error) || tries >= MAX_TRIES) throw error;
    }
  }
}

/** Puts messages with all that came of them into the ledger, inside a transaction. */
export type Insert = (
  client: pg.PoolClient,
  batch: BatchSource,
  records: readonly MessageRecord[],
) => Promise<Accepted[]>;

/**
 * Commits messages of a file of which some may be committed already, also at this moment, as from the same bytes under another name:
 * of these nothing changes, and their verdicts are the same.
 */
export async function commitOfFile(
  client: pg.PoolClient,
  batch: MessageBatch,
  insert: Insert,
): Promise<Accepted[]> {
  const known = await findCommitted(client, batch);
  const fresh = batch.records.filter((record) => !known.has(record.message.ordinal));
  const verdicts = await insert(client, batch, fresh);
  const byOrdinal = new Map(verdicts.map((verdict) => [verdict.ordinal, verdict]));
  return batch.records.flatMap(
    ({ message }) => byOrdinal.get(message.ordinal) ?? known.get(message.ordinal) ?? [],
  );
}

/**
 * An order without a number, one that contradicts an earlier one, and an order control request have no key that a second one would
 * violate: only the message shows that it is the same. One of a file has its place there, one of a connection nothing. So
 * whoever commits such a message waits until others that commit it are done, before any other lock is taken.
 */
async function lockRepeatable(
  client: pg.PoolClient,
  { connector, replayOf }: BatchSource,
  records: readonly MessageRecord[],
): Promise<void> {
  if (replayOf !== undefined) return;
  const repeatable = records.filter(
    ({ orders, controlRequests = [], replyTo }) =>
      replyTo !== undefined ||
      controlRequests.length > 0 ||
      orders.some((order) => order.placerOrderNumber === undefined),
  );
  const controlIds = repeatable.flatMap(({ messageControlId }) => messageControlId ?? []);
  await lockControlIds(client, connector, controlIds);
}

const insertTogether: Insert = async (client, batch, records) => {
  if (records.length === 0) return [];
  await lockRepeatable(client, batch, records);
  return insertLocked(client, batch, records);
};

const insertLocked: Insert = async (client, batch, records) => {
  const drafts = await draftMessages(client, batch, records);
  await insertDrafts(client, batch, drafts);
  await correctOrders(client, drafts);
  // A draft may repeat an order of this very batch, which is there only now.
  const earlier = await earlierOrders(client, drafts);
  await insertAnswers(client, batch.connector, drafts, earlier);
  await noteUnheardRefusals(client, drafts);
  await acceptControlRequests(client, batch.connector, drafts);
  return drafts.map((draft) => toVerdict(draft, earlier));
};

/** Still one transaction: a message that can't be held is taken back to its savepoint and kept without its values. */
const insertOneByOne: Insert = async (client, batch, records) => {
  const verdicts: Accepted[] = [];
  await lockRepeatable(client, batch, records);
  for (const record of records) {
    await client.query("savepoint message");
    try {
      verdicts.push(...(await insertLocked(client, batch, [record])));
    } catch (error) {
      if (!isUnstorable(error)) throw error;
      await client.query("rollback to savepoint message");
      verdicts.push(...(await insertLocked(client, batch, [withoutUnstorable(record)])));
    }
    await client.query("release savepoint message");
  }
  return verdicts;
};

async function findCommitted(client: pg.PoolClient, batch: MessageBatch): Promise<Map<number, Accepted>> {
  const ordinals = batch.records.map((record) => record.message.ordinal);
  type Row = Omit<MessageVerdict, "orders"> & { readonly sourceId: number };
  const rows = await list<Row>(client, FIND_COMMITTED, [batch.fileId, ordinals]);
  const orders = await ordersByMessage(
    client,
    rows.map(({ sourceId }) => sourceId),
  );
  return new Map(
    rows.map(({ sourceId, ...row }) => [
      row.ordinal,
      { ...row, orders: orders.get(sourceId) ?? [], isEarlier: true },
    ]),
  );
}

function toVerdict(draft: MessageDraft, earlier: ReadonlyMap<number, OrderSnapshot[]>): Accepted {
  const fresh = draft.orders.map(draftSnapshot);
  return {
    ordinal: draft.record.message.ordinal,
    place: draft.record.message.place,
    verdict: draft.verdict,
    messageControlId: draft.record.messageControlId,
    problems: draft.problems,
    reply: draft.reply,
    orders: [...fresh, ...(earlier.get(draft.messageId) ?? [])].map(
      ({ orderId, operation, placerOrderNumber }) => ({
        orderId,
        operation,
        placerOrderNumber,
      }),
    ),
  };
}

/** Waits for others that commit the same messages; $1 bigint[] keys, in ascending order. */
const LOCK_MESSAGES = "select count(pg_advisory_xact_lock(x.key)) from unnest($1::bigint[]) as x(key)";

/**
 * Until the transaction ends, nobody else commits a message of the connector with one of these control ids: what a
 * statement behind this one finds of them is all there is, also of a transaction whose daemon lost its connection and
 * whose backend lives on.
 *
 * Keys are taken in ascending order, so that two never wait for each other, and to be taken before any other lock that
 * others hold while they wait for a key. In one statement with what is asked about the messages it would be too late:
 * a statement sees what was there when it began, and not when it had waited.
 */
async function lockControlIds(
  client: Queryable,
  connector: string,
  controlIds: readonly string[],
): Promise<void> {
  const keys = [...new Set(controlIds.map((controlId) => lockKey(connector, controlId)))];
  if (keys.length === 0) return;
  await client.query(LOCK_MESSAGES, [keys.sort((a, b) => (a < b ? -1 : 1))]);
}

/** Computed here, since the database may not be able to take the control id as a text. */
function lockKey(connector: string, messageControlId: string): bigint {
  return hash("sha256", `${connector}\n${messageControlId}`, "buffer").readBigInt64BE();
}

/**
 * A message with a value that the database can't hold, as it is kept: refused, with its bytes, which may be anything. Each
 * text of it that could be the one is left out; which it was, the database doesn't say.
 */
function withoutUnstorable({
  message,
  waitedAs,
  replyTo,
  isAnsweredInBatch,
  echo,
}: MessageRecord): MessageRecord {
  const problem: Problem = {
    code: "LEDGER_VALUE_UNSTORABLE",
    place: message.place,
    message:
      "one of its values can't be kept in the database: it is too long, or holds a character that is none",
  };
  const { content } = message;
  return {
    message: content.kind === "csv" ? { ...message, content: { kind: "csv", rows: phi([]) } } : message,
    ...{ waitedAs, replyTo, isAnsweredInBatch, echo },
    verdict: "refused",
    problems: [problem],
    orders: [],
  };
}
