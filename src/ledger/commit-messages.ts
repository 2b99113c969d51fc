import { createHash } from "node:crypto";
import type pg from "pg";
import type { Problem } from "../core/failures.ts";
import type { IncomingMessage, MessageVerdict } from "../core/intake.ts";
import type { Order } from "../core/order.ts";
import { INSERT_EVENTS, INSERT_OUTCOMES, ORDERS_BY_ID } from "./change-orders.ts";
import { inTransaction } from "./database.ts";
import { formatId } from "./ids.ts";
import { fromOrderRow, type OrderRow, type OrderSnapshot, snapshotOrder } from "./order-row.ts";

/** A message and what mapping made of it. */
export interface MessageRecord {
  readonly message: IncomingMessage;
  readonly messageControlId?: string | undefined;
  /** MSH-9, such as `OML^O33`; absent for CSV. */
  readonly messageType?: string | undefined;
  /** ORC-2 or the CSV's order number, as far as a refused message could be read. */
  readonly placerOrderNumber?: string | undefined;
  readonly verdict: "accepted" | "refused" | "ignored";
  readonly problems: readonly Problem[];
  readonly orders: readonly Order[];
}

export interface MessageBatch {
  /** The file they came in; null for a replay. */
  readonly fileId: number | null;
  readonly connector: string;
  /** Set when a person has an earlier message mapped anew. */
  readonly replayOf?: number | undefined;
  readonly records: readonly MessageRecord[];
}

/** Messages of a file that are committed already; $1 file id, $2 int[] ordinals. Index: messages (file_id, ordinal). */
const FIND_COMMITTED = `
select m.ordinal, m.place, m.message_control_id, m.verdict, m.problems, coalesce(m.duplicate_of, m.id) as source_id
  from messages m
 where m.file_id = $1
   and m.ordinal = any ($2)`;

/** The first accepted message with the same control id and bytes; $1 connector, $2 text[], $3 bytea[]. Index: messages_repeat. */
const FIND_REPEATED = `
select x.n::integer as n, min(m.id) as id
  from unnest($2::text[], $3::bytea[]) with ordinality as x(control_id, sha256, n)
  join messages m on m.connector = $1 and m.message_control_id = x.control_id and m.sha256 = x.sha256
 where m.verdict = 'accepted'
 group by x.n`;

/** Orders of messages; $1 bigint[]. Index: orders (message_id, position). */
const ORDER_IDS_BY_MESSAGE = `
select o.id, o.message_id, o.operation, o.placer_order_number
  from orders o
 where o.message_id = any ($1)
 order by o.id`;

/** Orders that carry these business keys; $1 text[]. Index: orders (business_key). */
const FIND_BY_KEY = `
select o.id, o.business_key, o.content_digest
  from orders o
 where o.business_key = any ($1)`;

/** Ids ahead of the insert, so that rows can refer to each other; $1 sequence, $2 how many. */
const TAKE_IDS = "select nextval(pg_get_serial_sequence($1, 'id')) as id from generate_series(1, $2)";

/** $1.. arrays of one value a message. */
const INSERT_MESSAGES = `
insert into messages (id, connector, file_id, ordinal, place, message_control_id, message_type, sha256, raw, format,
                      encoding, csv_rows, verdict, problems, duplicate_of, replay_of)
select x.id, $1, $2, x.ordinal, x.place, x.control_id, x.message_type, x.sha256, x.raw, x.format,
       x.encoding, x.csv_rows, x.verdict, x.problems, x.duplicate_of, $3
  from unnest($4::bigint[], $5::integer[], $6::text[], $7::text[], $8::text[], $9::bytea[], $10::bytea[], $11::text[],
              $12::text[], $13::jsonb[], $14::text[], $15::jsonb[], $16::bigint[])
       as x(id, ordinal, place, control_id, message_type, sha256, raw, format, encoding, csv_rows, verdict, problems,
            duplicate_of)`;

