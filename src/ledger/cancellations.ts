import type pg from "pg";
import type { FailureCode } from "../core/failures.ts";
import type { KeptAnswer } from "../core/kept-answer.ts";
import type { Operation, OrderSubject } from "../core/order.ts";
import { TRACKED_STATES } from "../core/order-state.ts";
import type { Surface } from "../core/surface.ts";
import { type Control, decideWish, type WishRefusal } from "../core/wish.ts";
import { insertOrderAnswer } from "./answers.ts";
import { changeOrders, ORDERS_BY_ID, settleWishesWithin } from "./change-orders.ts";
import { inTransaction, run } from "./database.ts";
import type { Act } from "./operator.ts";
import { fromOrderRow, linkOf, type OrderRow, type ServiceLink, toSubject } from "./order-row.ts";
import { recordAsked } from "./record-wishes.ts";
import { answerWishes, endWishes, findOpenCancels } from "./wishes.ts";

/** How a wish's call to the service stands: to be made, made (perhaps), or refused for certain. */
export type CancelCallState = "due" | "sent" | "refused";

/** An order that the service has and that is to be cancelled there; of several wishes, the first stands for all. */
export interface DueCancel {
  readonly wishId: number;
  readonly orderId: number;
  readonly facilityId: number;
  readonly operation: Operation;
  readonly link: ServiceLink;
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
  readonly looks: number;
  /** For how long every look was answered that there is no such request, ms; undefined when the last one was not. */
  readonly goneAgeMs: number | undefined;
  /** How long ago the last call was made, ms, by the database's clock. */
  readonly calledAgeMs: number | undefined;
  /** Why the last call is not known to have worked. */
  readonly failure: { readonly code: FailureCode; readonly text: string } | undefined;
}

/** $1 how many. Indexes: wishes_open, the primary key of orders. */
const DUE_CANCELS = `
select *
  from (select distinct on (c.order_id)
               c.id, c.order_id, c.call, c.attempts, c.unanswered, c.looks, c.next_at, c.failure_code, c.failure_text,
               (extract(epoch from now() - c.called_at) * 1000)::double precision as called_age_ms,
               (extract(epoch from now() - c.gone_since) * 1000)::double precision as gone_age_ms,
               o.facility_id, o.operation, o.surface, o.request_id, o.procedure_id, o.subject_code, o.subject
          from wishes c
          join orders o on o.id = c.order_id
         where c.control in ('cancel', 'discontinue')
           and c.state in ('asked', 'under_way')
           and o.state in ('submitted', 'accepted', 'in_progress')
           and (o.request_id is not null or (o.surface = 'external' and o.procedure_id is not null))
         order by c.order_id, c.id) w
 where w.next_at <= now()
 order by w.next_at
 limit $1`;

/**
 * That the call is about to leave: until its answer is known, nobody knows what it did. $1 wish, $2 calls made before.
 * Index: the primary key.
 */
const RECORD_CALL = `
with called as (
  update wishes
     set state = 'under_way',
         call = 'sent',
         attempts = attempts + 1,
         looks = 0,
         gone_since = null,
         called_at = now(),
         failure_code = 'SERVICE_NO_ANSWER',
         failure_text = 'the call to cancel was interrupted'
   where id = $1
     and attempts = $2
     and call = 'due'
     and state in ('asked', 'under_way')
  returning order_id, attempts)
insert into order_events (order_id, kind, detail)
select order_id, 'cancel_called', jsonb_build_object('attempt', attempts)
  from called
returning order_id`;

/**
 * $1 wish, $2 state of the call, $3 looks, $4 ms from now, $5 whether $6 code and $7 text replace the failure, $8 whether
 * the last look found nothing (null: as before), $9 calls given up as unanswered. Index: the primary key.
 */
const POSTPONE = `
update wishes
   set call = $2,
       looks = $3,
       next_at = now() + $4 * interval '1 millisecond',
       failure_code = case when $5::boolean then $6 else failure_code end,
       failure_text = case when $5::boolean then $7 else failure_text end,
       gone_since = case when $8::boolean then coalesce(gone_since, now())
                         when not $8::boolean then null
                         else gone_since end,
       unanswered = unanswered + $9
 where id = $1
   and state in ('asked', 'under_way')`;

