import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import type { Surface } from "../../core/surface.ts";
import { beginsWith, list, narrowed, withoutNulls } from "../database.ts";
import { parseId } from "../ids.ts";
import {
  fromOrderRow,
  type LedgerOrder,
  listOrderRows,
  ORDER_COLUMNS,
  type OrderRow,
  type ServiceLink,
} from "../orders/row.ts";
import { WAITS_BEHIND } from "../results/deliveries.ts";

/** Which orders to list; all conditions hold together. */
interface OrderFilter {
  readonly states?: readonly OrderState[] | undefined;
  readonly connector?: string | undefined;
  readonly subjectCode?: string | undefined;
  /** Only those with this failure, such as `SUBJECT_UNKNOWN`. */
  readonly failureCode?: string | undefined;
  readonly since?: Date | undefined;
  /** Orders before this one, for the next page. */
  readonly beforeId?: number | undefined;
  /** Only some of these. */
  readonly ids?: readonly number[] | undefined;
  readonly limit: number;
}

/**
 * Newest first; $1 text[] states, $2 connector, $3 subject code, $4 since, $5 before id, $6 limit, $7 ids, $8 failure; null for any.
 * Indexes: the primary key, orders_state, orders_connector, orders_subject, orders_received, orders_failure.
 */
const LIST_ORDERS = `
select ${ORDER_COLUMNS}
  from orders o
 where ($1::text[] is null or o.state = any ($1))
   and ($2::text is null or o.connector = $2)
   and ($3::text is null or o.subject_code = $3)
   and ($4::timestamptz is null or o.received_at >= $4)
   and ($5::bigint is null or o.id < $5)
   and ($7::bigint[] is null or o.id = any ($7))
   and ($8::text is null or o.failure_code = $8)
 order by o.id desc
 limit $6`;

/** Orders, newest first. */
export async function listOrders(pool: pg.Pool, filter: OrderFilter): Promise<LedgerOrder[]> {
  const { states, connector, subjectCode, since, beforeId, limit, ids, failureCode } = filter;
  const values = [states, connector, subjectCode, since, beforeId, limit, ids, failureCode];
  return (await narrowed<OrderRow>(pool, LIST_ORDERS, values)).map(fromOrderRow);
}

/** $1 id. Index: the primary key. */
const ORDER_BY_ID = `select ${ORDER_COLUMNS} from orders o where o.id = $1`;

/** $1 placer order number. Index: orders_number. */
const ORDERS_BY_NUMBER = `
select ${ORDER_COLUMNS}
  from orders o
 where o.placer_order_number = $1
 order by o.id desc
 limit 20`;

/** Orders that an operator's word names: the one with this ledger id, or those with this placer order number, newest first. */
export async function findOrders(pool: pg.Pool, word: string): Promise<LedgerOrder[]> {
  const id = parseId("o", word);
  const byId = id === undefined ? [] : await listOrderRows(pool, ORDER_BY_ID, [id]);
  return byId.length > 0 ? byId : listOrderRows(pool, ORDERS_BY_NUMBER, [word]);
}

/** $1 id. Indexes: orders_request, orders_procedure. */
const ORDER_BY_LINK: Readonly<Record<Surface, string>> = {
  request: `select ${ORDER_COLUMNS} from orders o where o.request_id = $1`,
  external: `select ${ORDER_COLUMNS} from orders o where o.procedure_id = $1 and o.request_id is null`,
};

/** The order that has a request or a procedure of the service, if any has. */
export async function findLinkedOrder(pool: pg.Pool, link: ServiceLink): Promise<LedgerOrder | undefined> {
  const id = link.surface === "request" ? link.requestId : link.procedureId;
  return (await listOrderRows(pool, ORDER_BY_LINK[link.surface], [id]))[0];
}

/**
 * By order number, container label, control id, the beginning of a file's name, or our number, the newest of each; $1 the word,
 * $2 the pattern of file names, $3 text[] of connectors, $4 limit, $5 a request's id, $6 a procedure's. Indexes: orders_number,
 * order_containers_label, messages_control_id, files_name, messages (file_id, ordinal), orders (message_id, position),
 * orders_request, orders_procedure.
 */
