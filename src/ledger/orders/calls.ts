import type pg from "pg";
import type { FailureCode } from "../../core/failures.ts";
import type { Phi } from "../../core/phi.ts";
import type { Surface } from "../../core/surface.ts";
import { type Queryable, run, type WithNulls, withoutNulls } from "../database.ts";
import { nameOrder } from "../ids.ts";

/** What a call is to create: the subject, or the procedure request, on the external surface the procedure; or that it is to cancel that. */
export type CallKind = "subject" | "request" | "cancel";

/** What became of a call; decision 0043 has what each means. */
export type CallOutcome = "made" | "refused" | "nothing" | "not_sent";

/** A call of an order that changes the service, as the ledger keeps it. */
export interface OrderCall {
  readonly id: number;
  readonly kind: CallKind;
  /** The ledger is an older copy of itself, and nobody knows whether such a call left. */
  readonly isPresumed: boolean;
  /** Where it went; undefined for a subject. */
  readonly surface: Surface | undefined;
  /** The order's mark then. */
  readonly mark: string;
  /** The service's id of the order's subject, as far as it was asked for. */
  readonly subjectId: number | undefined;
  /** When the first call for the same left; of a presumed one, when it can have left at the earliest. */
  readonly since: Date;
  /** Requests of this subject and type that were there before that first call. */
  readonly knownIds: readonly number[];
  readonly at: Date;
  /** When it had left at the latest; undefined while a worker has it in hand. */
  readonly leftBy: Date | undefined;
  /** How long ago that was, ms, by the database's clock; before, since it was written down. */
  readonly ageMs: number;
  /** What its answer said, where it named nothing that was made. */
  readonly answer: "refused" | "taken" | undefined;
  /** Why its effect is not known, or that it was refused. */
  readonly failure: { readonly code: FailureCode; readonly text: string } | undefined;
  /** Looks so far that found nothing sure, and those in a row that failed. */
  readonly checks: number;
  readonly failedChecks: number;
  /** For how long every look for a call to cancel was answered that there is no such request, ms; undefined when the last one was not. */
  readonly goneMs: number | undefined;
  /** When the service is looked at for it next, or once more. */
  readonly lookAt: Date | undefined;
  /** A person had the order go on since, and knew of it. */
  readonly isApproved: boolean;
  /** Undefined while nobody knows what it did. */
  readonly outcome: CallOutcome | undefined;
  /** What it made there, or was to cancel. */
  readonly serviceId: number | undefined;
  readonly endedAt: Date | undefined;
}

/** The calls of order `o` as a JSON array, oldest first, without what they sent. Index: calls_order. */
export const CALLS = `
  (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
            'id', k.id, 'kind', k.kind, 'isPresumed', k.is_presumed, 'surface', k.surface, 'mark', k.mark,
            'subjectId', k.subject_id, 'since', k.since, 'knownIds', k.known_ids, 'at', k.at, 'leftBy', k.left_by,
            'ageMs', extract(epoch from now() - coalesce(k.left_by, k.at)) * 1000, 'answer', k.answer,
            'failure', case when k.failure_code is not null
                            then jsonb_build_object('code', k.failure_code, 'text', coalesce(k.failure_text, '')) end,
            'checks', k.checks, 'failedChecks', k.failed_checks, 'lookAt', k.look_at,
            'goneMs', extract(epoch from now() - k.gone_since) * 1000, 'isApproved', k.is_approved,
            'outcome', k.outcome, 'serviceId', k.service_id, 'endedAt', k.ended_at)) order by k.id)
     from calls k
    where k.order_id = o.id) as calls`;

/** A call as {@link CALLS} has it: times are texts. */
export type CallRow = Omit<WithNulls<OrderCall>, "since" | "at" | "leftBy" | "lookAt" | "endedAt"> & {
  readonly [Key in "since" | "at"]: string;
} & { readonly [Key in "leftBy" | "lookAt" | "endedAt"]?: string };

/** The calls of a row. */
export function toCalls(rows: readonly CallRow[] | null): OrderCall[] {
  const toDate = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
  return (rows ?? []).map(({ since, at, leftBy, lookAt, endedAt, ...row }) => ({
    ...(withoutNulls(row) as Omit<OrderCall, "since" | "at" | "leftBy" | "lookAt" | "endedAt">),
    since: new Date(since),
    at: new Date(at),
    leftBy: toDate(leftBy),
    lookAt: toDate(lookAt),
    outcome: row.outcome ?? undefined,
    endedAt: toDate(endedAt),
  }));
}

/** What of an order its calls are told apart by. */
interface Called {
  readonly calls: readonly OrderCall[];
  readonly mark: string;
}

/** The call to register or create of which nobody knows what it did. */
export function openCallOf({ calls }: Pick<Called, "calls">): OrderCall | undefined {
  return calls.find(({ outcome, kind }) => outcome === undefined && kind !== "cancel");
}

/** The calls to cancel what the order is followed by, oldest first. */
export function cancelCallsOf({ calls }: Pick<Called, "calls">, serviceId: number | undefined): OrderCall[] {
  return calls.filter((call) => call.kind === "cancel" && call.serviceId === serviceId);
}

