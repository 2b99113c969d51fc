import type pg from "pg";
import { changeOrdersWithin, type OrderChange } from "./change-orders.ts";
import { inTransaction, run } from "./database.ts";
import { formatId } from "./ids.ts";
import type { LedgerOrder } from "./order-row.ts";

/** Who did it and why, for the audit. */
export interface Act {
  /** The operating system's user, or the console's. */
  readonly actor: string;
  readonly reason?: string | undefined;
}

/** $1 actor, $2 action, $3 JSON array of {target, detail}. */
const INSERT_AUDIT = `
insert into audit (actor, action, target, detail)
select $1, $2, x.target, coalesce(x.detail, '{}')
  from jsonb_to_recordset($3::jsonb) as x(target text, detail jsonb)`;

/** A failed order is sent as a new request; the old one stays in the timeline. $1 id. */
const RESET_FAILED = `
update orders
   set generation = generation + 1,
       request_id = null,
       surface = null,
       procedure_id = null,
       procedure_code = null,
       remote_status = null
 where id = $1
   and state = 'failed'`;

/** A delivery that waits or is parked goes out now; $1 id. */
const DELIVER_NOW = `
update deliveries
   set state = 'pending',
       next_at = now()
 where id = $1
   and state in ('pending', 'parked')
   and bytes is not null
returning id`;

/** An outcome that no message could be made of is composed anew; $1 id of its parked delivery. */
const COMPOSE_ANEW = `
with gone as (
  delete from deliveries
   where id = $1
     and state = 'parked'
     and bytes is null
  returning id)
update outcomes
   set is_composed = false,
       delivery_id = null
  from gone
 where delivery_id = gone.id
returning outcomes.id`;

/** $1 id. */
const DROP_DELIVERY = `
update deliveries
   set state = 'dropped'
 where id = $1
   and state in ('pending', 'parked')
returning id`;

/** An order that waits for its next try goes on now; $1 id. */
const HASTEN = `
update orders
   set next_at = now()
 where id = $1
   and (state in ('received', 'submitted', 'accepted', 'in_progress') or (state = 'submitting' and owner is null))
returning id`;

/** Records what a person did or saw. */
export async function recordAudit(
  pool: pg.Pool,
  act: Act,
  action: string,
  targets: readonly { readonly target: string; readonly detail?: Readonly<Record<string, unknown>> }[],
): Promise<void> {
  await run(pool, INSERT_AUDIT, [act.actor, action, JSON.stringify(targets)]);
}

async function auditWithin(client: pg.PoolClient, act: Act, action: string, orderId: number): Promise<void> {
  const targets = [{ target: formatId("o", orderId), detail: { reason: act.reason } }];
  await client.query(INSERT_AUDIT, [act.actor, action, JSON.stringify(targets)]);
}

/**
 * Has the machine try a parked or failed order again, from where it stood: an order that the service has is followed
 * again; one whose call may have left is looked for first, and sent again when there is nothing; a failed one is sent
 * as a new request.
 *
 * @returns false when the order is in no state to be retried.
 */
export async function retryOrder(pool: pg.Pool, order: LedgerOrder, act: Act): Promise<boolean> {
  const common = {
    orderId: order.id,
    failure: null,
    attempts: 0,
    nextInMs: 0,
    event: { kind: "retried", detail: { actor: act.actor } },
  };
  return inTransaction(pool, async (client) => {
    if (order.state === "received" || order.state === "submitting")
      return (await client.query(HASTEN, [order.id])).rowCount === 1;
    if (order.state === "failed") await client.query(RESET_FAILED, [order.id]);
    const change = ((): OrderChange => {
      if (order.state === "parked" && order.requestId !== undefined)
        return { ...common, from: ["parked"], to: "submitted" };
      if (order.state === "parked" && order.intent !== undefined) {
        return { ...common, from: ["parked"], to: "submitting", isRepostApproved: true, isReleased: true };
      }
      return { ...common, from: ["parked", "failed"], to: "received", isIntentSettled: true };
    })();
    const changed = await changeOrdersWithin(client, [change]);
    if (changed.size > 0) await auditWithin(client, act, "retry", order.id);
    return changed.size > 0;
  });
}

/**
 * Decides that an order will not be done: one that the service doesn't have, or a parked or failed one. The lab is told.
 *
 * @returns false when the order is in no state to be discarded.
 */
export async function discardOrder(pool: pg.Pool, order: LedgerOrder, act: Act): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const changed = await changeOrdersWithin(client, [
      {
        orderId: order.id,
        to: "discarded",
        event: { kind: "discarded", detail: { actor: act.actor, reason: act.reason } },
        isReleased: true,
        isTold: true,
      },
    ]);
    if (changed.size > 0) await auditWithin(client, act, "discard", order.id);
    return changed.size > 0;
  });
}

/**
 * Links a parked order to a procedure request that a person found at the service; it is followed from there.
 *
 * @returns false when the order isn't parked.
 * @throws Failure REQUEST_CLAIMED when another order has that request.
 */
export async function resolveOrder(
  pool: pg.Pool,
  order: LedgerOrder,
  requestId: number,
  act: Act,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const changed = await changeOrdersWithin(client, [
      {
        orderId: order.id,
        from: ["parked"],
        to: "submitted",
        failure: null,
        request: { surface: "request", requestId },
        attempts: 0,
        nextInMs: 0,
        isIntentSettled: true,
        event: { kind: "resolved", detail: { actor: act.actor, requestId } },
        isTold: true,
      },
    ]);
    if (changed.size > 0) await auditWithin(client, act, "resolve", order.id);
    return changed.size > 0;
  });
}

/** Sends a result again that the lab doesn't have; false when there is nothing to send. */
export async function retryDelivery(pool: pg.Pool, deliveryId: number, act: Act): Promise<boolean> {
  const sent = await run(pool, DELIVER_NOW, [deliveryId]);
  const rows = sent.length > 0 ? sent : await run(pool, COMPOSE_ANEW, [deliveryId]);
  if (rows.length > 0) await recordAudit(pool, act, "retry", [{ target: formatId("d", deliveryId) }]);
  return rows.length > 0;
}

/** Gives up a result that the lab doesn't have; false when there is nothing to give up. */
export async function dropDelivery(pool: pg.Pool, deliveryId: number, act: Act): Promise<boolean> {
  const rows = await run(pool, DROP_DELIVERY, [deliveryId]);
  if (rows.length > 0)
    await recordAudit(pool, act, "remove", [
      { target: formatId("d", deliveryId), detail: { reason: act.reason } },
    ]);
  return rows.length > 0;
}
