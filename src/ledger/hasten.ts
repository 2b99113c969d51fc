import type pg from "pg";
import { inTransaction } from "./database.ts";
import { formatId } from "./ids.ts";
import type { Act } from "./operator/audit.ts";

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
