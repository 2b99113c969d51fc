import type pg from "pg";
import type { FailureCode } from "../../core/failures.ts";
import type { Surface } from "../../core/surface.ts";
import { run, type WithNulls, withoutNulls } from "../database.ts";

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
  /** It is to cancel, and still to leave: it does when it is looked for. */
  readonly isPlanned: boolean;
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
            'ageMs', greatest(0, extract(epoch from now() - coalesce(k.left_by, k.at)) * 1000), 'answer', k.answer,
            'failure', case when k.failure_code is not null
                            then jsonb_build_object('code', k.failure_code, 'text', coalesce(k.failure_text, '')) end,
            'checks', k.checks, 'failedChecks', k.failed_checks, 'lookAt', k.look_at,
            'goneMs', extract(epoch from now() - k.gone_since) * 1000, 'isApproved', k.is_approved,
            'isPlanned', k.kind = 'cancel' and k.worker_id is null,
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

/** The calls that may have left to cancel what a call to cancel is about, oldest first. */
export function cancelCallsOf(
  { calls }: Pick<Called, "calls">,
  { surface, serviceId }: Pick<OrderCall, "surface" | "serviceId">,
): OrderCall[] {
  return calls.filter(
    (call) =>
      call.kind === "cancel" && !call.isPlanned && call.surface === surface && call.serviceId === serviceId,
  );
}

/** The call that made what an order is followed by, of whatever mark: a person may have linked it to what a former call made. */
export function madeCallOf(
  { calls }: Pick<Called, "calls">,
  { surface, id }: { readonly surface: Surface; readonly id: number },
): OrderCall | undefined {
  return calls.findLast(
    (call) =>
      call.kind === "request" && call.outcome === "made" && call.surface === surface && call.serviceId === id,
  );
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

/** What the service has of order `o`. */
export const LINKED_ID = "coalesce(o.request_id, o.procedure_id)";

/** The surface where order `o` is what it is linked to. */
export const LINKED_SURFACE =
  "case when o.request_id is not null then 'request' when o.procedure_id is not null then 'external' end";

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
