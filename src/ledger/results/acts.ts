import type pg from "pg";
import { inTransaction } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";

/**
 * Held until the act is recorded: a message that is being made of it at this moment is made before the act or after it.
 * $1 id.
 */
const LOCK_DELIVERY = "select from deliveries where id = $1 for update";

/** A delivery that waits or is parked is due now, and its failures are forgotten; $1 id. */
const DELIVER_NOW = `
update deliveries
   set state = 'pending',
       own_failures = 0,
       next_at = now()
 where id = $1
   and state in ('pending', 'parked')
   and bytes is not null
returning id`;

/**
 * An outcome that no message could be made of is composed again, and keeps its place among the deliveries; $1 id of the
 * delivery, which is parked until then.
 */
const COMPOSE_ANEW = `
update outcomes t
   set is_composed = false
  from deliveries d
 where d.id = $1
   and d.state = 'parked'
   and d.bytes is null
   and t.delivery_id = d.id
returning d.id`;

/** What was to be composed again is given up with its delivery; $1 id. */
const DROP_DELIVERY = `
with dropped as (
  update deliveries
     set state = 'dropped'
   where id = $1
     and state in ('pending', 'parked')
  returning id),
 unreported as (
  update outcomes
     set is_composed = true
    from dropped
   where delivery_id = dropped.id
     and not is_composed)
select id
  from dropped`;

/** Sends a result again that the lab doesn't have; false when there is nothing to send. */
export async function retryDelivery(pool: pg.Pool, deliveryId: number, act: Act): Promise<boolean> {
  return changeDelivery(pool, deliveryId, act, "retry", [DELIVER_NOW, COMPOSE_ANEW]);
}

/** Gives up a result that the lab doesn't have; false when there is nothing to give up. */
export async function dropDelivery(pool: pg.Pool, deliveryId: number, act: Act): Promise<boolean> {
  return changeDelivery(pool, deliveryId, act, "remove", [DROP_DELIVERY]);
}

/** Runs the first of the statements that fits the delivery, and writes the audit in the same transaction. */
async function changeDelivery(
  pool: pg.Pool,
  deliveryId: number,
  { actor, reason }: Act,
  action: string,
  statements: readonly string[],
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    await client.query(LOCK_DELIVERY, [deliveryId]);
    for (const statement of statements) {
      if ((await client.query(statement, [deliveryId])).rowCount === 0) continue;
      const targets = [{ target: formatId("d", deliveryId), detail: { reason } }];
      await recordAudit(client, { actor }, action, targets);
      return true;
    }
    return false;
  });
}