/** $1 JSON array of orders. A business key that appeared meanwhile makes the insert fail, and the batch is tried anew. */
const INSERT_ORDERS = `
insert into orders (id, message_id, position, connector, business_key, operation, facility_code, facility_id,
                    placer_order_number, subject_code, subject, sources, content_digest, state, failure_code, failure_text)
select x.id, x.message_id, x.position, x.connector, x.business_key, x.operation, x.facility_code, x.facility_id,
       x.placer_order_number, x.subject_code, x.subject, x.sources, decode(x.content_digest, 'hex'), x.state,
       x.failure_code, x.failure_text
  from jsonb_to_recordset($1::jsonb)
       as x(id bigint, message_id bigint, position integer, connector text, business_key text, operation text,
            facility_code text, facility_id bigint, placer_order_number text, subject_code text, subject jsonb,
            sources jsonb, content_digest text, state text, failure_code text, failure_text text)`;

/** $1 JSON array of containers. */
const INSERT_CONTAINERS = `
insert into order_containers (order_id, position, label, description)
select x.order_id, x.position, x.label, x.description
  from jsonb_to_recordset($1::jsonb) as x(order_id bigint, position integer, label text, description text)`;

const UNIQUE_VIOLATION = "23505";
const MAX_TRIES = 5;

/**
 * Commits a batch of messages with their orders, timeline entries and answers to the lab, in one transaction. When it
 * resolves, all of it is on disk. Calling it again with the same messages of a file changes nothing and gives the
 * same verdicts.
 *
 * - The same message (control id and bytes) as one accepted before is a duplicate; so is an order with the same
 *   placer order number and the same content. Neither becomes a second order.
 * - The same placer order number with other content is kept as a parked order, for a person to decide.
 *
 * @throws Failure LEDGER_UNAVAILABLE when the database is out of reach.
 */
export async function commitMessages(pool: pg.Pool, batch: MessageBatch): Promise<MessageVerdict[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await inTransaction(pool, (client) => commitWithin(client, batch));
    } catch (error) {
      const isRace = error instanceof Error && "code" in error && error.code === UNIQUE_VIOLATION;
      if (!isRace || tries >= MAX_TRIES) throw error;
    }
  }
}

async function commitWithin(client: pg.PoolClient, batch: MessageBatch): Promise<MessageVerdict[]> {
  const known = await findCommitted(client, batch);
  const fresh = batch.records.filter((record) => !known.has(record.message.ordinal));
  const verdicts =
    fresh.length > 0 ? await insertFresh(client, batch, fresh) : new Map<number, MessageVerdict>();
  return batch.records.flatMap(
    ({ message }) => verdicts.get(message.ordinal) ?? known.get(message.ordinal) ?? [],
  );
}

async function findCommitted(
  client: pg.PoolClient,
  batch: MessageBatch,
): Promise<Map<number, MessageVerdict>> {
  if (batch.fileId === null) return new Map();
  const ordinals = batch.records.map((record) => record.message.ordinal);
  const { rows } = await client.query<{
    ordinal: number;
    place: string;
    message_control_id: string | null;
    verdict: MessageVerdict["verdict"];
    problems: Problem[];
    source_id: number;
  }>(FIND_COMMITTED, [batch.fileId, ordinals]);
  const orders = await ordersByMessage(
    client,
    rows.map((row) => row.source_id),
  );
  return new Map(
    rows.map((row) => [
      row.ordinal,
      {
        ordinal: row.ordinal,
        place: row.place,
        verdict: row.verdict,
        messageControlId: row.message_control_id ?? undefined,
        problems: row.problems,
        orders: orders.get(row.source_id) ?? [],
      },
    ]),
  );
}

async function ordersByMessage(
  client: pg.PoolClient,
  messageIds: readonly number[],
): Promise<
  Map<number, { orderId: string; operation: Order["operation"]; placerOrderNumber: string | undefined }[]>
> {
  if (messageIds.length === 0) return new Map();
  const { rows } = await client.query<{
    id: number;
    message_id: number;
    operation: Order["operation"];
    placer_order_number: string | null;
  }>(ORDER_IDS_BY_MESSAGE, [messageIds]);
  const found = new Map<
    number,
    { orderId: string; operation: Order["operation"]; placerOrderNumber: string | undefined }[]
  >();
  for (const row of rows) {
    const list = found.get(row.message_id) ?? [];
    list.push({
      orderId: formatId("o", row.id),
      operation: row.operation,
      placerOrderNumber: row.placer_order_number ?? undefined,
    });
    found.set(row.message_id, list);
  }
  return found;
}

