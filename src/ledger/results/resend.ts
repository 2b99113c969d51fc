import type pg from "pg";
import { inTransaction, list } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { recordEvents } from "../orders/events.ts";

/** A result that the lab has waits for its turn once more, with the name and bytes that it had; $1 id. Index: the primary key. */
const SEND_AGAIN = `
update deliveries
   set state = 'pending',
       attempts = 0,
       own_failures = 0,
       next_at = now(),
       delivered_at = null
 where id = $1
   and state = 'delivered'
   and bytes is not null
returning order_ids as "orderIds"`;

/**
 * Sends a result again that the lab has: the same name and the same bytes, before what waits of its orders and was made
 * later. The audit and the orders' timelines have who wanted it.
 *
 * @returns false where it isn't sent yet, was given up, or its bytes are not kept any more
 */
export async function resendDelivery(pool: pg.Pool, deliveryId: number, act: Act): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ orderIds: number[] }>(SEND_AGAIN, [deliveryId]);
    const [sent] = rows;
    if (sent === undefined) return false;
    const id = formatId("d", deliveryId);
    const detail = { actor: act.actor, reason: act.reason, deliveryId: id };
    await recordEvents(
      client,
      sent.orderIds.map((orderId) => ({ orderId, kind: "resend_asked", detail })),
    );
    await recordAudit(client, act, "resend", [{ target: id, detail: { reason: act.reason } }]);
    return true;
  });
}

/** $1 id. Index: the primary key. */
const BYTES = "select d.bytes from deliveries d where d.id = $1 and d.bytes is not null";

/** The bytes of a result, as they were or will be sent; undefined where there are none, or retention has pruned them. */
export async function findBytes(pool: pg.Pool, deliveryId: number): Promise<Buffer | undefined> {
  return (await list<{ bytes: Buffer }>(pool, BYTES, [deliveryId]))[0]?.bytes;
}
