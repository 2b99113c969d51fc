import type pg from "pg";
import type { FailureCode } from "../../core/failures.ts";
import type { KeptAnswer } from "../../core/kept-answer.ts";
import type { Operation, OrderSubject } from "../../core/order.ts";
import { type ControlRefusal, decideControl } from "../../core/order-control.ts";
import { TRACKED_STATES } from "../../core/order-state.ts";
import type { Surface } from "../../core/surface.ts";
import { inTransaction, run, type WithNulls, withoutNulls } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";
import { openCallOf } from "./calls.ts";
import { cancelledHere, changeOrders, changeOrdersWithin } from "./change.ts";
import { insertRequests, refuseOpenRequests } from "./control-requests.ts";
import { linkOf, readOrders, type SubjectRow, toSubject } from "./row.ts";
import { insertOrderAnswer } from "./service-answers.ts";

/** How a cancellation's call to the service stands: to be made, made (perhaps), or refused for certain. */
export type CancelCallState = "due" | "sent" | "refused";

/** An order that the service has and that is to be cancelled there; of several requests, the first stands for all. */
export interface DueCancel {
  readonly requestId: number;
  readonly orderId: number;
  readonly facilityId: number;
  readonly operation: Operation;
  readonly surface: Surface;
  /** The procedure request, or on the external surface the procedure. */
  readonly serviceId: number;
  /** The procedure that became of a request, as far as it is known. */
  readonly procedureId: number | undefined;
  /** For masking what the service says. */
  readonly subject: OrderSubject;
  readonly call: CancelCallState;
  /** Calls made so far. */
  readonly attempts: number;
  /** Those of them, before the last one, whose answer never came. */
  readonly unanswered: number;
  /** Looks in a row since the last call that found the same, and not that the order is cancelled. */
  readonly checks: number;
  /** For how long every look was answered that there is no such request, ms; undefined when the last one was not. */
  readonly goneAgeMs: number | undefined;
  /** How long ago the last call was made, ms, by the database's clock. */
  readonly calledAgeMs: number | undefined;
  /** Why the last call is not known to have worked. */
  readonly failure: { readonly code: FailureCode; readonly text: string } | undefined;
}

/** $1 how many. Indexes: control_requests_open, the primary key of orders. */
const DUE_CANCELS = `
select *
  from (select distinct on (c.order_id)
               c.id as "requestId", c.order_id as "orderId", o.facility_id as "facilityId", o.operation, o.surface,
               case when o.surface = 'external' then o.procedure_id else o.request_id end as "serviceId",
               o.procedure_id as "procedureId", o.subject || jsonb_build_object('code', o.subject_code) as subject,
               c.call, c.attempts, c.unanswered, c.checks, c.next_at,
               (extract(epoch from now() - c.gone_since) * 1000)::double precision as "goneAgeMs",
               (extract(epoch from now() - c.called_at) * 1000)::double precision as "calledAgeMs",
               case when c.failure_code is not null
                    then jsonb_build_object('code', c.failure_code, 'text', c.failure_text) end as failure
          from control_requests c
          join orders o on o.id = c.order_id
         where c.state = 'open'
           and o.state in ('submitted', 'accepted', 'in_progress')
         order by c.order_id, c.id) c
 where c.next_at <= now()
 order by c.next_at
 limit $1`;

/**
 * That the call is about to leave: until its answer is known, nobody knows what it did. $1 request, $2 calls made before.
 * Index: the primary key.
 */
const RECORD_CALL = `
with called as (
  update control_requests
     set call = 'sent',
         attempts = attempts + 1,
         checks = 0,
         gone_since = null,
         called_at = now(),
         failure_code = 'SERVICE_NO_ANSWER',
         failure_text = 'the call to cancel was interrupted'
   where id = $1
     and attempts = $2
     and call = 'due'
     and state = 'open'
  returning order_id, attempts)
insert into order_events (order_id, kind, detail)
select order_id, 'cancel_called', jsonb_build_object('attempt', attempts)
  from called
returning order_id`;

/**
 * $1 request, $2 state of the call, $3 checks, $4 ms from now, $5 whether $6 code and $7 text replace the failure, $8 whether
 * the last look found nothing (null: as before), $9 calls given up as unanswered. Index: the primary key.
 */
