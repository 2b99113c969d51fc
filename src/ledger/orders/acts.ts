import type pg from "pg";
import type { FailureCode } from "../../core/failures.ts";
import { movesContainers } from "../../core/order.ts";
import { isTerminal, mayMove } from "../../core/order-state.ts";
import { inTransaction } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { callsForNow, openCallOf } from "./calls.ts";
import { changeOrdersWithin, GOES_ON, type OrderChange, REQUEST_GONE } from "./change.ts";
import { approveCalls, lookNow } from "./change-calls.ts";
import { MAY_BE_FORGOTTEN } from "./forgotten-calls.ts";
import { noteLinked } from "./new-calls.ts";
import { idOf, type LedgerOrder, linkOf, lockOrder, type ServiceLink } from "./row.ts";
import type { Override } from "./same-containers.ts";

/** A failed order is sent as a new request, under a mark of its own; the old one is never adopted again. $1 id. */
const RESET_FAILED = `
update orders
   set mark = new_mark(),
       overrides = '{}',
       request_id = null,
       procedure_id = null,
       procedure_code = null,
       remote_status = null
 where id = $1
   and state = 'failed'`;

/**
 * A storage forgets what its containers were called, and where they stood, by what the service made of it before: they
 * are others now. A retrieval asks for just those containers. $1 id. Index: the primary key.
 */
const FORGET_CONTAINERS = `
update order_containers c
   set container_id = null,
       location = null
  from orders o
 where o.id = $1
   and o.operation = 'STORE'
   and c.order_id = o.id
   and (c.container_id is not null or c.location is not null)`;

/** An order that waits for its next try goes on now; $1 id. */
const RUN_NOW = `
update orders
   set next_at = now()
 where id = $1
   and (state in ('received', 'submitted', 'accepted', 'in_progress') or (state = 'submitting' and owner is null))
returning id`;

/**
 * What a person's act on an order led to: done, done for an order that stays on hold until it is released, or why the
 * order, as it stands now, doesn't allow it.
 */
export type ActResult = "done" | "still on hold" | Refused;
/** Why the order, as it stands now, doesn't allow an act. */
type Refused = "not applicable" | "reason wanted" | "pruned";

/** Whether a person gave no reason. */
export function isBlank(reason: string | undefined): boolean {
  return (reason ?? "").trim() === "";
}

/**
 * Runs a person's act on an order as it stands at this moment, whatever the person saw before, with nobody else acting on it
 * meanwhile; writes the audit when something was done.
 */
export async function act(
  pool: pg.Pool,
  orderId: number,
  by: Act,
  action: string,
  decide: (order: LedgerOrder, client: pg.PoolClient) => Promise<OrderChange | "runNow" | Refused>,
): Promise<ActResult> {
  return inTransaction(pool, async (client) => {
    const order = await lockOrder(client, orderId);
    if (!order) return "not applicable";
    const decision = await decide(order, client);
    if (typeof decision === "string" && decision !== "runNow") return decision;
    const isDone =
      decision === "runNow"
        ? (await client.query(RUN_NOW, [orderId])).rowCount === 1
        : (await changeOrdersWithin(client, [decision])).size > 0;
    if (!isDone) return "not applicable";
    if (decision === "runNow" && order.state === "submitting") await lookNow(client, orderId);
    const target = { target: formatId("o", orderId), detail: { reason: by.reason } };
    await recordAudit(client, by, action, [target]);
    const goesOn = decision === "runNow" || decision.to === "received" || decision.to === "submitting";
    return goesOn && order.heldAt !== undefined ? "still on hold" : "done";
  });
}

/**
 * Has the machine try an order again at once, from where it stands: an order that waits goes on now; a parked one that
 * the service has is followed again; one whose call may have left is looked for first, and sent again when there is
 * nothing; a failed one is sent as a new request, unless its subject was pruned. One that the lab has on hold stays so, and is sent once it is released.
 */