const SEARCH_ORDERS = `
(select o.id from orders o where o.placer_order_number = $1 order by o.id desc limit $4)
 union
(select c.order_id from order_containers c where c.label = $1 order by c.order_id desc limit $4)
 union
(select o.id
   from messages m
   join orders o on o.message_id = m.id
  where m.connector = any ($3)
    and m.message_control_id = $1
  order by o.id desc
  limit $4)
 union
(select n.id
   from (select f.id from files f where f.file_name like $2 order by f.id desc limit greatest($4, 100)) f
  cross join lateral (select o.id, m.ordinal
                        from messages m
                        join orders o on o.message_id = m.id
                       where m.file_id = f.id
                       order by m.ordinal desc
                       limit $4) n
  order by f.id desc, n.ordinal desc
  limit $4)
 union
(select o.id from orders o where o.request_id = $5::bigint)
 union
(select o.id from orders o where o.procedure_id = $6::bigint order by o.id desc limit $4)`;

/**
 * Our number as results for the lab have it (`R1002` a request, `P2002` a procedure), or a number of the service as lists have
 * it. More digits than a bigint holds are none.
 */
function parseOurNumber(word: string): { readonly requestId?: string; readonly procedureId?: string } {
  const [, letter, id] = /^([RP]?)([1-9]\d{0,17})$/.exec(word) ?? [];
  return { ...(letter !== "P" && { requestId: id }), ...(letter !== "R" && { procedureId: id }) };
}

/**
 * Ids of the orders that a word means: an id, an order number, a container's label, a control id, the beginning of a file's name, or
 * our number.
 */
export async function searchOrders(
  pool: pg.Pool,
  word: string,
  { connectors, limit }: { readonly connectors: readonly string[]; readonly limit: number },
): Promise<number[]> {
  const { requestId = null, procedureId = null } = parseOurNumber(word);
  const values = [word, beginsWith(word), connectors, limit, requestId, procedureId];
  const rows = await list<{ id: number }>(pool, SEARCH_ORDERS, values);
  const id = parseId("o", word);
  return [...rows.map((row) => row.id), ...(id === undefined ? [] : [id])];
}

/**
 * Orders that wait before their submission: for a person, for what their lost calls did, for the next try, for the lab or for
 * their turn, in this order; $1 how many. However many wait for their turn, the first by their ids are read. Indexes:
 * orders_still, orders_state, orders_waiting.
 */
const WAITING_ORDERS = `
with waiting as (
  (select w.id, 1 as nth, false as is_well, w.next_at
     from orders w
    where w.state = 'parked'
    order by w.next_at, w.id
    limit $1)
   union all
  (select w.id, 2, w.failure_code is null, w.next_at
     from orders w
    where w.state = 'submitting'
      and w.owner is null
    order by w.failure_code is null, w.next_at, w.id
    limit $1)
   union all
  (select w.id, 3, false, w.next_at
     from orders w
    where w.state = 'received'
      and w.failure_code is not null
    order by w.next_at, w.id
    limit $1)
   union all
  (select w.id, 3, true, w.next_at
     from orders w
    where w.state = 'received'
      and w.failure_code is null
    order by w.id
    limit $1)
   order by nth, is_well, next_at, id
   limit $1)
select ${ORDER_COLUMNS}
  from waiting
  join orders o on o.id = waiting.id
 order by waiting.nth, waiting.is_well, waiting.next_at, o.id`;

/** Orders that wait before their submission: those of a person first, then by what is next. */
export function listWaitingOrders(pool: pg.Pool, limit: number): Promise<LedgerOrder[]> {
  return listOrderRows(pool, WAITING_ORDERS, [limit]);
}