/** The call that made what the order asks for now. */
export function madeCallOf({ calls, mark }: Called): OrderCall | undefined {
  return calls.findLast((call) => call.kind === "request" && call.outcome === "made" && call.mark === mark);
}

/** Calls that may have left to create what the order asks for now, oldest first. */
export function callsForNow({ calls, mark }: Called): OrderCall[] {
  return calls.filter((call) => isOwn(call) && call.mark === mark && call.outcome !== "not_sent");
}

/**
 * Calls for something else than the order asks for now, of which nothing was found: before the first call for what it asks for now
 * the service is looked at for what they made. None once that one has left, or a person has the order go on.
 */
export function formerCalls(order: Called): OrderCall[] {
  if (callsForNow(order).length > 0) return [];
  return order.calls.filter(
    (call) =>
      isOwn(call) &&
      call.mark !== order.mark &&
      !call.isApproved &&
      (call.outcome === "nothing" || call.outcome === "refused"),
  );
}

function isOwn({ kind, isPresumed }: OrderCall): boolean {
  return kind === "request" && !isPresumed;
}

/** What the service made of the order on a surface before it was done again: never what a later call made. */
export function formerIds({ calls, mark }: Called, surface: Surface): number[] {
  return calls.flatMap((call) =>
    call.kind === "request" && call.surface === surface && call.mark !== mark ? (call.serviceId ?? []) : [],
  );
}

/** Whether order `o` has a call to register or create of which nobody knows what it did. */
export const HAS_OPEN_CALL = `
exists (select 1
          from calls k
         where k.order_id = o.id
           and k.kind <> 'cancel'
           and k.outcome is null)`;

/** Whether order `e` may be at the service by a call that nobody knows the effect of. */
export const HAS_OPEN_REQUEST = `
exists (select 1
          from calls k
         where k.order_id = e.id
           and k.kind = 'request'
           and not k.is_presumed
           and k.outcome is null)`;

/** Whether order `e`, which has not ended, is at the service or may be. */
export const MAY_BE_AT_SERVICE = `
(e.state in ('submitted', 'accepted', 'in_progress')
 or e.request_id is not null
 or e.procedure_id is not null
 or ${HAS_OPEN_REQUEST})`;

/** A call that is to register or create, and is about to leave. */
export interface NewCall {
  readonly orderId: number;
  readonly fence: number;
  readonly kind: Exclude<CallKind, "cancel">;
  /** What was there before, where it is the first call for the same on its surface. */
  readonly knownIds: readonly number[];
  /** What is sent, for the record and for the search; undefined for a subject. */
  readonly body: unknown;
  readonly subjectId?: number | undefined;
  /** Where a request goes. */
  readonly surface?: Surface | undefined;
  /** Whether it is only written down while no label of the order is another subject's. */
  readonly needsFreeLabels?: boolean | undefined;
}

/**
 * Calls before they leave; $1 JSON array of {@link NewCall}s. The order's row is locked, so that whoever takes the order from its
 * worker comes before, and the call isn't there, or after, and knows of it. Indexes: the primary key of orders, calls_order.
 */
const RECORD_CALLS = `
with mine as materialized (
  select o.id, o.mark, o.owner, o.failure_code, x.kind, x."knownIds", x.body, x.surface, x."subjectId"
    from jsonb_to_recordset($1::jsonb) as x("orderId" bigint, fence bigint, kind text, "knownIds" bigint[], body jsonb,
                                            surface text, "subjectId" bigint)
    join orders o on o.id = x."orderId"
   where o.fence = x.fence
     and o.state = 'submitting'
   order by o.id
     for no key update of o),
-- A failure of a try before: what is kept from here on is said of this call.
cleared as (
  update orders o
     set failure_code = null,
         failure_text = null
    from mine
   where o.id = mine.id
     and mine.failure_code is not null)
insert into calls (order_id, kind, surface, mark, body, subject_id, worker_id, since, known_ids)
select m.id, m.kind, m.surface, m.mark, m.body, m."subjectId", m.owner, coalesce(f.since, now()),
       coalesce(f.known_ids, m."knownIds")
  from mine m
  left join lateral (
       select k.since, k.known_ids
         from calls k
        where m.kind = 'request'
          and k.order_id = m.id
          and k.kind = 'request'
          and k.mark = m.mark
          and k.surface = m.surface
          and k.outcome <> 'not_sent'
          and not k.is_presumed
        order by k.id
        limit 1) f on true
returning order_id as id, at`;

/**
 * Writes down that calls which change the service are about to leave, in a transaction of the caller's.
 *
 * @returns when, by the database's clock, by order id. An order that isn't there is no longer this worker's: nothing may
 * be sent for it.
 */
export async function recordCalls(
  client: Queryable,
  calls: readonly NewCall[],
): Promise<ReadonlyMap<number, Date>> {
  if (calls.length === 0) return new Map();
  const { rows } = await client.query<{ id: number; at: Date }>(RECORD_CALLS, [JSON.stringify(calls)]);
  return new Map(rows.map(({ id, at }) => [id, at]));
}

