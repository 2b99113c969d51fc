import type pg from "pg";
import { run } from "./database.ts";
import { isAnswerAlone, ordersOf, tellingOf } from "./held-deliveries.ts";

/**
 * Gives up an answer to a message as a whole once the lab has got something later about that message, or about one of its
 * orders. Each step is fenced off from the planner as in `held-deliveries.ts`; $1 id, $2 code, $3 text. Indexes: the primary
 * keys, outcomes_delivery, outcomes_message, outcomes_order, outcome_orders_order.
 */
const DROP_OVERTAKEN = `
update deliveries d
   set state = 'dropped',
       failure_code = $2,
       failure_text = $3
 where d.id = $1
   and d.state = 'pending'
   and exists (
       select
         from (select t.id, t.order_id, t.message_id
                 from outcomes t
                where t.delivery_id = $1
                  and ${isAnswerAlone("t")}
               offset 0) fact
        cross join lateral (
              select o.delivery_id from outcomes o where o.message_id = fact.message_id
               union all
              select telling.delivery_id
                from (${ordersOf("fact")}) told
               cross join lateral (${tellingOf("told.order_id")}) telling
              offset 0) later
        where later.delivery_id > $1
          and (select k.state from deliveries k where k.id = later.delivery_id) = 'delivered')
returning d.id`;

const CODE = "DELIVERY_OVERTAKEN";
const TEXT = "the lab could not be told in time, and has got later news since";

/**
 * Gives up the answer to a message that came or waits, where the lab has got later news: behind that it would say that an
 * order stands as it stood before.
 *
 * @returns whether it was given up
 */
export async function dropOvertaken(pool: pg.Pool, deliveryId: number): Promise<boolean> {
  const rows = await run<{ id: number }>(pool, DROP_OVERTAKEN, [deliveryId, CODE, TEXT]);
  return rows.length > 0;
}
