import type pg from "pg";
import { run } from "./database.ts";

/**
 * How often in a row an order's call was believed to have had no effect, since a person last had it tried again; calls
 * that were refused for now don't count, since a service that is busy for long says nothing about the order;
 * $1 order id. Index: order_events_order.
 */
const COUNT_EMPTY = `
select count(*)::integer as count
  from order_events e
 where e.order_id = $1
   and e.kind = 'settled'
   and e.detail ->> 'found' = 'nothing'
   and e.detail ->> 'isRefused' is null
   and e.id > coalesce((select max(r.id)
                          from order_events r
                         where r.order_id = $1
                           and r.kind = 'retried'), 0)`;

/** How often in a row nothing was found of an order's call, and the call was made again. */
export async function countEmptyChecks(pool: pg.Pool, orderId: number): Promise<number> {
  const [row] = await run<{ count: number }>(pool, COUNT_EMPTY, [orderId]);
  return row?.count ?? 0;
}