/** $1 order id, $2 actor, $3 reason. */
const INSERT_WISH = `
insert into wishes (connector, control, order_id, placer_order_number, placer_authority, actor, reason, state)
select o.connector, 'cancel', o.id, o.placer_order_number, o.placer_authority, $2, $3, 'asked'
  from orders o
 where o.id = $1`;

/** Wishes about an order, oldest first; $1 order id. Index: wishes_order. */
const ORDER_WISHES = `
select c.control, c.actor, c.reason, c.state, c.attempts, c.failure_code, c.failure_text, c.asked_at, c.decided_at
  from wishes c
 where c.order_id = $1
 order by c.id`;

/** Cancellations that the service is to be asked for or about now. */
export async function findDueCancels(pool: pg.Pool, limit: number): Promise<DueCancel[]> {
  const rows = await run<{
    id: number;
    order_id: number;
    call: CancelCallState;
    attempts: number;
    unanswered: number;
    looks: number;
    called_age_ms: number | null;
    gone_age_ms: number | null;
    facility_id: number;
    operation: Operation;
    failure_code: FailureCode | null;
    failure_text: string | null;
    surface: Surface | null;
    request_id: number | null;
    procedure_id: number | null;
    subject_code: string;
    subject: OrderRow["subject"];
  }>(pool, DUE_CANCELS, [limit]);
  return rows.flatMap((row) => {
    const procedureId = row.procedure_id ?? undefined;
    const link = linkOf({
      surface: row.surface ?? undefined,
      requestId: row.request_id ?? undefined,
      procedureId,
    });
    if (link === undefined) return [];
    return [
      {
        wishId: row.id,
        orderId: row.order_id,
        facilityId: row.facility_id,
        operation: row.operation,
        link,
        procedureId,
        subject: toSubject(row.subject_code, row.subject),
        call: row.call,
        attempts: row.attempts,
        unanswered: row.unanswered,
        looks: row.looks,
        goneAgeMs: row.gone_age_ms ?? undefined,
        calledAgeMs: row.called_age_ms ?? undefined,
        failure:
          row.failure_code === null ? undefined : { code: row.failure_code, text: row.failure_text ?? "" },
      },
    ];
  });
}

/**
 * Writes down that the cancel call is about to leave. On disk when it resolves.
 *
 * @returns false when the wish was decided meanwhile, or another process has made the call: then nothing may be sent.
 */
export async function recordCancelCall(
  pool: pg.Pool,
  { wishId, attempts }: Pick<DueCancel, "wishId" | "attempts">,
): Promise<boolean> {
  return (await run(pool, RECORD_CALL, [wishId, attempts])).length === 1;
}

/** How a cancellation goes on that is not decided yet. */
export interface CancelStep {
  readonly call: CancelCallState;
  readonly looks: number;
  readonly nextInMs: number;
  /** Why the last call is not known to have worked; `null`: the service took it; undefined: as before. */
  readonly failure?: { readonly code: FailureCode; readonly text: string } | null | undefined;
  /** Whether the last look was answered that there is no such request; undefined: there was none, or it failed. */
  readonly isGone?: boolean | undefined;
  /** The last call's answer never came, and is waited for no more. */
  readonly isUnanswered?: boolean | undefined;
}

/** Puts the next step of a cancellation off. */
export async function postponeCancel(
  pool: pg.Pool,
  { wishId }: Pick<DueCancel, "wishId">,
  { call, looks, nextInMs, failure, isGone, isUnanswered }: CancelStep,
): Promise<void> {
  const reason = [failure !== undefined, failure?.code ?? null, failure?.text ?? null];
  const found = [isGone ?? null, isUnanswered === true ? 1 : 0];
  await run(pool, POSTPONE, [wishId, call, looks, Math.round(nextInMs), ...reason, ...found]);
}

/**
 * Records that the order is cancelled at the service; its wishes are answered with that.
 *
 * @param remoteStatus the service's word for it; undefined where it keeps nothing of what was cancelled
 */
