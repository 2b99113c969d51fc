import type pg from "pg";
import type { FailureCode, KeptAnswer } from "../../core/failures.ts";
import { type ControlFacts, type ControlRefusal, decideControl } from "../../core/order-control.ts";
import { TRACKED_STATES } from "../../core/order-state.ts";
import type { Surface } from "../../core/surface.ts";
import { inTransaction, run } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { cancelledHere, changeOrders, changeOrdersWithin, LOOKED_FOR_FIRST } from "./change.ts";
import { type CallChange, changeCalls } from "./change-calls.ts";
import { CONTROL_FACTS, insertRequests, refuseOpenRequests } from "./control-requests.ts";
import { idOf, linkOf, readOrders, type ServiceLink } from "./row.ts";
import { insertOrderAnswer } from "./service-answers.ts";

/** A cancellation whose call may be made; of several requests about an order, the first stands for all. */
interface DueCancel {
  readonly requestId: number;
  readonly orderId: number;
}

/** $1 how many. Indexes: control_requests_open, the primary key of orders. */
const DUE_CANCELS = `
select c."requestId", c."orderId"
  from (select distinct on (c.order_id) c.id as "requestId", c.order_id as "orderId", c.next_at
          from control_requests c
          join orders o on o.id = c.order_id
         where c.state = 'open'
           and o.state in ('submitted', 'accepted', 'in_progress')
         order by c.order_id, c.id) c
 where c.next_at <= now()
 order by c.next_at
 limit $1`;

/** Cancellations whose calls to the service may be made now. */
export function findDueCancels(pool: pg.Pool, limit: number): Promise<DueCancel[]> {
  return run<DueCancel>(pool, DUE_CANCELS, [limit]);
}

/**
 * That the call is about to leave: until its answer is known, nobody knows what it did. Not where the order was linked to another
 * request since it was read. $1 request, $2 surface, $3 what is to be cancelled, $4 ms until the first look for what it did. Index: the primary key.
 */
const RECORD_CALL = `
with called as (
  update control_requests c
     set next_at = null
    from orders o
   where c.id = $1
     and c.state = 'open'
     and c.next_at <= now()
     and o.id = c.order_id
     and o.surface = $2
     and case when $2 = 'external' then o.procedure_id else o.request_id end = $3
  returning o.id, o.mark),
written as (
  insert into calls (order_id, kind, surface, mark, service_id, look_at)
  select id, 'cancel', $2, mark, $3, now() + $4 * interval '1 millisecond'
    from called
  returning id, order_id),
told as (
  insert into order_events (order_id, kind, detail)
  select w.order_id, 'cancel_called',
         jsonb_build_object('attempt', 1 + (select count(*)
                                              from calls k
                                             where k.order_id = w.order_id
                                               and k.kind = 'cancel'
                                               and k.service_id = $3))
    from written w)
select id
  from written`;

/**
 * Writes down that the cancel call is about to leave. On disk when it resolves.
 *
 * @returns the call; undefined when the request was decided meanwhile, the order was linked to another request, or another process has
 * made the call: then nothing may be sent.
 */
export async function recordCancelCall(
  pool: pg.Pool,
  { requestId, orderId }: DueCancel,
  link: ServiceLink,
  firstLookMs: number,
): Promise<number | undefined> {
  return inTransaction(pool, async (client) => {
    // A statement that waits for the request would still see what the order was linked to before.
    await client.query(LOCK_ORDER, [orderId]);
    const values = [requestId, link.surface, idOf(link), firstLookMs];
    return (await client.query<{ id: number }>(RECORD_CALL, values)).rows[0]?.id;
  });
}

/** $1 order id, $2 ms. Index: control_requests_open. */
const CALL_AGAIN = `
update control_requests
   set next_at = now() + $2 * interval '1 millisecond'
 where order_id = $1
   and state = 'open'`;

/**
 * Records what is known of a call to cancel an order. Nothing once it is over: whoever was late with it says nothing of one that was made
 * since.
 */
export async function changeCancelCall(
  pool: pg.Pool,
  orderId: number,
  callId: number,
  change: CallChange & {
    readonly failure?: { readonly code: FailureCode; readonly text: string } | undefined;
    /** When another call may be made, ms from now; undefined: none may. */
    readonly callInMs?: number | undefined;
    /** The service's answer to the call, kept with the order for a person to look at. */
    readonly keptAnswer?: KeptAnswer | undefined;
  },
): Promise<void> {
  const { callInMs, keptAnswer, ...call } = change;
  await inTransaction(pool, async (client) => {
    // The order comes before its calls and requests, as for whoever ends it.
    await client.query(LOCK_ORDER, [orderId]);
    if ((await changeCalls(client, [{ orderId, callId, ...call }])) === 0) return;
    if (callInMs !== undefined) await client.query(CALL_AGAIN, [orderId, callInMs]);
    if (keptAnswer && call.failure)
      await insertOrderAnswer(client, { orderId, failureCode: call.failure.code, answer: keptAnswer });
  });
}

