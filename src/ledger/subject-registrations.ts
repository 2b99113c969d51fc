import type pg from "pg";
import { run } from "./database.ts";

/**
 * Whether the subject of the order was registered for this or another order of its facility less than $2 ms ago;
 * $1 order id. Indexes: orders_subject, order_events_order.
 */
const JUST_REGISTERED = `
select exists (
  select 1
    from orders this
    join orders o on o.subject_code = this.subject_code and o.facility_id = this.facility_id
    join order_events e on e.order_id = o.id
   where this.id = $1
     and e.kind = 'subject_registered'
     and e.at > now() - $2 * interval '1 millisecond') as is_there`;

/** Whether the service confirmed the registration of the order's subject less than `withinMs` ago. */
export async function isSubjectJustRegistered(
  pool: pg.Pool,
  orderId: number,
  withinMs: number,
): Promise<boolean> {
  const [row] = await run<{ is_there: boolean }>(pool, JUST_REGISTERED, [orderId, withinMs]);
  return row?.is_there === true;
}
