import type pg from "pg";
import { inTransaction, run } from "../database.ts";
import { formatId } from "../ids.ts";
import type { Act } from "../operator/audit.ts";

/** An order that the service has is asked about at the next look; $1 id. Index: the primary key. */
const POLL_NOW = `
update orders
   set next_at = now()
 where id = $1
   and state in ('submitted', 'accepted', 'in_progress')
returning id`;

/** $1 actor, $2 order id as people see it, $3 reason. */
const AUDIT = `
insert into audit (actor, action, target, detail)
values ($1, 'poll', $2, jsonb_strip_nulls(jsonb_build_object('reason', $3::text)))`;

/**
 * Has the service asked about an order now instead of at the next planned look.
 *
 * @returns false when the order is not one that is followed.
 */
export async function pollOrderNow(pool: pg.Pool, orderId: number, act: Act): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(POLL_NOW, [orderId]);
    if (rowCount !== 1) return false;
    await client.query(AUDIT, [act.actor, formatId("o", orderId), act.reason ?? null]);
    return true;
  });
}

/** Open orders; $1 ms. Index: orders_state. */
const ORDERS = `
update orders
   set next_at = now()
 where state in ('received', 'submitting', 'submitted', 'accepted', 'in_progress')
   and next_at > now() + $1 * interval '1 millisecond'
returning id`;

/** Results that the lab doesn't have yet; $1 ms. Index: deliveries_pending. */
const DELIVERIES = `
update deliveries
   set next_at = now()
 where state = 'pending'
   and next_at > now() + $1 * interval '1 millisecond'
returning id`;

/** Calls to cancel; $1 ms. Index: control_requests_open. */
const CANCELS = `
update control_requests
   set next_at = now()
 where state = 'open'
   and next_at > now() + $1 * interval '1 millisecond'
returning id`;

/**
 * Makes due what is put off for longer than anything ever is: it was put off while the clock was far ahead, and would be
 * left alone until that time comes, which may be years.
 *
 * @param longestMs longer than any pause that the configuration leads to
 * @returns how much that was
 */
export async function clampSchedule(pool: pg.Pool, longestMs: number): Promise<number> {
  let count = 0;
  for (const statement of [ORDERS, DELIVERIES, CANCELS])
    count += (await run(pool, statement, [longestMs])).length;
  return count;
}