const POSTPONE = `
update control_requests
   set call = $2,
       checks = $3,
       next_at = now() + $4 * interval '1 millisecond',
       failure_code = case when $5::boolean then $6 else failure_code end,
       failure_text = case when $5::boolean then $7 else failure_text end,
       gone_since = case when $8::boolean then coalesce(gone_since, now())
                         when not $8::boolean then null
                         else gone_since end,
       unanswered = unanswered + $9
 where id = $1
   and state = 'open'`;

/** Of the request that the order is linked to now no call was made; $1 order id. Index: control_requests_open. */
const BEGIN_AGAIN = `
update control_requests
   set call = 'due',
       checks = 0,
       unanswered = 0,
       called_at = null,
       gone_since = null,
       failure_code = null,
       failure_text = null,
       next_at = now()
 where order_id = $1
   and state = 'open'`;

/** Has the open cancellations of an order begin again, since it was linked to another request. */
export async function beginCancelsAgain(client: pg.PoolClient, orderId: number): Promise<void> {
  await client.query(BEGIN_AGAIN, [orderId]);
}

/** Cancellations that the service is to be asked for or about now. */
export async function findDueCancels(pool: pg.Pool, limit: number): Promise<DueCancel[]> {
  type Row = WithNulls<Omit<DueCancel, "subject">> & { readonly subject: SubjectRow };
  const rows = await run<Row>(pool, DUE_CANCELS, [limit]);
  return rows.map(({ subject, ...row }) => ({ ...withoutNulls(row), subject: toSubject(subject) }));
}

/**
 * Writes down that the cancel call is about to leave. On disk when it resolves.
 *
 * @returns false when the request was decided meanwhile, or another process has made the call: then nothing may be sent.
 */
export async function recordCancelCall(
  pool: pg.Pool,
  { requestId, attempts }: Pick<DueCancel, "requestId" | "attempts">,
): Promise<boolean> {
  return (await run(pool, RECORD_CALL, [requestId, attempts])).length === 1;
}

/** How a cancellation goes on that is not decided yet. */
interface CancelStep {
  readonly call: CancelCallState;
  readonly checks: number;
  readonly nextInMs: number;
  /** Why the last call is not known to have worked; `null`: the service took it; undefined: as before. */
  readonly failure?: { readonly code: FailureCode; readonly text: string } | null | undefined;
  /** Whether the last look was answered that there is no such request; undefined: there was none, or it failed. */
  readonly isGone?: boolean | undefined;
  /** The last call's answer never came, and is waited for no more. */
  readonly isUnanswered?: boolean | undefined;
  /** The service's answer to the call, kept with the order for a person to look at. */
  readonly answer?: KeptAnswer | undefined;
}

/** Puts the next step of a cancellation off. */
export async function postponeCancel(
  pool: pg.Pool,
  { requestId, orderId }: Pick<DueCancel, "requestId" | "orderId">,
  { call, checks, nextInMs, failure, isGone, isUnanswered, answer }: CancelStep,
): Promise<void> {
  const reason = [failure !== undefined, failure?.code ?? null, failure?.text ?? null];
  const found = [isGone ?? null, isUnanswered === true ? 1 : 0];
  await inTransaction(pool, async (client) => {
    await client.query(POSTPONE, [requestId, call, checks, Math.round(nextInMs), ...reason, ...found]);
    if (answer && failure) await insertOrderAnswer(client, { orderId, failureCode: failure.code, answer });
  });
}

/**
 * Records that the order is cancelled at the service; the requests to cancel it are answered with that.
 *
 * @param remoteStatus the service's word for it; undefined where it keeps nothing of what was cancelled
 */
export async function recordCancelled(
  pool: pg.Pool,
  { orderId, surface, serviceId }: Pick<DueCancel, "orderId" | "surface" | "serviceId">,
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
      about: surface === "request" ? { surface, requestId: serviceId } : { surface, procedureId: serviceId },
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
 * end has decided the requests meanwhile.
 */
export async function recordUncancelled(
  pool: pg.Pool,
  { orderId }: Pick<DueCancel, "orderId">,
  refusal: ControlRefusal,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query("select 1 from orders where id = $1 for update", [orderId]);
    await refuseOpenRequests(client, orderId, refusal);
  });
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

/** $1 order id. Index: the primary key. */
const LOCK_ORDER = "select 1 from orders where id = $1 for update";

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
    const facts = order && {
      state: order.state,
      isCalled: openCallOf(order) !== undefined,
      isAtService: link !== undefined,
    };
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
    const results = { act: "cancelled", call: "asked", wait: "waits" } as const;
    return { kind: results[decision.kind] };
  });
}
