import type pg from "pg";
import type { Problem } from "../../core/failures.ts";
import type { Verdict } from "../../core/intake.ts";
import type { OrderState } from "../../core/order-state.ts";
import { type Queryable, run } from "../database.ts";
import { formatId, parseId } from "../ids.ts";
import { fromOrderRow, type LedgerOrder, ORDER_COLUMNS, type OrderRow } from "../orders/row.ts";
import { WAITS_BEHIND } from "../results/deliveries.ts";

/** Which orders to list; all conditions hold together. */
export interface OrderFilter {
  readonly states?: readonly OrderState[] | undefined;
  readonly connector?: string | undefined;
  readonly subjectCode?: string | undefined;
  readonly since?: Date | undefined;
  /** Orders before this one, for the next page. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/** Newest first; $1 text[] states, $2 connector, $3 subject code, $4 since, $5 before id, $6 limit; null for any. */
const LIST_ORDERS = `
select ${ORDER_COLUMNS}
  from orders o
 where ($1::text[] is null or o.state = any ($1))
   and ($2::text is null or o.connector = $2)
   and ($3::text is null or o.subject_code = $3)
   and ($4::timestamptz is null or o.received_at >= $4)
   and ($5::bigint is null or o.id < $5)
 order by o.id desc
 limit $6`;

/** $1 id. Index: the primary key. */
const ORDER_BY_ID = `select ${ORDER_COLUMNS} from orders o where o.id = $1`;

/** $1 placer order number. Index: orders_placer. */
const ORDERS_BY_NUMBER = `
select ${ORDER_COLUMNS}
  from orders o
 where o.placer_order_number = $1
 order by o.id desc
 limit 20`;

/** $1 order id. Index: order_events_order. */
const EVENTS = `
select e.at, e.kind, e.to_state, e.detail
  from order_events e
 where e.order_id = $1
 order by e.id`;

/** $1 order id. Indexes: outcomes_order, outcomes_message, outcome_orders_order, the primary key. */
const ORDER_DELIVERIES = `
select distinct d.id, d.connector, d.file_name, d.state, d.attempts, d.failure_code, d.failure_text, d.created_at, d.delivered_at, d.next_at,
       ${WAITS_BEHIND}
  from outcomes t
  join deliveries d on d.id = t.delivery_id
 where t.order_id = $1
    or (t.order_id is null and t.message_id = (select o.message_id from orders o where o.id = $1))
    or t.id = any (array(select s.outcome_id from outcome_orders s where s.order_id = $1))
 order by d.id`;

/** The call as it was sent; $1 order id. */
const SENT = "select sent from orders where id = $1";

/** Newest first; $1 connector, $2 verdict, $3 since, $4 limit; null for any. Index: messages_received. */
const LIST_MESSAGES = `
select m.id, m.connector, f.file_name, m.place, m.message_control_id, m.message_type, m.verdict, m.problems, m.received_at,
       m.duplicate_of, m.replay_of,
       (select coalesce(array_agg(o.id order by o.id), '{}') from orders o where o.message_id = m.id) as order_ids
  from messages m
  left join files f on f.id = m.file_id
 where ($1::text is null or m.connector = $1)
   and ($2::text is null or m.verdict = $2)
   and ($3::timestamptz is null or m.received_at >= $3)
 order by m.id desc
 limit $4`;

/** $1 ids. Index: the primary key. */
const MESSAGES_BY_ID = `
select m.id, m.connector, f.file_name, m.place, m.message_control_id, m.message_type, m.verdict, m.problems, m.received_at,
       m.duplicate_of, m.replay_of, m.ordinal, m.raw, m.format, m.encoding, m.csv_rows,
       (select coalesce(array_agg(o.id order by o.id), '{}') from orders o where o.message_id = m.id) as order_ids
  from messages m
  left join files f on f.id = m.file_id
 where m.id = any ($1)
 order by m.id`;

/** Deliveries that the lab does not have; $1 limit. Indexes: deliveries_pending, deliveries_parked, deliveries_lanes. */
const OPEN_DELIVERIES = `
select d.id, d.connector, d.file_name, d.state, d.attempts, d.failure_code, d.failure_text, d.created_at, d.delivered_at, d.next_at,
       ${WAITS_BEHIND}
  from deliveries d
 where (d.state = 'pending' or d.state = 'parked')
 order by d.id
 limit $1`;

/** An entry of an order's timeline. */
export interface OrderEvent {
  readonly at: Date;
  readonly kind: string;
  readonly toState: OrderState | undefined;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A delivery as an operator sees it; its bytes are left out. */
export interface DeliveryView {
  /** Such as `d4`. */
  readonly deliveryId: string;
  readonly connector: string;
  readonly fileName: string;
  readonly state: "pending" | "delivered" | "parked" | "dropped";
  readonly attempts: number;
  readonly failure: { readonly code: string; readonly text: string } | undefined;
  readonly createdAt: Date;
  readonly deliveredAt: Date | undefined;
  readonly nextAt: Date;
  /** The delivery of the same order, such as `d3`, that has to be delivered or given up first. */
  readonly waitsBehind: string | undefined;
}

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

/** A message with all that mapping it anew takes. */
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

interface DeliveryRow {
  id: number;
  connector: string;
  file_name: string;
  state: DeliveryView["state"];
  attempts: number;
  failure_code: string | null;
  failure_text: string | null;
  created_at: Date;
  delivered_at: Date | null;
  next_at: Date;
  waits_behind: number | null;
}

interface MessageRow {
  id: number;
  connector: string;
  file_name: string | null;
  place: string;
  message_control_id: string | null;
  message_type: string | null;
  verdict: MessageView["verdict"];
  problems: Problem[];
  received_at: Date;
  duplicate_of: number | null;
  replay_of: number | null;
  order_ids: number[];
}

const toDelivery = (row: DeliveryRow): DeliveryView => ({
  deliveryId: formatId("d", row.id),
  connector: row.connector,
  fileName: row.file_name,
  state: row.state,
  attempts: row.attempts,
  failure: row.failure_code === null ? undefined : { code: row.failure_code, text: row.failure_text ?? "" },
  createdAt: row.created_at,
  deliveredAt: row.delivered_at ?? undefined,
  nextAt: row.next_at,
  waitsBehind: row.waits_behind === null ? undefined : formatId("d", row.waits_behind),
});

const toMessage = (row: MessageRow): MessageView => ({
  messageId: formatId("m", row.id),
  connector: row.connector,
  fileName: row.file_name ?? undefined,
  place: row.place,
  messageControlId: row.message_control_id ?? undefined,
  messageType: row.message_type ?? undefined,
  verdict: row.verdict,
  problems: row.problems,
  receivedAt: row.received_at,
  duplicateOf: row.duplicate_of === null ? undefined : formatId("m", row.duplicate_of),
  replayOf: row.replay_of === null ? undefined : formatId("m", row.replay_of),
  orderIds: row.order_ids.map((id) => formatId("o", id)),
});

/** Orders, newest first. */
export async function listOrders(pool: pg.Pool, filter: OrderFilter): Promise<LedgerOrder[]> {
  const rows = await run<OrderRow>(pool, LIST_ORDERS, [
    filter.states ?? null,
    filter.connector ?? null,
    filter.subjectCode ?? null,
    filter.since ?? null,
    filter.beforeId ?? null,
    filter.limit,
  ]);
  return rows.map(fromOrderRow);
}

/** Orders that an operator's word names: the one with this ledger id, or those with this placer order number, newest first. */
export async function findOrders(pool: pg.Pool, word: string): Promise<LedgerOrder[]> {
  const id = parseId("o", word);
  const byId = id === undefined ? [] : await run<OrderRow>(pool, ORDER_BY_ID, [id]);
  const rows = byId.length > 0 ? byId : await run<OrderRow>(pool, ORDERS_BY_NUMBER, [word]);
  return rows.map(fromOrderRow);
}

/** What an order went through, oldest first. */
export async function listEvents(pool: pg.Pool, orderId: number): Promise<OrderEvent[]> {
  const rows = await run<{
    at: Date;
    kind: string;
    to_state: OrderState | null;
    detail: Record<string, unknown>;
  }>(pool, EVENTS, [orderId]);
  return rows.map((row) => ({
    at: row.at,
    kind: row.kind,
    toState: row.to_state ?? undefined,
    detail: row.detail,
  }));
}

/** What the lab was or is to be told of an order. */
export async function listOrderDeliveries(pool: pg.Pool, orderId: number): Promise<DeliveryView[]> {
  return (await run<DeliveryRow>(pool, ORDER_DELIVERIES, [orderId])).map(toDelivery);
}

/** The procedure request as it was last sent, subject code included; undefined when nothing was. */
export async function findSent(pool: pg.Pool, orderId: number): Promise<unknown> {
  const [row] = await run<{ sent: unknown }>(pool, SENT, [orderId]);
  return row?.sent ?? undefined;
}

/** Results that the lab doesn't have yet, oldest first. */
export async function listOpenDeliveries(pool: pg.Pool, limit: number): Promise<DeliveryView[]> {
  return (await run<DeliveryRow>(pool, OPEN_DELIVERIES, [limit])).map(toDelivery);
}

/** Messages, newest first. */
export async function listMessages(
  pool: pg.Pool,
  filter: {
    readonly connector?: string | undefined;
    readonly verdict?: string | undefined;
    readonly since?: Date | undefined;
    readonly limit: number;
  },
): Promise<MessageView[]> {
  const rows = await run<MessageRow>(pool, LIST_MESSAGES, [
    filter.connector ?? null,
    filter.verdict ?? null,
    filter.since ?? null,
    filter.limit,
  ]);
  return rows.map(toMessage);
}

/** One message with its text; undefined when there is none with this id. */
export async function findMessage(pool: Queryable, messageId: number): Promise<StoredMessage | undefined> {
  const [message] = await listStoredMessages(pool, [messageId]);
  return message;
}

/** Messages with their texts, in the order of their ids; those that don't exist are left out. */
export async function listStoredMessages(
  pool: Queryable,
  messageIds: readonly number[],
): Promise<StoredMessage[]> {
  const rows = await run<
    MessageRow & {
      ordinal: number;
      raw: Buffer | null;
      format: StoredMessage["format"];
      encoding: string | null;
      csv_rows: [number, [string, string][]][] | null;
    }
  >(pool, MESSAGES_BY_ID, [messageIds]);
  return rows.map((row) => ({
    ...toMessage(row),
    ordinal: row.ordinal,
    raw: row.raw ?? undefined,
    format: row.format,
    encoding: row.encoding ?? undefined,
    csvRows: row.csv_rows ?? undefined,
  }));
}