export async function recordCancelled(
  pool: pg.Pool,
  { orderId }: Pick<DueCancel, "orderId">,
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
      to: "cancelled",
      failure,
      remoteStatus,
      isReleased: true,
      event: { kind: "cancelled", detail: failure },
      isTold: true,
    },
  ]);
}

/**
 * Records that the order can't be cancelled; it goes on, and a person gets a task. Nothing is recorded when the order's
 * end has decided its wishes meanwhile.
 *
 * @param answer the service's words, kept with the order
 */
export async function recordUncancelled(
  pool: pg.Pool,
  { orderId }: Pick<DueCancel, "orderId">,
  refusal: WishRefusal,
  answer?: KeptAnswer | undefined,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query("select 1 from orders where id = $1 for update", [orderId]);
    const wishIds = await findOpenCancels(client, orderId);
    const messageIds = await endWishes(client, new Map(wishIds.map((id) => [id, refusal])));
    if (answer) await insertOrderAnswer(client, { orderId, failureCode: refusal.code, answer });
    await answerWishes(client, messageIds);
  });
}

/** What a person's wish to cancel an order led to. */
export type CancelResult =
  /** Cancelled at once, or it was already. */
  | { readonly kind: "cancelled" }
  /** The service is asked to cancel it. */
  | { readonly kind: "asked" }
  /** A call may be under way; decided when that is settled. */
  | { readonly kind: "waits" }
  | { readonly kind: "unable"; readonly refusal: WishRefusal };

/**
 * A person wants an order cancelled.
 *
 * @param offered the surfaces for which the service's cancel call is configured
 */
export async function cancelOrder(
  pool: pg.Pool,
  orderId: number,
  act: Act,
  offered: ReadonlySet<Surface>,
): Promise<CancelResult> {
  return inTransaction(pool, async (client) => {
    await client.query("select 1 from orders where id = $1 for update", [orderId]);
    const [row] = (await client.query<OrderRow>(ORDERS_BY_ID, [[orderId]])).rows;
    const order = row && fromOrderRow(row);
    const link = order && linkOf(order);
    const facts = order && {
      state: order.state,
      hasIntent: order.intent !== undefined,
      isAtService: link !== undefined,
    };
    const decision = decideWish("cancel", facts, link !== undefined && offered.has(link.surface));
    if (decision.kind === "unable") return decision;
    if (decision.kind === "done") return { kind: "cancelled" };
    await client.query(INSERT_WISH, [orderId, act.actor, act.reason ?? null]);
    await recordAsked(client, act.actor, [
      { orderId, control: "cancel", detail: { by: act.actor, reason: act.reason } },
    ]);
    await settleWishesWithin(client, [orderId]);
    const results = { act: "cancelled", call: "asked", wait: "waits" } as const;
    return { kind: results[decision.kind] };
  });
}

/** A wish about an order, as people see it. */
export interface WishView {
  readonly control: Control;
  readonly actor: string;
  readonly reason: string | undefined;
  readonly state: "asked" | "under_way" | "done" | "unable";
  /** Calls made to the service. */
  readonly attempts: number;
  readonly failure: { readonly code: string; readonly text: string } | undefined;
  readonly askedAt: Date;
  readonly decidedAt: Date | undefined;
}

/** The wishes about an order, oldest first. */
export async function listOrderWishes(pool: pg.Pool, orderId: number): Promise<WishView[]> {
  const rows = await run<{
    control: Control;
    actor: string;
    reason: string | null;
    state: WishView["state"];
    attempts: number;
    failure_code: string | null;
    failure_text: string | null;
    asked_at: Date;
    decided_at: Date | null;
  }>(pool, ORDER_WISHES, [orderId]);
  return rows.map((row) => ({
    control: row.control,
    actor: row.actor,
    reason: row.reason ?? undefined,
    state: row.state,
    attempts: row.attempts,
    failure: row.failure_code === null ? undefined : { code: row.failure_code, text: row.failure_text ?? "" },
    askedAt: row.asked_at,
    decidedAt: row.decided_at ?? undefined,
  }));
}