/** A message on its way into the ledger, with the decisions taken about it. */
interface Draft {
  readonly record: MessageRecord;
  readonly messageId: number;
  readonly sha256: Buffer;
  duplicateOf: number | undefined;
  verdict: MessageVerdict["verdict"];
  readonly orders: OrderDraft[];
  /** Orders of an earlier time that this message names again. */
  readonly repeatedOrderIds: number[];
}

interface OrderDraft {
  readonly order: Order;
  readonly orderId: number;
  readonly businessKey: string | null;
  readonly digest: string;
  readonly isConflict: boolean;
}

async function insertFresh(
  client: pg.PoolClient,
  batch: MessageBatch,
  records: readonly MessageRecord[],
): Promise<Map<number, MessageVerdict>> {
  const messageIds = await takeIds(client, "messages", records.length);
  const orderIds = await takeIds(
    client,
    "orders",
    records.reduce((sum, record) => sum + record.orders.length, 0),
  );
  const drafts = records.map(
    (record, index): Draft => ({
      record,
      messageId: messageIds[index] as number,
      sha256: createHash("sha256").update(record.message.raw.reveal()).digest(),
      duplicateOf: undefined,
      verdict: record.verdict,
      orders: [],
      repeatedOrderIds: [],
    }),
  );
  if (batch.replayOf === undefined) await markRepeatedMessages(client, batch.connector, drafts);
  await decideOrders(client, batch.connector, drafts, orderIds);
  await insertMessages(client, batch, drafts);
  await insertOrders(client, batch.connector, drafts);
  const earlier = await earlierOrders(client, drafts);
  await insertAnswers(client, batch.connector, drafts, earlier);
  return new Map(drafts.map((draft) => [draft.record.message.ordinal, toVerdict(draft, earlier)]));
}

async function takeIds(
  client: pg.PoolClient,
  table: "messages" | "orders",
  count: number,
): Promise<number[]> {
  if (count === 0) return [];
  const { rows } = await client.query<{ id: number }>(TAKE_IDS, [table, count]);
  return rows.map((row) => row.id);
}

/** Finds messages that came before with the same control id and the same bytes, in the ledger or earlier in this batch. */
async function markRepeatedMessages(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly Draft[],
): Promise<void> {
  const candidates = drafts.filter(
    (draft) => draft.record.messageControlId !== undefined && draft.verdict === "accepted",
  );
  if (candidates.length === 0) return;
  const { rows } = await client.query<{ n: number; id: number }>(FIND_REPEATED, [
    connector,
    candidates.map((draft) => draft.record.messageControlId),
    candidates.map((draft) => draft.sha256),
  ]);
  const firstIds = new Map(rows.map((row) => [row.n, row.id]));
  const seen = new Map<string, number>();
  candidates.forEach((draft, index) => {
    const key = `${draft.record.messageControlId}\n${draft.sha256.toString("hex")}`;
    const firstId = firstIds.get(index + 1) ?? seen.get(key);
    if (firstId === undefined) {
      seen.set(key, draft.messageId);
    } else {
      draft.duplicateOf = firstId;
      draft.verdict = "duplicate";
    }
  });
}

async function decideOrders(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly Draft[],
  orderIds: readonly number[],
): Promise<void> {
  const fresh = drafts.filter((draft) => draft.verdict === "accepted");
  const keys = fresh.flatMap((draft) => draft.record.orders.map((order) => businessKey(connector, order)));
  const { rows } = await client.query<{ id: number; business_key: string; content_digest: Buffer }>(
    FIND_BY_KEY,
    [keys.filter((key) => key !== null)],
  );
  const known = new Map(
    rows.map((row) => [row.business_key, { orderId: row.id, digest: row.content_digest.toString("hex") }]),
  );
  let taken = 0;
  for (const draft of fresh) {
    for (const order of draft.record.orders) {
      const key = businessKey(connector, order);
      const digest = digestOrder(order);
      const first = key === null ? undefined : known.get(key);
      if (first?.digest === digest) {
        draft.repeatedOrderIds.push(first.orderId);
        continue;
      }
      const orderId = orderIds[taken++] as number;
      draft.orders.push({
        order,
        orderId,
        businessKey: first ? null : key,
        digest,
        isConflict: first !== undefined,
      });
      if (key !== null && !first) known.set(key, { orderId, digest });
    }
    const hasOnlyRepeats = draft.orders.length === 0 && draft.repeatedOrderIds.length > 0;
    if (hasOnlyRepeats) draft.verdict = "duplicate";
  }
}

