import type pg from "pg";
import { run } from "../database.ts";
import { fromOrderRow, type LedgerOrder, ORDER_COLUMNS, type OrderRow } from "./row.ts";

/** $1 how many. Index: orders_recheck. */
const DUE_RECHECKS = `
select ${ORDER_COLUMNS}
  from orders o
 where o.recheck_at <= now()
 order by o.recheck_at
 limit $1`;

/** $1 order id, $2 ms from now. Index: the primary key. */
const POSTPONE = `
update orders
   set recheck_at = now() + $2 * interval '1 millisecond'
 where id = $1
   and recheck_at is not null`;

/** Orders that were sent again after nothing had been found, and are to be looked for once more now. */
export async function findDueRechecks(pool: pg.Pool, limit: number): Promise<LedgerOrder[]> {
  return (await run<OrderRow>(pool, DUE_RECHECKS, [limit])).map(fromOrderRow);
}

/** Puts such a look off. */
export async function postponeRecheck(pool: pg.Pool, orderId: number, ms: number): Promise<void> {
  await run(pool, POSTPONE, [orderId, ms]);
}
