import { createHash } from "node:crypto";
import type pg from "pg";
import type { Problem } from "../core/failures.ts";
import type { MessageVerdict } from "../core/intake.ts";
import type { Order } from "../core/order.ts";
import { draftReplies, markReusedControlIds } from "./draft-replies.ts";
import { HeldKeys, keysOf } from "./held-keys.ts";
import { formatId } from "./ids.ts";
import type { BatchSource, MessageRecord } from "./message-record.ts";
import type { OrderSnapshot } from "./order-row.ts";

/** The first accepted message with the same control id and bytes; $1 connector, $2 text[], $3 bytea[]. Index: messages_repeat. */
const FIND_REPEATED = `
select x.n::integer as n, min(m.id) as id
  from unnest($2::text[], $3::bytea[]) with ordinality as x(control_id, sha256, n)
  join messages m on m.connector = $1 and m.message_control_id = x.control_id and m.sha256 = x.sha256
 where m.verdict = 'accepted'
 group by x.n`;

/** Orders that carry these business keys; $1 text[]. Index: orders (business_key). */
const FIND_BY_KEY = `
select o.id, o.business_key, o.content_digest
  from orders o
 where o.business_key = any ($1)`;

/** Ids ahead of the insert, so that rows can refer to each other; $1 sequence, $2 how many. */
const TAKE_IDS = "select nextval(pg_get_serial_sequence($1, 'id')) as id from generate_series(1, $2)";

/** A message on its way into the ledger, with the decisions taken about it. */
export interface MessageDraft {
  readonly record: MessageRecord;
  readonly messageId: number;
  readonly sha256: Buffer;
  duplicateOf: number | undefined;
  /** An earlier message with the same control id and other content. */
  reuses: number | undefined;
  /** What is answered over the connection that it came by. */
  reply: Buffer | undefined;
  verdict: MessageVerdict["verdict"];
  problems: readonly Problem[];
  readonly orders: OrderDraft[];
  /** Orders of an earlier time that this message names again. */
  readonly repeatedOrderIds: number[];
}

/** An order that a message brings, with its id and what is to become of it. */
export interface OrderDraft {
  readonly order: Order;
  readonly orderId: number;
  readonly businessKey: string | null;
  readonly digest: string;
  readonly isConflict: boolean;
}

/**
 * Decides what becomes of each message: new, or a repeat of one that is in the ledger or came earlier in the list, or
 * held behind one of the same subject that waits; and of each of its orders: new, a repeat, or in conflict with an
 * earlier one. Changes nothing but takes ids.
 */
export async function draftMessages(
  client: pg.PoolClient,
  batch: BatchSource,
  records: readonly MessageRecord[],
): Promise<MessageDraft[]> {
  const held = await HeldKeys.find(client, batch.connector, records);
  const fresh = await takeIds(
    client,
    "messages",
    records.filter(({ waitedAs }) => waitedAs === undefined).length,
  );
  const orderIds = await takeIds(
    client,
    "orders",
    records.reduce((sum, record) => sum + record.orders.length, 0),
  );
  const drafts = records.map(
    (record): MessageDraft => ({
      record,
      messageId: record.waitedAs ?? (fresh.shift() as number),
      sha256: createHash("sha256").update(record.message.raw.reveal()).digest(),
      duplicateOf: undefined,
      reuses: undefined,
      reply: undefined,
      verdict: record.verdict,
      problems: record.problems,
      orders: [],
      repeatedOrderIds: [],
    }),
  );
  if (batch.replayOf === undefined) await markRepeatedMessages(client, batch.connector, drafts);
  await markReusedControlIds(client, batch.connector, drafts);
  await decideOrders(client, batch.connector, drafts, { orderIds, held });
  await draftReplies(client, drafts);
  return drafts;
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
  drafts: readonly MessageDraft[],
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
  drafts: readonly MessageDraft[],
  { orderIds, held }: { readonly orderIds: readonly number[]; readonly held: HeldKeys },
): Promise<void> {
  const keys = drafts.flatMap((draft) => draft.record.orders.map((order) => businessKey(connector, order)));
  const { rows } = await client.query<{ id: number; business_key: string; content_digest: Buffer }>(
    FIND_BY_KEY,
    [keys.filter((key) => key !== null)],
  );
  const known = new Map(
    rows.map((row) => [row.business_key, { orderId: row.id, digest: row.content_digest.toString("hex") }]),
  );
  const waiting = new Set<number>();
  let taken = 0;
  for (const draft of drafts) {
    if (draft.duplicateOf !== undefined && waiting.has(draft.duplicateOf)) notRepeated(draft);
    if (draft.verdict === "accepted") {
      const decided = draft.record.orders.map((order) => {
        const key = businessKey(connector, order);
        return { order, key, digest: digestOrder(order), first: key === null ? undefined : known.get(key) };
      });
      const hasOnlyRepeats =
        decided.length > 0 && decided.every(({ first, digest }) => first?.digest === digest);
      const before = hasOnlyRepeats ? undefined : held.findBefore(draft.messageId, keysOf(draft.record));
      if (before !== undefined) holdBehind(draft, before);
      for (const { order, key, digest, first } of before === undefined ? decided : []) {
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
      if (hasOnlyRepeats) draft.verdict = "duplicate";
    }
    if (draft.verdict === "waiting") {
      waiting.add(draft.messageId);
      held.hold(draft.messageId, keysOf(draft.record));
    } else if (draft.record.waitedAs !== undefined) {
      held.letGo(draft.messageId);
    }
  }
}

/** The message that it repeats has no orders yet, so there is nothing to answer with: it waits by itself. */
function notRepeated(draft: MessageDraft): void {
  draft.duplicateOf = undefined;
  draft.verdict = draft.record.verdict;
}

/** A later message of a subject must not overtake one that waits: the one may take out what the other puts in. */
function holdBehind(draft: MessageDraft, messageId: number): void {
  const message = `message ${formatId("m", messageId)} of the same subject came first and waits for a code table`;
  draft.verdict = "waiting";
  draft.problems = [{ code: "MAPPING_EARLIER_WAITS", place: draft.record.message.place, message }];
}

/** What tells an order from all others of its sender; null for one without a number. */
function businessKey(connector: string, order: Order): string | null {
  return order.placerOrderNumber === undefined ? null : businessKeyOf(connector, order.placerOrderNumber);
}

/** The key of the order that a connector's sender calls by this number. */
export function businessKeyOf(connector: string, placerOrderNumber: string): string {
  return `${connector}\n${placerOrderNumber}`;
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

/** Why an order in conflict is parked. */
export const CONFLICT_TEXT = "an earlier order has the same order number and other content";

/** What the lab would be told of a new order. */
export function draftSnapshot({ order, orderId, isConflict }: OrderDraft): OrderSnapshot {
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