/** An entry of an order's timeline. */
export interface OrderEvent {
  readonly at: Date;
  readonly kind: string;
  readonly toState: OrderState | undefined;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** $1 order id. Index: the primary key. */
const EVENTS = `
select e.at, e.kind, e.to_state as "toState", e.detail
  from order_events e
 where e.order_id = $1
 order by e.id`;

/** What an order went through, oldest first. */
export function listEvents(pool: pg.Pool, orderId: number): Promise<OrderEvent[]> {
  return list<OrderEvent>(pool, EVENTS, [orderId]);
}

export const DELIVERY_STATES = ["pending", "delivered", "parked", "dropped"] as const;

/** A delivery as an operator sees it; its bytes are left out. */
export interface DeliveryView {
  /** Such as `d4`. */
  readonly deliveryId: string;
  readonly connector: string;
  readonly fileName: string;
  readonly state: (typeof DELIVERY_STATES)[number];
  readonly attempts: number;
  readonly failure: { readonly code: string; readonly text: string } | undefined;
  readonly createdAt: Date;
  readonly deliveredAt: Date | undefined;
  readonly nextAt: Date;
  /** The delivery of the same order, such as `d3`, that has to be delivered or given up first. */
  readonly waitsBehind: string | undefined;
  /** The orders that it is about; none for a message as a whole. */
  readonly orderIds: readonly string[];
  /** The numbers of the first of them, or their ids. */
  readonly orderNames: readonly string[];
  /** What it says: the state of an order, or what became of a message. */
  readonly says: readonly string[];
}

/** Of a result about more, so many orders are named, and facts read. */
const NAMED_ORDERS = 3;
const FACTS_READ = 100;

/** Columns of a {@link DeliveryView} of a row d. Indexes: deliveries_lanes, outcomes_delivery, the primary key of orders. */
const DELIVERY = `
       'd' || d.id as "deliveryId", d.connector, d.file_name as "fileName", d.state, d.attempts,
       case when d.failure_code is not null
            then jsonb_build_object('code', d.failure_code, 'text', coalesce(d.failure_text, '')) end as failure,
       d.created_at as "createdAt", d.delivered_at as "deliveredAt", d.next_at as "nextAt",
       'd' || ${WAITS_BEHIND} as "waitsBehind",
       array(select 'o' || o.id from unnest(d.order_ids) as o(id)) as "orderIds",
       array(select coalesce(o.placer_order_number, 'o' || o.id)
               from orders o
              where o.id = any (d.order_ids[1:${NAMED_ORDERS}])
              order by o.id) as "orderNames",
       array(select distinct t.says
               from (select coalesce(t.payload->'order'->>'state', t.kind) as says
                       from outcomes t
                      where t.delivery_id = d.id
                      limit ${FACTS_READ}) t
              order by t.says) as says`;

/** Ids of the results about an order of this parameter. Indexes: outcomes_order, outcomes_message, outcome_orders_order. */
const deliveriesOf = (orderId: string) => `array(
       select t.delivery_id
         from outcomes t
        where t.order_id = ${orderId}
           or (t.order_id is null and t.message_id = (select o.message_id from orders o where o.id = ${orderId}))
           or t.id = any (array(select s.outcome_id from outcome_orders s where s.order_id = ${orderId})))`;

/** $1 order id. Indexes: as above, the primary keys. */
const ORDER_DELIVERIES = `
select ${DELIVERY}
  from deliveries d
 where d.id = any (${deliveriesOf("$1")})
 order by d.id`;

/** The results about an order, sent or not. */
export function listOrderDeliveries(pool: pg.Pool, orderId: number): Promise<DeliveryView[]> {
  return list<DeliveryView>(pool, ORDER_DELIVERIES, [orderId]);
}

/** $1 message id, $2 limit. Indexes: outcomes_message, the primary key. */
const MESSAGE_DELIVERIES = `
select ${DELIVERY}
  from deliveries d
 where d.id = any (array(select t.delivery_id from outcomes t where t.message_id = $1))
 order by d.id
 limit $2`;

/** The results about a message and its orders, sent or not, the first of them first. */
export function listMessageDeliveries(
  pool: pg.Pool,
  messageId: number,
  limit: number,
): Promise<DeliveryView[]> {
  return list<DeliveryView>(pool, MESSAGE_DELIVERIES, [messageId, limit]);
}

/** Messages of a file whose results are looked for: the last ones, of which the newest results are. */
const MESSAGES_OF_FILE = 2_000;

/**
 * Newest first; $1 file id, $2 limit. Indexes: messages (file_id, ordinal), outcomes_message, outcomes_file, the primary key.
 */
const FILE_DELIVERIES = `
select ${DELIVERY}
  from deliveries d
 where d.id = any (array(
         select t.delivery_id
           from (select id from messages where file_id = $1 order by ordinal desc limit ${MESSAGES_OF_FILE}) m
           join outcomes t on t.message_id = m.id
          union
         select t.delivery_id from outcomes t where t.file_id = $1))
 order by d.id desc
 limit $2`;

/** The newest results about a file and its messages, sent or not. */
export function listFileDeliveries(pool: pg.Pool, fileId: number, limit: number): Promise<DeliveryView[]> {
  return list<DeliveryView>(pool, FILE_DELIVERIES, [fileId, limit]);
}

/** Which deliveries to list; all conditions hold together. */
export interface DeliveryFilter {
  readonly state?: DeliveryView["state"] | undefined;
  readonly connector?: string | undefined;
  readonly orderId?: number | undefined;
  readonly since?: Date | undefined;
  /** Results before this one, for the next page. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/**
 * Newest first; $1 state, $2 connector, $3 order id, $4 since, $5 limit, $6 before id; null for any. Indexes: the primary key,
 * deliveries_pending, deliveries_parked, deliveries_dropped, deliveries_created, deliveries_connector.
 */
const LIST_DELIVERIES = `
select ${DELIVERY}
  from deliveries d
 where ($1::text is null or d.state = $1)
   and ($2::text is null or d.connector = $2)
   and ($3::bigint is null or d.id = any (${deliveriesOf("$3")}))
   and ($4::timestamptz is null or d.created_at >= $4)
   and ($6::bigint is null or d.id < $6)
 order by d.id desc
 limit $5`;

/** Results, sent or not, newest first. */
export async function listDeliveries(
  pool: pg.Pool,
  { state, connector, orderId, since, limit, beforeId }: DeliveryFilter,
): Promise<DeliveryView[]> {
  const values = [state, connector, orderId, since, limit, beforeId];
  return (await narrowed(pool, LIST_DELIVERIES, values)).map((row) => withoutNulls(row) as DeliveryView);
}

/** Deliveries that the lab does not have; $1 limit. Index: deliveries_open. */
const OPEN_DELIVERIES = `
select ${DELIVERY}
  from deliveries d
 where d.delivered_at is null
   and d.state in ('pending', 'parked')
 order by d.id
 limit $1`;

/** Results that the lab doesn't have yet, oldest first. */
export function listOpenDeliveries(pool: pg.Pool, limit: number): Promise<DeliveryView[]> {
  return list<DeliveryView>(pool, OPEN_DELIVERIES, [limit]);
}

/** A delivery with what only its details say. */
export interface DeliveryDetails extends DeliveryView {
  /** Undefined once retention has pruned the bytes. */
  readonly sizeBytes: number | undefined;
}

/** $1 id. Index: the primary key. */
const DELIVERY_BY_ID = `
select ${DELIVERY}, octet_length(d.bytes) as "sizeBytes"
  from deliveries d
 where d.id = $1`;

/** $1 text[] of connectors, $2 file name. Index: deliveries (connector, file_name). */
const DELIVERIES_BY_NAME = `
select ${DELIVERY}, octet_length(d.bytes) as "sizeBytes"
  from deliveries d
 where d.connector = any ($1)
   and d.file_name = $2
 order by d.id`;

/** The deliveries of a file's name, one of each connector at most. */
export function findDeliveriesByName(
  pool: pg.Pool,
  connectors: readonly string[],
  fileName: string,
): Promise<DeliveryDetails[]> {
  return list<DeliveryDetails>(pool, DELIVERIES_BY_NAME, [connectors, fileName]);
}

/** One delivery; undefined when there is none with this id. */
export async function findDelivery(pool: pg.Pool, deliveryId: number): Promise<DeliveryDetails | undefined> {
  return (await list<DeliveryDetails>(pool, DELIVERY_BY_ID, [deliveryId]))[0];
}
