import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import { run } from "../database.ts";

/** Orders by state, with the age of the longest waiting one in seconds. Index: orders_state. */
const COUNT_ORDERS = `
select o.state, count(*)::integer as count, extract(epoch from now() - min(o.changed_at))::double precision as oldest_seconds
  from orders o
 group by o.state`;

/** However many were delivered, those aren't read. Indexes: deliveries_pending, deliveries_parked. */
export const COUNT_OPEN_DELIVERIES = `
select (select count(*)::integer from deliveries where state = 'pending') as pending,
       (select count(*)::integer from deliveries where state = 'parked') as parked`;

/** Orders by state, and for how many seconds the one that moved longest ago has been there. */
export async function countOrders(
  pool: pg.Pool,
): Promise<{ state: OrderState; count: number; oldestSeconds: number }[]> {
  const rows = await run<{ state: OrderState; count: number; oldest_seconds: number }>(pool, COUNT_ORDERS);
  return rows.map((row) => ({ state: row.state, count: row.count, oldestSeconds: row.oldest_seconds }));
}

/** How many results the lab doesn't have, by state. */
export async function countOpenDeliveries(pool: pg.Pool): Promise<Record<"pending" | "parked", number>> {
  const [row] = await run<Record<"pending" | "parked", number>>(pool, COUNT_OPEN_DELIVERIES);
  return { pending: row?.pending ?? 0, parked: row?.parked ?? 0 };
}
