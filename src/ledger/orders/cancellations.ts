import type pg from "pg";
import type { FailureCode, KeptAnswer } from "../../core/failures.ts";
import { type ControlFacts, type ControlRefusal, decideControl } from "../../core/order-control.ts";
import { TRACKED_STATES } from "../../core/order-state.ts";
import type { Surface } from "../../core/surface.ts";
import { inTransaction } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { LINKED_ID, LINKED_SURFACE } from "./calls.ts";
import { changeOrdersWithin, type OrderChange } from "./change.ts";
import { type CallChange, changeCalls } from "./change-calls.ts";
import { CONTROL_FACTS, insertRequests } from "./control-requests.ts";
import { planCancels } from "./new-calls.ts";
import { LOCK_ORDERS, linkOf, lockOrder, type ServiceLink } from "./row.ts";
import { insertOrderAnswer } from "./service-answers.ts";

/**
 * A planned call leaves. Not where the order was linked to another request since it was read; $1 call, $2 worker, $3 ms until the first
 * look for what it did. Indexes: the primary keys, calls_order.
 */
const SEND_CANCEL = `
with sent as (
  update calls k
     set worker_id = $2,
         at = now(),
         since = now(),
         look_at = now() + $3 * interval '1 millisecond'
    from orders o
   where k.id = $1
     and k.outcome is null
     and k.worker_id is null
     and o.id = k.order_id
     and ${LINKED_SURFACE} = k.surface
     and ${LINKED_ID} = k.service_id
  returning k.order_id, k.surface, k.service_id)
insert into order_events (order_id, kind, detail)
select s.order_id, 'cancel_called',
       jsonb_build_object('attempt', 1 + (select count(*)
                                            from calls k
                                           where k.order_id = s.order_id
                                             and k.kind = 'cancel'
                                             and k.worker_id is not null
                                             and k.surface = s.surface
                                             and k.service_id = s.service_id))
  from sent s`;

/**
 * Writes down that a planned call to cancel is about to leave: until its answer is known, nobody knows what it did. On disk when it resolves.
 *
 * @returns false when what it was for was decided meanwhile, the order was linked to another request, or another process has made the
 * call: then nothing may be sent
 */
export async function sendCancel(
  pool: pg.Pool,
  {
    orderId,
    callId,
    workerId,
  }: { readonly orderId: number; readonly callId: number; readonly workerId: number },
  firstLookMs: number,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    // A statement that waits for the call would still see what the order was linked to before.
    await client.query(LOCK_ORDERS, [[orderId]]);
    return (await client.query(SEND_CANCEL, [callId, workerId, firstLookMs])).rowCount === 1;
  });
}

/**
 * Records what a call to cancel an order was answered. Nothing once it is over: whoever was late with it says nothing of one that was made
 * since.
 */
export async function answerCancel(
  pool: pg.Pool,
  orderId: number,
  call: CallChange & {
    readonly callId: number;
    readonly failure?: { readonly code: FailureCode; readonly text: string } | undefined;
  },
  {
    againInMs,
    answer,
  }: {
    /** When it is made once more, ms from now; undefined: it isn't. */
    readonly againInMs?: number | undefined;
    /** The service's answer, kept with the order for a person to look at. */
    readonly answer?: KeptAnswer | undefined;
  } = {},
): Promise<void> {
  await inTransaction(pool, async (client) => {
    // The order comes before its calls and requests, as for whoever ends it.
    await client.query(LOCK_ORDERS, [[orderId]]);
    if ((await changeCalls(client, [{ orderId, ...call }])) === 0) return;
    if (againInMs !== undefined) await planCancels(client, [orderId], againInMs);
    if (answer && call.failure)
      await insertOrderAnswer(client, { orderId, failureCode: call.failure.code, answer });
  });
}

/**
 * The order is cancelled at the service; the requests to cancel it are answered with that.
 *
 * @param remoteStatus the service's word for it; undefined where it keeps nothing of what was cancelled
 */
export function cancelledThere(
  orderId: number,
  about: ServiceLink,
  remoteStatus: string | undefined,
): OrderChange {
  const text = "cancelled at the storage service, as asked";
  const failure = {
    code: "ORDER_CANCELLED",
    text: remoteStatus === undefined ? `${text}; it keeps nothing of the order` : text,
  } as const;
  return {
    orderId,
    from: TRACKED_STATES,
    about,
    to: "cancelled",
    failure,
    remoteStatus,
    event: { kind: "cancelled", detail: failure },
    isReported: true,
  };
}

/** What a person's request to cancel an order led to. */
export type CancelResult =
  /** Cancelled at once, or it was already. */
  | { readonly kind: "cancelled" }
  /** The service is asked to cancel it. */
  | { readonly kind: "asked" }
  /** A call may be under way; decided when it is known what that did. */
  | { readonly kind: "waits" }
  | { readonly kind: "unable"; readonly refusal: ControlRefusal };

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
    const order = await lockOrder(client, orderId);
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
    await insertRequests(client, actor, [
      { control: "cancel", connector, orderId, placerOrderNumber, reason, isOpen: true },
    ]);
    // Decided as any that is open whenever its order is changed.
    await changeOrdersWithin(client, [{ orderId }]);
    const results = { act: "cancelled", call: "asked", wait: "waits" } as const;
    return { kind: results[decision.kind] };
  });
}