/** Of what the order is linked to now, no call was made; $1 order id. Index: calls_order. */
const FORGET_CALL = `
update calls
   set outcome = 'nothing',
       ended_at = now(),
       look_at = null
 where order_id = $1
   and kind = 'cancel'
   and outcome is null`;

/** Has the open cancellations of an order begin again, since it was linked to another request. */
export async function beginCancelsAgain(client: pg.PoolClient, orderId: number): Promise<void> {
  await client.query(FORGET_CALL, [orderId]);
  await client.query(CALL_AGAIN, [orderId, 0]);
}

/**
 * Records that the order is cancelled at the service; the requests to cancel it are answered with that.
 *
 * @param remoteStatus the service's word for it; undefined where it keeps nothing of what was cancelled
 */
export async function recordCancelled(
  pool: pg.Pool,
  orderId: number,
  about: ServiceLink,
  remoteStatus: string | undefined,
): Promise<void> {
  const text = "cancelled at the storage service, as asked";
  const failure = {
    code: "ORDER_CANCELLED",
    text: remoteStatus === undefined ? `${text}; it keeps nothing of the order` : text,
  } as const;
  await changeOrders(pool, [
    {
      orderId,
      from: TRACKED_STATES,
      about,
      to: "cancelled",
      failure,
      remoteStatus,
      isReleased: true,
      event: { kind: "cancelled", detail: failure },
      isReported: true,
    },
  ]);
}

/**
 * Records that the order can't be cancelled; it goes on, and a person gets a task. Nothing is recorded when the order's
 * end has decided the requests meanwhile, or the call is over by which that is known.
 */
export async function recordUncancelled(
  pool: pg.Pool,
  orderId: number,
  refusal: ControlRefusal,
  callId?: number,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(LOCK_ORDER, [orderId]);
    if (callId !== undefined && (await client.query(IS_OPEN, [callId])).rowCount === 0) return;
    await refuseOpenRequests(client, orderId, refusal);
  });
}

/** $1 call. Index: the primary key. */
const IS_OPEN = "select 1 from calls where id = $1 and outcome is null";

/** What a person's request to cancel an order led to. */
export type CancelResult =
  /** Cancelled at once, or it was already. */
  | { readonly kind: "cancelled" }
  /** The service is asked to cancel it. */
  | { readonly kind: "asked" }
  /** A call may be under way; decided when it is known what that did. */
  | { readonly kind: "waits" }
  | { readonly kind: "unable"; readonly refusal: ControlRefusal };

/** $1 order id. Index: the primary key. */
const LOCK_ORDER = "select 1 from orders where id = $1 for update";

/** How a locked order stands; $1 order id. Index: the primary key. */
const FACTS = `select ${CONTROL_FACTS} from orders o where o.id = $1`;

/**
 * A person wants an order cancelled.
 *
 * @param offered the surfaces for which the service's cancel call is configured
 */
export async function cancelOrder(
  pool: pg.Pool,
  orderId: number,
  { actor, reason }: Act,
  offered: ReadonlySet<Surface>,
): Promise<CancelResult> {
  return inTransaction(pool, async (client) => {
    await client.query(LOCK_ORDER, [orderId]);
    const [order] = await readOrders(client, [orderId]);
    const link = order && linkOf(order);
    const [facts] = (await client.query<ControlFacts>(FACTS, [orderId])).rows;
    const decision = decideControl("cancel", facts, link !== undefined && offered.has(link.surface));
    if (decision.kind === "unable") {
      const { code } = decision.refusal;
      await recordAudit(client, { actor }, "cancel", [
        { target: formatId("o", orderId), detail: { reason, refused: code } },
      ]);
      return decision;
    }
    if (order === undefined || decision.kind === "done") return { kind: "cancelled" };
    const { connector, placerOrderNumber } = order;
    const isOpen = decision.kind !== "act";
    await insertRequests(client, actor, [
      { control: "cancel", connector, orderId, placerOrderNumber, reason, isOpen },
    ]);
    if (decision.kind === "act") await changeOrdersWithin(client, [cancelledHere(orderId)]);
    if (decision.kind === "wait" && decision.isForgotten)
      await changeOrdersWithin(client, [{ orderId, ...LOOKED_FOR_FIRST }]);
    const results = { act: "cancelled", call: "asked", wait: "waits" } as const;
    return { kind: results[decision.kind] };
  });
}
