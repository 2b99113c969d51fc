import type { FailureCode } from "../../core/failures.ts";
import type { Surface } from "../../core/surface.ts";
import type { Queryable } from "../database.ts";
import { type CallOutcome, LINKED_ID, LINKED_SURFACE } from "./calls.ts";

/** What became of an order's open call, or how it is looked for. */
export interface CallChange {
  /** One to cancel; undefined: that to register or create. */
  readonly callId?: number | undefined;
  /** Its effect is known, or believed; undefined: it stays open. */
  readonly end?: CallOutcome | undefined;
  readonly answer?: "refused" | "taken" | undefined;
  readonly checks?: number | undefined;
  readonly failedChecks?: number | undefined;
  /** Of one to cancel: whether the last look was answered that there is no such request; undefined: there was none, or it failed. */
  readonly isGone?: boolean | undefined;
  /** When the service is looked at for it next, or once more, ms from now; undefined: not before a person has the order go on. */
  readonly lookInMs?: number | undefined;
  /** What it made. */
  readonly serviceId?: number | undefined;
  /** Where it turned out to have gone. */
  readonly surface?: Surface | undefined;
}

/**
 * $1 JSON array of {@link CallChange}s with their orders and failures. Index: calls_order.
 */
const CHANGE_CALLS = `
update calls k
   set outcome = x."end",
       ended_at = case when x."end" is not null then now() end,
       -- What a person links an order to is not what its subject's registration made.
       service_id = case when k.kind = 'cancel' then k.service_id
                         when k.kind = 'request' or x.surface is null then x."serviceId" end,
       -- A presumed one went to where it was found.
       surface = case when k.kind = 'request' then coalesce(x.surface, k.surface) else k.surface end,
       answer = coalesce(x.answer, k.answer),
       -- That of the call; a failed look has another.
       failure_code = coalesce(k.failure_code, x.failure->>'code'),
       failure_text = coalesce(k.failure_text, x.failure->>'text'),
       checks = coalesce(x.checks, k.checks),
       failed_checks = coalesce(x."failedChecks", k.failed_checks),
       gone_since = case when x."isGone" then coalesce(k.gone_since, now())
                         when not x."isGone" then null
                         else k.gone_since end,
       -- The worker was done with it by now, also by a clock that has gone back since.
       left_by = least(coalesce(k.left_by, now()), now()),
       look_at = now() + x."lookInMs" * interval '1 millisecond'
  from jsonb_to_recordset($1::jsonb) as x("orderId" bigint, "callId" bigint, "end" text, answer text, checks integer,
                                          "failedChecks" integer, "isGone" boolean, "lookInMs" double precision,
                                          "serviceId" bigint, surface text, failure jsonb)
 where k.order_id = x."orderId"
   and case when x."callId" is null then k.kind <> 'cancel' else k.id = x."callId" end
   and k.outcome is null`;

/**
 * Changes the open calls of orders, within a transaction that has changed those.
 *
 * @returns how many were open
 */
export async function changeCalls(
  client: Queryable,
  changes: readonly (CallChange & {
    readonly orderId: number;
    readonly failure?: { readonly code: FailureCode; readonly text: string } | null | undefined;
  })[],
): Promise<number> {
  if (changes.length === 0) return 0;
  return (await client.query(CHANGE_CALLS, [JSON.stringify(changes)])).rowCount ?? 0;
}

/**
 * A person has an order go on, and knows of its calls; $1 order id, $2 whether also of those from before it came to ask for something else:
 * what those made is no reason to stop any more, and they are looked for no more. Index: calls_order.
 */
const APPROVE_CALLS = `
update calls k
   set is_approved = true,
       failed_checks = 0,
       look_at = case when k.outcome is null then now()
                      when k.mark = o.mark then k.look_at end
  from orders o
 where o.id = $1
   and k.order_id = o.id
   and k.kind <> 'cancel'
   and (k.mark = o.mark or $2)`;

/** Has an order's calls known to the person who has the order go on; an open one is looked for at once. */
export async function approveCalls(
  client: Queryable,
  orderId: number,
  areFormerSeen: boolean,
): Promise<void> {
  await client.query(APPROVE_CALLS, [orderId, areFormerSeen]);
}

/** Looks for an open call at once; $1 order id. Index: calls_order. */
const LOOK_NOW = `
update calls
   set look_at = now(),
       failed_checks = 0
 where order_id = $1
   and kind <> 'cancel'
   and outcome is null`;

/** Has an order's open call looked for at once. */
export async function lookNow(client: Queryable, orderId: number): Promise<void> {
  await client.query(LOOK_NOW, [orderId]);
}

/** What nobody knows of orders that ended stays so; $1 order ids. Index: calls_order. */
const STOP_LOOKS = `
update calls
   set look_at = null
 where order_id = any ($1)
   and kind <> 'cancel'
   and outcome is null
   and look_at is not null`;

/** Has open calls of orders that have ended looked for no more. */
export async function stopLooks(client: Queryable, orderIds: readonly number[]): Promise<void> {
  if (orderIds.length > 0) await client.query(STOP_LOOKS, [orderIds]);
}

/** It is not known any more what an ended call did. */
export interface Reopening {
  readonly callId: number;
  /** It was refused, so that one look which finds nothing is enough. */
  readonly answer?: "refused" | undefined;
  /** Whether the service is looked at for it at once; else a person does. */
  readonly isLookedFor: boolean;
}

/** $1 JSON array of {@link Reopening}s with their orders. Index: the primary key. */
const REOPEN_CALLS = `
update calls k
   set outcome = null,
       ended_at = null,
       answer = coalesce(x.answer, k.answer),
       is_approved = false,
       look_at = case when x."isLookedFor" then now() end
  from jsonb_to_recordset($1::jsonb) as x("orderId" bigint, "callId" bigint, answer text, "isLookedFor" boolean)
 where k.id = x."callId"
   and k.order_id = x."orderId"
   and k.outcome in ('nothing', 'refused')`;

/** Reopens ended calls, within a transaction that has changed their orders. */
export async function reopenCalls(
  client: Queryable,
  reopenings: readonly (Reopening & { readonly orderId: number })[],
): Promise<void> {
  if (reopenings.length > 0) await client.query(REOPEN_CALLS, [JSON.stringify(reopenings)]);
}

/** $1 order ids. Index: calls_order. */
const END_CANCELS = `
update calls k
   set outcome = case
                   when k.worker_id is null then 'not_sent'
                   when o.state = 'cancelled' and k.surface = ${LINKED_SURFACE} and k.service_id = ${LINKED_ID} then 'made'
                   when k.answer = 'refused' then 'refused'
                   else 'nothing'
                 end,
       ended_at = now(),
       look_at = null
  from orders o
 where o.id = any ($1)
   and k.order_id = o.id
   and k.kind = 'cancel'
   and k.outcome is null`;

/** Ends the calls to cancel of orders, since what they were for is decided. */
export async function endCancels(client: Queryable, orderIds: readonly number[]): Promise<void> {
  if (orderIds.length > 0) await client.query(END_CANCELS, [orderIds]);
}