function businessKey(connector: string, order: Order): string | null {
  return order.placerOrderNumber === undefined ? null : `${connector}\n${order.placerOrderNumber}`;
}

/** Digest over everything an order asks for, whatever way it was written in the message. */
function digestOrder(order: Order): string {
  const { subject } = order;
  const content = [
    order.operation,
    order.facilityId,
    subject.code.reveal(),
    subject.firstName?.reveal() ?? null,
    subject.lastName?.reveal() ?? null,
    subject.dateOfBirth?.reveal() ?? null,
    order.containers.map(({ label, description }) => [label, description]).sort(),
  ];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

async function insertMessages(
  client: pg.PoolClient,
  batch: MessageBatch,
  drafts: readonly Draft[],
): Promise<void> {
  const column = <T>(pick: (draft: Draft) => T): T[] => drafts.map(pick);
  await client.query(INSERT_MESSAGES, [
    batch.connector,
    batch.fileId,
    batch.replayOf ?? null,
    column((draft) => draft.messageId),
    column((draft) => draft.record.message.ordinal),
    column((draft) => draft.record.message.place),
    column((draft) => draft.record.messageControlId ?? null),
    column((draft) => draft.record.messageType ?? null),
    column((draft) => draft.sha256),
    column((draft) => draft.record.message.raw.reveal()),
    column((draft) => draft.record.message.content.kind),
    column(({ record: { message } }) =>
      message.content.kind === "hl7" ? (message.content.encoding ?? null) : null,
    ),
    column(({ record: { message } }) =>
      message.content.kind === "csv"
        ? JSON.stringify(message.content.rows.reveal().map((row) => [row.line, [...row.values]]))
        : null,
    ),
    column((draft) => draft.verdict),
    column((draft) => JSON.stringify(draft.record.problems)),
    column((draft) => draft.duplicateOf ?? null),
  ]);
}

async function insertOrders(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly Draft[],
): Promise<void> {
  const orders = drafts.flatMap((draft) =>
    draft.orders.map(({ order, orderId, businessKey: key, digest, isConflict }, index) => ({
      id: orderId,
      message_id: draft.messageId,
      position: index + 1,
      connector,
      business_key: key,
      operation: order.operation,
      facility_code: order.facilityCode,
      facility_id: order.facilityId,
      placer_order_number: order.placerOrderNumber,
      subject_code: order.subject.code.reveal(),
      subject: {
        firstName: order.subject.firstName?.reveal(),
        lastName: order.subject.lastName?.reveal(),
        dateOfBirth: order.subject.dateOfBirth?.reveal(),
      },
      sources: order.sources,
      content_digest: digest,
      state: isConflict ? "parked" : "received",
      failure_code: isConflict ? "ORDER_NUMBER_REUSED" : undefined,
      failure_text: isConflict ? CONFLICT_TEXT : undefined,
    })),
  );
  if (orders.length === 0) return;
  await client.query(INSERT_ORDERS, [JSON.stringify(orders)]);
  const containers = drafts.flatMap((draft) =>
    draft.orders.flatMap(({ order, orderId }) =>
      order.containers.map(({ label, description }, index) => ({
        order_id: orderId,
        position: index + 1,
        label,
        description,
      })),
    ),
  );
  if (containers.length > 0) await client.query(INSERT_CONTAINERS, [JSON.stringify(containers)]);
  const events = drafts.flatMap((draft) =>
    draft.orders.map(({ orderId, isConflict }) => ({
      order_id: orderId,
      kind: isConflict ? "parked" : "received",
      to_state: isConflict ? "parked" : "received",
      detail: isConflict
        ? { code: "ORDER_NUMBER_REUSED", text: CONFLICT_TEXT }
        : { place: draft.record.message.place },
    })),
  );
  const repeats = drafts.flatMap((draft) =>
    draft.repeatedOrderIds.map((id) => ({
      order_id: id,
      kind: "repeated",
      detail: { messageId: formatId("m", draft.messageId) },
    })),
  );
  await client.query(INSERT_EVENTS, [JSON.stringify([...events, ...repeats])]);
}

const CONFLICT_TEXT = "an earlier order has the same order number and other content";

/** The orders of an earlier time that this batch names again, as they stand now. */
async function earlierOrders(
  client: pg.PoolClient,
  drafts: readonly Draft[],
): Promise<Map<number, OrderSnapshot[]>> {
  const sourceIds = drafts.flatMap((draft) => (draft.duplicateOf === undefined ? [] : [draft.duplicateOf]));
  const byMessage = await ordersByMessage(client, sourceIds);
  const idsByDraft = new Map(
    drafts.map((draft) => {
      const ids = draft.duplicateOf === undefined ? [] : (byMessage.get(draft.duplicateOf) ?? []);
      return [
        draft.messageId,
        [...draft.repeatedOrderIds, ...ids.map((order) => Number(order.orderId.slice(1)))],
      ];
    }),
  );
  const wanted = [...idsByDraft.values()].flat();
  if (wanted.length === 0) return new Map();
  const { rows } = await client.query<OrderRow>(ORDERS_BY_ID, [wanted]);
  const snapshots = new Map(rows.map((row) => [row.id, snapshotOrder(fromOrderRow(row))]));
  return new Map(
    [...idsByDraft].map(([messageId, ids]) => [messageId, ids.flatMap((id) => snapshots.get(id) ?? [])]),
  );
}

async function insertAnswers(
  client: pg.PoolClient,
  connector: string,
  drafts: readonly Draft[],
  earlier: ReadonlyMap<number, OrderSnapshot[]>,
): Promise<void> {
  const outcomes = drafts.flatMap((draft): Record<string, unknown>[] => {
    const answer = { connector, message_id: draft.messageId };
    if (draft.verdict === "ignored") return [];
    if (draft.verdict === "refused")
      return [
        {
          ...answer,
          kind: "refused",
          payload: { problems: draft.record.problems, placerOrderNumber: draft.record.placerOrderNumber },
        },
      ];
    const fresh = draft.orders.map(draftSnapshot);
    const told = [...fresh, ...(earlier.get(draft.messageId) ?? [])];
    const acknowledged = {
      ...answer,
      kind: "acknowledged",
      payload: { orders: told, isDuplicate: draft.verdict === "duplicate" },
    };
    const conflicts = draft.orders
      .filter((order) => order.isConflict)
      .map((order) => ({
        ...answer,
        order_id: order.orderId,
        kind: "changed",
        payload: { order: draftSnapshot(order) },
      }));
    return [acknowledged, ...conflicts];
  });
  if (outcomes.length > 0) await client.query(INSERT_OUTCOMES, [JSON.stringify(outcomes)]);
}

function draftSnapshot({ order, orderId, isConflict }: OrderDraft): OrderSnapshot {
  return {
    orderId: formatId("o", orderId),
    operation: order.operation,
    placerOrderNumber: order.placerOrderNumber,
    facilityCode: order.facilityCode,
    subjectCode: order.subject.code.reveal(),
    state: isConflict ? "parked" : "received",
    containers: order.containers,
    reason: isConflict ? { code: "ORDER_NUMBER_REUSED", text: CONFLICT_TEXT } : undefined,
  };
}

function toVerdict(draft: Draft, earlier: ReadonlyMap<number, OrderSnapshot[]>): MessageVerdict {
  const fresh = draft.orders.map(draftSnapshot);
  return {
    ordinal: draft.record.message.ordinal,
    place: draft.record.message.place,
    verdict: draft.verdict,
    messageControlId: draft.record.messageControlId,
    problems: draft.record.problems,
    orders: [...fresh, ...(earlier.get(draft.messageId) ?? [])].map(
      ({ orderId, operation, placerOrderNumber }) => ({
        orderId,
        operation,
        placerOrderNumber,
      }),
    ),
  };
}
