import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import { list } from "../database.ts";
import { findPausedQueues, type PausedQueue } from "./queues.ts";

/** Results that the lab doesn't have although they were tried, of one connector and with one failure. */
export interface FailingDeliveries {
  /** The first of them, such as `d4`. */
  readonly deliveryId: string;
  readonly connector: string;
  /** `pending` is tried again by itself, `parked` waits for a person. */
  readonly state: "pending" | "parked";
  readonly count: number;
  /** When the oldest of them was made. */
  readonly since: Date;
  readonly code: string;
  readonly text: string;
}

/**
 * Orders that stand still, by why:
 * - `parked`: each needs a person.
 * - `on_hold`: the lab put them on hold.
 * - `reconciling`: the answer to a call never came, and the service is searched for what the call did.
 * - `missing`: the service does not know what it made of them any more, which a person has to find out.
 * - `retrying`: the last step failed and is tried again.
 * - `waiting`: nothing was tried yet, and the service is away. Not those that wait behind a parked one.
 */
export interface StillOrders {
  readonly kind: "parked" | "on_hold" | "reconciling" | "missing" | "retrying" | "waiting";
  /** The first of them, such as `o17`. */
  readonly orderId: string;
  /** All of them, oldest first, where they are few; empty where they are many. */
  readonly orderIds: readonly string[];
  readonly count: number;
  /** How many later orders of their lanes wait behind parked ones; undefined where none does. */
  readonly behind?: number | undefined;
  /** When the first of them came to its state. */
  readonly since: Date;
  /** Undefined where nothing failed. */
  readonly code: string | undefined;
  /** Of one of them; of missing ones, the ids of the first; of waiting ones, why the service is away. */
  readonly text: string | undefined;
}

/** A place that does not take what it is sent of alerts. */
export interface FailingPlace {
  readonly place: string;
  readonly count: number;
  /** Since when the oldest of it waits. */
  readonly since: Date;
  readonly failure: string;
}

/** Refused messages, or files refused whole, among the last ones. */
export interface RecentRefusals {
  readonly kind: "message" | "file";
  readonly connector: string;
  readonly count: number;
  readonly latestAt: Date;
}

/** What a person should know of beside orders, tasks and codes. */
export interface LedgerAttention {
  readonly orders: readonly StillOrders[];
  readonly deliveries: readonly FailingDeliveries[];
  readonly pausedQueues: readonly PausedQueue[];
  readonly alertPlaces: readonly FailingPlace[];
  readonly refusals: readonly RecentRefusals[];
}

/** $1 how many groups. Indexes: deliveries_pending, deliveries_parked. */
export const FAILING_DELIVERIES = `
select d.connector, d.state, 'd' || min(d.id) as "deliveryId", d.failure_code as code, coalesce(min(d.failure_text), '') as text,
       count(*)::integer as count, min(d.created_at) as since
  from deliveries d
 where (d.state = 'pending' or d.state = 'parked')
   and d.failure_code is not null
 group by d.connector, d.state, d.failure_code
 order by min(d.created_at), d.connector
 limit $1`;

/** So many orders are named one by one. */
const FEW = 10;
const FEW_IDS = `case when count(*) <= ${FEW} then array_agg('o' || o.id order by o.id) else '{}' end as "orderIds"`;

/**
 * $1 how many groups, $2 whether a parked order holds its lane. Of several in a lane an order waits behind the last. Indexes: orders_still,
 * orders_lane; while the service is away, orders_waiting.
 */
export const STILL_ORDERS = `
with behind as (
  select b.id, max(p.id) as parked
    from orders p
    join orders b on b.facility_id = p.facility_id
     and b.subject_code = p.subject_code
     and b.id > p.id
   where $2
     and p.state = 'parked'
     and b.state = 'received'
     and b.held_at is null
   group by b.id)
select case when o.state = 'parked' then 'parked'
            when o.held_at is not null then 'on_hold'
            when o.state = 'submitting' and o.owner is null then 'reconciling'
            else 'retrying'
       end as kind,
       case when o.state = 'parked' or o.held_at is null then o.failure_code end as code,
       'o' || min(o.id) as "orderId", ${FEW_IDS}, min(o.failure_text) as text, count(*)::integer as count,
       nullif(sum((select count(*) from behind b where b.parked = o.id)), 0)::integer as behind, min(o.changed_at) as since
  from orders o
 where o.state in ('parked', 'received', 'submitting')
   and (o.state = 'parked' or o.failure_code is not null or o.held_at is not null)
 group by 1, 2
 union all
select 'missing', 'REQUEST_GONE', 'o' || (array_agg(o.id order by o.missing_since, o.id))[1],
       ${FEW_IDS}, array_to_string((array_agg('o' || o.id order by o.missing_since, o.id))[1:5], ', '),
       count(*)::integer, null, min(o.missing_since)
  from orders o
 where o.missing_since is not null
   and o.state in ('submitted', 'accepted', 'in_progress')
having count(*) > 0
 union all
select 'waiting', null, 'o' || min(o.id),
       -- Of a whole backlog no ids are gathered to be thrown away.
       case when count(*) <= ${FEW} then array(
         select 'o' || w.id
           from orders w
          where w.state = 'received'
            and w.failure_code is null
            and w.held_at is null
            and not exists (select from behind b where b.id = w.id)
          order by w.id
          limit ${FEW}) else '{}' end,
       min(p.text), count(*)::integer, null, min(o.changed_at)
  from service_pause p
  join orders o on o.state = 'received'
 where p.cause is not null
   and o.failure_code is null
   and o.held_at is null
   and not exists (select from behind b where b.id = o.id)
having count(*) > 0
 order by since, kind, code
 limit $1`;

