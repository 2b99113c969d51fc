import type { Surface } from "../../core/surface.ts";
import type { Queryable } from "../database.ts";
import { type CallKind, LINKED_ID, LINKED_SURFACE } from "./calls.ts";

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

/** $1 order ids, $2 ms. Indexes: the primary key of orders, calls_order. */
const PLAN_CANCELS = `
insert into calls (order_id, kind, surface, mark, service_id, look_at)
select o.id, 'cancel', ${LINKED_SURFACE}, o.mark, ${LINKED_ID}, now() + $2 * interval '1 millisecond'
  from orders o
 where o.id = any ($1)
   and not exists (select 1
                     from calls k
                    where k.order_id = o.id
                      and k.kind = 'cancel'
                      and k.surface = ${LINKED_SURFACE}
                      and k.service_id = ${LINKED_ID}
                      and k.outcome is null)`;

/**
 * Writes down that what the service has of these orders is to be cancelled there, where no call for that is open. It leaves when it is
 * looked for. The caller holds the orders' rows locked.
 *
 * @param inMs when that is
 */
export async function planCancels(client: Queryable, orderIds: readonly number[], inMs = 0): Promise<void> {
  if (orderIds.length > 0) await client.query(PLAN_CANCELS, [orderIds, inMs]);
}