export async function retryOrder(
  pool: pg.Pool,
  { id }: Pick<LedgerOrder, "id">,
  by: Act,
): Promise<ActResult> {
  return act(pool, id, by, "retry", async (order, client) => {
    const event = { kind: "retried", detail: { actor: by.actor } };
    const common = { orderId: id, ...GOES_ON, event };
    if (order.state === "failed") {
      if (order.isPruned) return "pruned";
      await client.query(RESET_FAILED, [id]);
      await client.query(FORGET_CONTAINERS, [id]);
      return { ...common, from: ["failed"], to: "received" };
    }
    if (order.state === "received" && order.heldAt !== undefined) return "not applicable";
    if (order.state !== "parked") return "runNow";
    if (linkOf(order) !== undefined)
      return { ...common, from: ["parked"], to: "submitted", isMissing: false, isLocating: false };
    const open = openCallOf(order);
    const lookFor = { ...common, from: ["parked"], to: "submitting" } as const;
    // Only an override goes past what a restored ledger may have forgotten.
    if (open?.isPresumed) {
      await lookNow(client, id);
      return lookFor;
    }
    // The person has seen what a call made before the order asked for something else.
    const isFormer = open?.kind === "request" && open.mark !== order.mark;
    await approveCalls(client, id, isFormer);
    if (isFormer) return { ...common, from: ["parked"], to: "received", call: { end: "nothing" } };
    if (open) return lookFor;
    // A call that was refused is looked for too, before another one leaves: the refusal may have been a gateway's.
    const last = callsForNow(order).at(-1);
    if (last) return { ...lookFor, reopened: { callId: last.id, answer: "refused", isLookedFor: true } };
    return { ...common, from: ["parked"], to: "received" };
  });
}

/** Has an order go on that the lab put on hold, as the lab itself can with ORC-1 RL. */
export async function releaseOrder(
  pool: pg.Pool,
  { id }: Pick<LedgerOrder, "id">,
  by: Act,
): Promise<ActResult> {
  return act(pool, id, by, "release", async ({ heldAt, state }) => {
    if (heldAt === undefined || isTerminal(state)) return "not applicable";
    const event = { kind: "released", detail: { actor: by.actor, reason: by.reason } };
    return { orderId: id, isHeld: false, nextInMs: 0, event };
  });
}

/** What a person may decide to go past: an order that seems to do the same once more. */
const OVERRIDABLE: Readonly<Partial<Record<FailureCode, Override>>> = {
  ORDER_NUMBER_REUSED: "number",
  ORDER_NUMBER_OTHER_AUTHORITY: "number",
  ORDER_CONTAINER_IN_OPEN_ORDER: "containers",
  ORDER_CONTAINER_STORED_ALREADY: "containers",
  ORDER_CONTAINER_RETRIEVED_ALREADY: "containers",
  ORDER_LABEL_OF_OTHER_SUBJECT: "label",
  SUBMIT_FORGOTTEN_REQUEST: "restored",
};

/** What a person may have a parked order go past; undefined where it matches nothing. */
export function overrideOf({ state, failure }: Pick<LedgerOrder, "state" | "failure">): Override | undefined {
  return state === "parked" && failure ? OVERRIDABLE[failure.code] : undefined;
}

/** $1 id, $2 what the person saw and goes past. */
const OVERRIDE = `
update orders
   set overrides = array_append(array_remove(overrides, $2::text), $2::text)
 where id = $1
   and state = 'parked'`;

/**
 * Has an order done although another one seems to ask for the same: the person and the reason go into the audit and
 * the timeline. It goes past what the person saw: an order that has another one's number may have its containers
 * as well, and then asks once more. It holds until the order has failed and is sent as a new request.
 *
 * @returns "not applicable" for an order that is not parked for such a match
 */
export async function overrideOrder(
  pool: pg.Pool,
  { id }: Pick<LedgerOrder, "id">,
  by: Act,
): Promise<ActResult> {
  return act(pool, id, by, "override", async (order, client) => {
    const { failure } = order;
    const override = overrideOf(order);
    if (!failure || override === undefined) return "not applicable";
    if (isBlank(by.reason)) return "reason wanted";
    const open = openCallOf(order);
    // What a restored ledger has found by now is what the person saw, and nothing else that it may have forgotten.
    const isSeen = override === "restored" && open?.isPresumed === true && open.lookAt === undefined;
    await approveCalls(client, id, false);
    if (override !== "restored") await client.query(OVERRIDE, [id, override]);
    const onward: Partial<OrderChange> =
      open === undefined || isSeen
        ? { to: "received", call: { end: "nothing" } }
        : // What its own call did is still looked for.
          { to: "submitting" };
    return {
      orderId: id,
      from: ["parked"],
      ...onward,
      ...GOES_ON,
      event: { kind: "overridden", detail: { actor: by.actor, reason: by.reason, code: failure.code } },
    };
  });
}