/** Index: alert_messages_due. */
const FAILING_PLACES = `
select m.place, count(*)::integer as count, min(m.created_at) as since,
       (array_agg(m.failure order by m.id desc))[1] as failure
  from alert_messages m
 where m.sent_at is null
   and m.given_up_at is null
   and m.failure is not null
 group by m.place
 order by m.place`;

/**
 * Refusals of the last day among the latest $1 messages and $1 files, so that it costs the same however many there are. A
 * file counts when nothing of it could be read as messages: those are counted themselves. Indexes: the primary keys,
 * messages_file_id_ordinal_key.
 */
export const RECENT_REFUSALS = `
select 'message' as kind, m.connector, count(*)::integer as count, max(m.received_at) as "latestAt"
  from (select connector, verdict, received_at from messages order by id desc limit $1) m
 where m.verdict = 'refused'
   and m.received_at > now() - interval '1 day'
 group by m.connector
 union all
select 'file' as kind, f.connector, count(*)::integer as count, max(f.received_at) as "latestAt"
  from (select id, connector, status, received_at from files order by id desc limit $1) f
 where f.status = 'refused'
   and f.received_at > now() - interval '1 day'
   and not exists (select from messages m where m.file_id = f.id)
 group by f.connector
 order by connector, kind`;

const GROUPS = 50;
/** How many of the latest messages are searched for refused ones. */
export const MESSAGES_SEARCHED = 1_000;

/** What stands still or was refused, for people. @param doesParkedBlock whether a parked order holds its lane */
export async function readAttention(pool: pg.Pool, doesParkedBlock = false): Promise<LedgerAttention> {
  const [orders, deliveries, pausedQueues, alertPlaces, refusals] = await Promise.all([
    list<StillOrders>(pool, STILL_ORDERS, [GROUPS, doesParkedBlock]),
    list<FailingDeliveries>(pool, FAILING_DELIVERIES, [GROUPS]),
    findPausedQueues(pool),
    list<FailingPlace>(pool, FAILING_PLACES),
    list<RecentRefusals>(pool, RECENT_REFUSALS, [MESSAGES_SEARCHED]),
  ]);
  return { orders, deliveries, pausedQueues, alertPlaces, refusals };
}

/** All orders that haven't ended, and those that ended within a day: never the many that ended before. Index: orders_state. */
const COUNT_ORDERS = `
select o.state, count(*)::integer as count,
       extract(epoch from now() - min(o.changed_at))::double precision as "oldestSeconds"
  from orders o
 where o.state in ('received', 'submitting', 'submitted', 'accepted', 'in_progress', 'parked')
 group by o.state
 union all
select o.state, count(*)::integer, null
  from orders o
 where o.state in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
   and o.changed_at > now() - interval '1 day'
 group by o.state`;

/** How many orders are in a state; of a state in which orders end, those that came to it in the last 24 hours. */
interface OrderCount {
  readonly state: OrderState;
  readonly count: number;
  /** For how many seconds the one that moved longest ago has been there; undefined for ends. */
  readonly oldestSeconds: number | undefined;
}

/** Orders by state; states without any are left out. */
export function countOrders(pool: pg.Pool): Promise<OrderCount[]> {
  return list<OrderCount>(pool, COUNT_ORDERS);
}

/** However many were delivered, those aren't read. Indexes: deliveries_pending, deliveries_parked. */
export const COUNT_OPEN_DELIVERIES = `
select (select count(*)::integer from deliveries where state = 'pending') as pending,
       (select count(*)::integer from deliveries where state = 'parked') as parked`;

/** How many results the lab doesn't have, by state. */
export async function countOpenDeliveries(pool: pg.Pool): Promise<Record<"pending" | "parked", number>> {
  const [counts] = await list<Record<"pending" | "parked", number>>(pool, COUNT_OPEN_DELIVERIES);
  return counts ?? { pending: 0, parked: 0 };
}