/** What became of an order's open call, or how it is looked for. */
export interface CallChange {
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
 * $1 JSON array of {@link CallChange}s with their orders and failures, and with the call where it is one to cancel. Index: calls_order.
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
       -- The worker was done with it by now.
       left_by = coalesce(k.left_by, now()),
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
    /** One to cancel; else that to register or create. */
    readonly callId?: number | undefined;
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

/**
 * A person links an order to what is at the service, by whichever call; $1 order id, $2 surface, $3 what it is. Index: calls_order.
 */
const NOTE_LINKED = `
insert into calls (order_id, kind, is_presumed, surface, mark, is_approved, outcome, service_id, ended_at, left_by)
select o.id, 'request', true, $2, o.mark, true, 'made', $3, now(), now()
  from orders o
 where o.id = $1
   and not exists (select 1
                     from calls k
                    where k.order_id = o.id
                      and k.kind = 'request'
                      and k.outcome is null)`;

/** Notes what a person found at the service as that of a call, where none to create it is open. */
export async function noteLinked(
  client: Queryable,
  orderId: number,
  link: { readonly surface: Surface; readonly id: number },
): Promise<void> {
  await client.query(NOTE_LINKED, [orderId, link.surface, link.id]);
}

/** The body that a call sent; $1 call. Index: the primary key. */
const BODY = "select body from calls where id = $1";

/** What a call sent, subject code included; undefined for a subject, a presumed one, and what was pruned. */
export async function findBody(pool: pg.Pool, callId: number): Promise<unknown> {
  const [row] = await run<{ body: unknown }>(pool, BODY, [callId]);
  return row?.body ?? undefined;
}

/** What calls of an order sent; $1 order id. Index: calls_order. */
const BODIES = "select id, body from calls where order_id = $1 and body is not null";

/** What the calls of an order sent, by the calls' ids. */
export async function findBodies(pool: pg.Pool, orderId: number): Promise<ReadonlyMap<number, unknown>> {
  const rows = await run<{ id: number; body: unknown }>(pool, BODIES, [orderId]);
  return new Map(rows.map(({ id, body }) => [id, body]));
}

/** Other orders that hold these requests; $1 request ids, $2 order id. Index: orders_request. */
const CLAIMED_REQUESTS = `
select request_id as claimed, id, placer_order_number
  from orders
 where request_id = any ($1)
   and id <> $2`;

/** Other orders that hold these procedures of the external surface; $1 procedure ids, $2 order id. Index: orders_procedure. */
const CLAIMED_PROCEDURES = `
select procedure_id as claimed, id, placer_order_number
  from orders
 where procedure_id = any ($1)
   and request_id is null
   and id <> $2`;

/**
 * Which of these requests, or procedures on the external surface, belong to other orders already; with the name of the
 * order that has each, such as `order P-1001`.
 */
export async function findClaimed(
  pool: pg.Pool,
  surface: Surface,
  ids: readonly number[],
  orderId: number,
): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map();
  const query = surface === "request" ? CLAIMED_REQUESTS : CLAIMED_PROCEDURES;
  const rows = await run<{ claimed: number; id: number; placer_order_number: string | null }>(pool, query, [
    ids,
    orderId,
  ]);
  return new Map(rows.map((row) => [row.claimed, nameOrder(row.placer_order_number)]));
}

/** What is at the service of orders of a subject by now, or was; $1 facility id, $2 surface, $3 subject code. Indexes: orders_subject, calls_order. */
const LINKED = `
select k.service_id as id
  from orders o
  join calls k on k.order_id = o.id
 where o.subject_code = $3
   and o.facility_id = $1
   and k.kind = 'request'
   and k.surface = $2
   and k.service_id is not null
 union
select coalesce(o.request_id, o.procedure_id)
  from orders o
 where o.subject_code = $3
   and o.facility_id = $1
   and case when $2 = 'request' then o.request_id is not null else o.request_id is null and o.procedure_id is not null end`;

/** The requests, or procedures of the external surface, that the orders of a subject have or had. */
export async function findLinkedOf(
  pool: pg.Pool,
  order: { readonly facilityId: number; readonly subject: { readonly code: Phi } },
  surface: Surface,
): Promise<ReadonlySet<number>> {
  const values = [order.facilityId, surface, order.subject.code.reveal()];
  return new Set((await run<{ id: number }>(pool, LINKED, values)).map(({ id }) => id));
}

/** $1 marks. Indexes: orders_mark, calls_mark. */
const KNOWN_MARKS = `
select o.mark, o.id
  from orders o
 where o.mark = any ($1)
 union
select k.mark, k.order_id
  from calls k
 where k.mark = any ($1)`;

/** Those of the marks that an order of the ledger has, or had in a call, with the order. */
export async function findKnownMarks(
  pool: pg.Pool,
  marks: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (marks.length === 0) return new Map();
  const rows = await run<{ id: number; mark: string }>(pool, KNOWN_MARKS, [marks]);
  return new Map(rows.map(({ id, mark }) => [mark, id]));
}