/**
 * Whether the service may have an order that it is not known to have: also where it was parked since something there may be
 * its own, or where a restored ledger may have forgotten its call. $1 id. Indexes: the primary keys, calls_order.
 */
const MAY_BE_THERE = `
select exists (
         select 1
           from calls k
          where k.order_id = o.id
            and k.kind = 'request'
            and k.outcome is null)
       or ${MAY_BE_FORGOTTEN}
       or coalesce(o.state = 'parked'
                   and (select e.detail ? 'atService'
                          from order_events e
                         where e.order_id = o.id
                           and e.kind = 'parked'
                         order by e.id desc
                         limit 1), false) as "mayBeThere"
  from orders o
 where o.id = $1`;

/**
 * Decides that an order will not be done: one that the service doesn't have, or a parked or failed one. That is reported to the lab.
 * Where the service may have the order, a reason is needed, and the lab hears that it may be done.
 */
export async function discardOrder(
  pool: pg.Pool,
  { id }: Pick<LedgerOrder, "id">,
  by: Act,
): Promise<ActResult> {
  return act(pool, id, by, "discard", async (found, client) => {
    if (found.missingSince !== undefined && isBlank(by.reason)) return "reason wanted";
    const order = await parkForgotten(client, found);
    if (!mayMove(order.state, "discarded")) return "not applicable";
    const isKnown = linkOf(order) !== undefined && order.state !== "failed";
    const { rows } = await client.query<{ mayBeThere: boolean }>(MAY_BE_THERE, [id]);
    const mayBeThere = isKnown || rows[0]?.mayBeThere === true;
    if (mayBeThere && isBlank(by.reason)) return "reason wanted";
    const text = mayBeThere
      ? order.failure?.code === "REQUEST_GONE"
        ? "discarded by an operator; the storage service does not know the request any more"
        : "discarded by an operator; the storage service may have the request and do it anyway"
      : `discarded by an operator${order.failure && overrideOf(order) === "containers" ? `; ${order.failure.text}` : ""}`;
    return {
      orderId: id,
      to: "discarded",
      failure: { code: "ORDER_DISCARDED", text },
      event: { kind: "discarded", detail: { actor: by.actor, reason: by.reason } },
      isReported: true,
    };
  });
}

/**
 * An order whose request the service has forgotten waits for a person from the moment that one acts on it, not only after a
 * day of it. The caller holds the row locked.
 */
async function parkForgotten(client: pg.PoolClient, order: LedgerOrder): Promise<LedgerOrder> {
  const { id: orderId, missingSince, state } = order;
  if (missingSince === undefined || state === "parked" || isTerminal(state)) return order;
  const event = { kind: "parked", detail: REQUEST_GONE };
  await changeOrdersWithin(client, [{ orderId, to: "parked", failure: REQUEST_GONE, event }]);
  return { ...order, state: "parked", failure: REQUEST_GONE };
}

/** A parked order forgets the request and procedure it was followed by; $1 id. */
const FORGET_LINK = `
update orders
   set request_id = null,
       procedure_id = null,
       procedure_code = null,
       remote_status = null,
       missing_since = null,
       locating_since = null
 where id = $1
   and state = 'parked'`;

/**
 * Links a parked order to the procedure request that a person found at the service, or on the external surface to the
 * procedure; it is followed from there. What was asked of another request before, to cancel it, is asked of this one.
 *
 * @throws Failure REQUEST_CLAIMED when another order has it.
 */
export async function resolveOrder(
  pool: pg.Pool,
  { id }: Pick<LedgerOrder, "id">,
  link: ServiceLink,
  by: Act,
): Promise<ActResult> {
  return act(pool, id, by, "resolve", async (found, client) => {
    const order = await parkForgotten(client, found);
    if (order.state !== "parked" || !movesContainers(order.operation)) return "not applicable";
    await noteLinked(client, id, { surface: link.surface, id: idOf(link) });
    await client.query(FORGET_LINK, [id]);
    await client.query(FORGET_CONTAINERS, [id]);
    return {
      orderId: id,
      from: ["parked"],
      to: "submitted",
      ...GOES_ON,
      request: link,
      call: { end: "made" },
      event: { kind: "resolved", detail: { actor: by.actor, reason: by.reason, ...link } },
      isReported: true,
    };
  });
}
