import type pg from "pg";
import { run } from "./database.ts";
import { fromOrderRow, type LedgerOrder, ORDER_COLUMNS, type OrderRow } from "./order-row.ts";

/**
 * Facilities with orders due for polling. Index: orders_tracked.
 */
const DUE_FACILITIES = `
select o.facility_id, count(*)::integer as due
  from orders o
 where o.state in ('submitted', 'accepted', 'in_progress')
   and o.next_at <= now()
 group by o.facility_id`;

/**
 * A facility's orders that are due, or will be within $2 ms, longest due first: those that come due in a moment ride
 * along, since pages are shared. $1 facility, $3 how many. Index: orders_tracked.
 */
export const DUE_TRACKED = `
select ${ORDER_COLUMNS}
  from orders o
 where o.facility_id = $1
   and o.state in ('submitted', 'accepted', 'in_progress')
   and o.next_at <= now() + $2 * interval '1 millisecond'
 order by o.next_at
 limit $3`;

/** No news; $1 bigint[] ids, $2 bigint[] next intervals in ms, $3 whether the service showed them. Index: the primary key. */
const POSTPONE = `
update orders o
   set next_at = now() + x.interval_ms * interval '1 millisecond',
       poll_interval_ms = x.interval_ms,
       missing_since = case when $3 then null else o.missing_since end
  from unnest($1::bigint[], $2::bigint[]) as x(id, interval_ms)
 where o.id = x.id
   and o.state in ('submitted', 'accepted', 'in_progress')`;

/** Facilities that have orders due for polling now. */
export async function findDueFacilities(pool: pg.Pool): Promise<number[]> {
  return (await run<{ facility_id: number; due: number }>(pool, DUE_FACILITIES)).map(
    (row) => row.facility_id,
  );
}

/** The orders of a facility to poll now. */
export async function findDueTracked(
  pool: pg.Pool,
  options: { readonly facilityId: number; readonly aheadMs: number; readonly limit: number },
): Promise<LedgerOrder[]> {
  const rows = await run<OrderRow>(pool, DUE_TRACKED, [options.facilityId, options.aheadMs, options.limit]);
  return rows.map(fromOrderRow);
}

/**
 * Sets when orders without news are polled again, ms from now.
 *
 * @param seen whether the service showed them; only that ends a time of being missing
 */
export async function postponeTracked(
  pool: pg.Pool,
  polls: readonly { readonly orderId: number; readonly intervalMs: number }[],
  seen: { readonly isSeen: boolean },
): Promise<void> {
  if (polls.length === 0) return;
  await run(pool, POSTPONE, [
    polls.map((poll) => poll.orderId),
    polls.map((poll) => Math.round(poll.intervalMs)),
    seen.isSeen,
  ]);
}
