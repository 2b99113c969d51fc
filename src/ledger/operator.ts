import type pg from "pg";
import { changeOrdersWithin, ORDERS_BY_ID, type OrderChange } from "./change-orders.ts";
import { inTransaction, run } from "./database.ts";
import { formatId } from "./ids.ts";
import { fromOrderRow, type LedgerOrder, type OrderRow } from "./order-row.ts";

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

/** What a person's act on an order led to: done, or why the order, as it stands now, doesn't allow it. */
export type ActResult = "done" | "not applicable" | "reason wanted";

/**
 * Runs an act on an order as it stands at this moment, whatever the person saw before, with nobody else acting on it
 * meanwhile; writes the audit when something was done.
 */
async function act(
  pool: pg.Pool,
  orderId: number,
  by: Act,
  action: string,
  decide: (
    order: LedgerOrder,
    client: pg.PoolClient,
  ) => Promise<OrderChange | "hasten" | Exclude<ActResult, "done">>,
): Promise<ActResult> {
  return inTransaction(pool, async (client) => {
    await client.query("select 1 from orders where id = $1 for update", [orderId]);
    const [row] = (await client.query<OrderRow>(ORDERS_BY_ID, [[orderId]])).rows;
    if (!row) return "not applicable";
    const decision = await decide(fromOrderRow(row), client);
    if (decision === "not applicable" || decision === "reason wanted") return decision;
    const isDone =
      decision === "hasten"
        ? (await client.query(HASTEN, [orderId])).rowCount === 1
        : (await changeOrdersWithin(client, [decision])).size > 0;
    if (isDone) await auditWithin(client, by, action, orderId);
    return isDone ? "done" : "not applicable";
  });
}

/**
 * Has the machine try an order again at once, from where it stands: an order that waits goes on now; a parked one that
 * the service has is followed again; one whose call may have left is looked for first, and sent again when there is
 * nothing; a failed one is sent as a new request.
 */
export async function retryOrder(
  pool: pg.Pool,
  { id }: Pick<LedgerOrder, "id">,
  by: Act,
): Promise<ActResult> {
  return act(pool, id, by, "retry", async (order, client) => {
    const common = {
      orderId: id,
      failure: null,
      attempts: 0,
      nextInMs: 0,
      event: { kind: "retried", detail: { actor: by.actor } },
    };
    if (order.state === "failed") {
      await client.query(RESET_FAILED, [id]);
      return { ...common, from: ["failed"], to: "received", isIntentSettled: true };
    }
    if (order.state !== "parked") return "hasten";
    if (order.requestId !== undefined)
      return { ...common, from: ["parked"], to: "submitted", isMissing: false };
    if (order.intent !== undefined) {
      return { ...common, from: ["parked"], to: "submitting", isRepostApproved: true, isReleased: true };
    }
    return { ...common, from: ["parked"], to: "received" };
  });
}

/**
 * Decides that an order will not be done: one that the service doesn't have, or a parked or failed one. The lab is told.
 * Where the service may have the order all the same, a reason is wanted, and the lab is told that too.
 */
export async function discardOrder(
  pool: pg.Pool,
  { id }: Pick<LedgerOrder, "id">,
  by: Act,
): Promise<ActResult> {
  return act(pool, id, by, "discard", async (order) => {
    const mayBeThere =
      order.intent === "request" || (order.requestId !== undefined && order.state !== "failed");
    if (mayBeThere && (by.reason ?? "").trim() === "") return "reason wanted";
    const text = mayBeThere
      ? "discarded by an operator; the storage service may have the request and do it all the same"
      : "discarded by an operator";
    return {
      orderId: id,
      to: "discarded",
      failure: { code: "ORDER_DISCARDED", text },
      event: { kind: "discarded", detail: { actor: by.actor, reason: by.reason } },
      isReleased: true,
      isTold: true,
    };
  });
}

/** A parked order forgets the procedure it was followed by; $1 id. */
const FORGET_PROCEDURE = `
update orders
   set procedure_id = null,
       procedure_code = null,
       remote_status = null,
       missing_since = null,
       poll_interval_ms = null
 where id = $1
   and state = 'parked'`;

/**
 * Links a parked order to a procedure request that a person found at the service; it is followed from there.
 *
 * @throws Failure REQUEST_CLAIMED when another order has that request.
 */
export async function resolveOrder(
  pool: pg.Pool,
  { id }: Pick<LedgerOrder, "id">,
  requestId: number,
  by: Act,
): Promise<ActResult> {
  return act(pool, id, by, "resolve", async (order, client) => {
    if (order.state !== "parked" || order.operation === "REGISTER") return "not applicable";
    await client.query(FORGET_PROCEDURE, [id]);
    return {
      orderId: id,
      from: ["parked"],
      to: "submitted",
      failure: null,
      request: { surface: "request", requestId },
      attempts: 0,
      nextInMs: 0,
      isIntentSettled: true,
      event: { kind: "resolved", detail: { actor: by.actor, requestId } },
      isTold: true,
    };
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
