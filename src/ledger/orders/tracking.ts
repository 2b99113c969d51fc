import type pg from "pg";
import { run } from "../database.ts";
import { type LedgerOrder, listOrderRows, ORDER_COLUMNS } from "./row.ts";

/**
 * Facilities with orders due for polling: from one facility to the next, with a look at what is due first of each, so that
 * it takes as long however many orders are due. Index: orders_tracked.
 */
export const DUE_FACILITIES = `
with recursive first_due as (
  (select o.facility_id, o.next_at
     from orders o
    where o.state in ('submitted', 'accepted', 'in_progress')
    order by o.facility_id, o.next_at
    limit 1)
  union all
  select n.facility_id, n.next_at
    from first_due f
   cross join lateral (
     select o.facility_id, o.next_at
       from orders o
      where o.state in ('submitted', 'accepted', 'in_progress')
        and o.facility_id > f.facility_id
      order by o.facility_id, o.next_at
      limit 1) n
)
select facility_id
  from first_due
 where next_at <= now()`;

/** An order that is due for polling. */
export interface DueTracked extends LedgerOrder {
  /** When something last happened to it. */
  readonly newsAt: Date;
}

/**
 * A facility's orders that are due, or will be within $2 ms, longest due first: those that come due in a moment ride
 * along, since pages are shared. Of those due at one moment the next ones in a row, which the service lists in a row, too.
 * $1 facility, $3 how many. Indexes: orders_tracked, the primary key of order_events.
 */
export const DUE_TRACKED = `
select ${ORDER_COLUMNS},
       coalesce((select e.at
                   from order_events e
                  where e.order_id = o.id
                  order by e.id desc
                  limit 1), o.changed_at) as "newsAt"
  from orders o
 where o.facility_id = $1
   and o.state in ('submitted', 'accepted', 'in_progress')
   and o.next_at <= now() + $2 * interval '1 millisecond'
 order by o.next_at, o.id
 limit $3`;

/** Those of the orders $1 that are followed, locked in the order in which whoever changes orders locks them. Index: the primary key. */
const FOLLOWED = `
followed as materialized (
  select o.id
    from orders o
   where o.id = any ($1::bigint[])
     and o.state in ('submitted', 'accepted', 'in_progress')
   order by o.id
     for no key update)`;

/**
 * No news; $1 bigint[] ids, $2 bigint[] next intervals in ms. Due times lie on a grid of the interval, the next point that
 * is half an interval ahead at least, so that orders which are due together stay so. Index: the primary key.
 */
const POSTPONE = `
with ${FOLLOWED}
update orders o
   set next_at = to_timestamp(
         ceil(extract(epoch from now()) * 1000 / x.interval_ms + 0.5) * x.interval_ms / 1000),
       missing_since = null,
       locating_since = null
  from followed f
  join unnest($1::bigint[], $2::bigint[]) as x(id, interval_ms) on x.id = f.id
 where o.id = f.id`;

/** What could not be read; $1 bigint[] ids, $2 ms. Index: the primary key. */
const POSTPONE_UNREAD = `
with ${FOLLOWED}
update orders o
   set next_at = now() + $2 * interval '1 millisecond'
  from followed f
 where o.id = f.id`;

/** The orders of a facility to poll now. */
export function findDueTracked(
  pool: pg.Pool,
  options: { readonly facilityId: number; readonly aheadMs: number; readonly limit: number },
): Promise<DueTracked[]> {
  return listOrderRows<DueTracked>(pool, DUE_TRACKED, [options.facilityId, options.aheadMs, options.limit]);
}

/**
 * Sets when orders that the service showed without news are polled again: about their intervals from now, at moments that
 * all orders of an interval share. With 15 min: at 10:00, 10:15, 10:30; an order that was read at 10:05 is due at 10:15,
 * one that was read at 10:10 at 10:30.
 */
export async function postponeTracked(
  pool: pg.Pool,
  polls: readonly { readonly orderId: number; readonly intervalMs: number }[],
): Promise<void> {
  if (polls.length === 0) return;
  await run(pool, POSTPONE, [
    polls.map((poll) => poll.orderId),
    polls.map((poll) => Math.max(1, Math.round(poll.intervalMs))),
  ]);
}

/** Sets when orders that could not be read are polled again, ms from now. */
export async function postponeUnread(
  pool: pg.Pool,
  orderIds: readonly number[],
  inMs: number,
): Promise<void> {
  if (orderIds.length > 0) await run(pool, POSTPONE_UNREAD, [orderIds, inMs]);
}
