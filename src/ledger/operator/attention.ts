import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import { list } from "../database.ts";

/** Results that the lab doesn't have although they were tried, of one connector and with one failure. */
export interface FailingDeliveries {
  readonly connector: string;
  /** `pending` is tried again by itself, `parked` waits for a person. */
  readonly state: "pending" | "parked";
  readonly count: number;
  /** When the oldest of them was made. */
  readonly since: Date;
  readonly code: string;
  readonly text: string;
}

/** A queue that an operator has paused. */
export interface PausedQueue {
  readonly queue: string;
  readonly pausedAt: Date;
  readonly actor: string;
}

/** Refused messages among the last ones. */
export interface RecentRefusals {
  readonly connector: string;
  readonly count: number;
  readonly latestAt: Date;
}

/** What a person should know of beside orders, tasks and codes. */
export interface LedgerAttention {
  readonly deliveries: readonly FailingDeliveries[];
  readonly pausedQueues: readonly PausedQueue[];
  readonly refusals: readonly RecentRefusals[];
}

/** $1 how many groups. Indexes: deliveries_pending, deliveries_parked. */
export const FAILING_DELIVERIES = `
select d.connector, d.state, d.failure_code as code, coalesce(min(d.failure_text), '') as text,
       count(*)::integer as count, min(d.created_at) as since
  from deliveries d
 where (d.state = 'pending' or d.state = 'parked')
   and d.failure_code is not null
 group by d.connector, d.state, d.failure_code
 order by min(d.created_at), d.connector
 limit $1`;

const PAUSED_QUEUES = 'select queue, paused_at as "pausedAt", actor from paused_queues order by queue';

/**
 * Refusals of the last day among the latest $1 messages, so that it costs the same however many there are. Index: the
 * primary key.
 */
export const RECENT_REFUSALS = `
select m.connector, count(*)::integer as count, max(m.received_at) as "latestAt"
  from (select connector, verdict, received_at from messages order by id desc limit $1) m
 where m.verdict = 'refused'
   and m.received_at > now() - interval '1 day'
 group by m.connector
 order by m.connector`;

const GROUPS = 50;
/** How many of the latest messages are searched for refused ones. */
export const MESSAGES_SEARCHED = 1_000;

/** What stands still or was refused, for people. */
export async function readAttention(pool: pg.Pool): Promise<LedgerAttention> {
  const [deliveries, pausedQueues, refusals] = await Promise.all([
    list<FailingDeliveries>(pool, FAILING_DELIVERIES, [GROUPS]),
    list<PausedQueue>(pool, PAUSED_QUEUES),
    list<RecentRefusals>(pool, RECENT_REFUSALS, [MESSAGES_SEARCHED]),
  ]);
  return { deliveries, pausedQueues, refusals };
}

/** Orders by state, with the age of the longest waiting one in seconds. Index: orders_state. */
const COUNT_ORDERS = `
select o.state, count(*)::integer as count,
       extract(epoch from now() - min(o.changed_at))::double precision as "oldestSeconds"
  from orders o
 group by o.state`;

/** Orders by state, and for how many seconds the one that moved longest ago has been there. */
export function countOrders(
  pool: pg.Pool,
): Promise<{ state: OrderState; count: number; oldestSeconds: number }[]> {
  return list(pool, COUNT_ORDERS);
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
