import type pg from "pg";
import { run } from "../database.ts";
import { fromOrderRow, type LedgerOrder, ORDER_COLUMNS, type OrderRow } from "../orders/row.ts";

/**
 * The orders of the latest timeline entries, newest first; $1 how many. Some entries are about the same order, so ten
 * times as many are read. Indexes: the primary keys.
 */
const LATEST_ORDERS = `
with latest as (
  select e.order_id, max(e.id) as event_id
    from (select order_id, id from order_events order by id desc limit $1 * 10) e
   group by e.order_id
   order by max(e.id) desc
   limit $1)
select ${ORDER_COLUMNS}
  from latest
  join orders o on o.id = latest.order_id
 order by latest.event_id desc`;

/** Parked orders, longest waiting first; $1 how many. Index: orders_state. */
const PARKED_ORDERS = `
select ${ORDER_COLUMNS}
  from orders o
 where o.state = 'parked'
 order by o.changed_at
 limit $1`;

/** The orders to which something happened last, newest first. */
export async function listLatestOrders(pool: pg.Pool, limit: number): Promise<LedgerOrder[]> {
  return (await run<OrderRow>(pool, LATEST_ORDERS, [limit])).map(fromOrderRow);
}

/** The orders that wait for a person, longest waiting first. */
export async function listParkedOrders(pool: pg.Pool, limit: number): Promise<LedgerOrder[]> {
  return (await run<OrderRow>(pool, PARKED_ORDERS, [limit])).map(fromOrderRow);
}
