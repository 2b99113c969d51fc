import type pg from "pg";
import type { Surface } from "../../core/surface.ts";
import { run } from "../database.ts";
import { nameOrder } from "../ids.ts";
import { type LedgerOrder, listOrderRows, ORDER_COLUMNS } from "./row.ts";

/** Other orders that hold these requests; $1 request ids, $2 order id. Index: orders_request. */
const CLAIMED_REQUESTS = `
select request_id as claimed, id, placer_order_number
  from orders
 where surface = 'request'
   and request_id = any ($1)
   and id <> $2`;

/** Other orders that hold these procedures of the external surface; $1 procedure ids, $2 order id. Index: orders_external_procedure. */
const CLAIMED_PROCEDURES = `
select procedure_id as claimed, id, placer_order_number
  from orders
 where surface = 'external'
   and procedure_id = any ($1)
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
  const query = surface === "request" ? CLAIMED_REQUESTS : CLAIMED_PROCEDURES;
  const rows = await run<{ claimed: number; id: number; placer_order_number: string | null }>(pool, query, [
    ids,
    orderId,
  ]);
  return new Map(rows.map((row) => [row.claimed, nameOrder(row.placer_order_number)]));
}

/** Whether another order of the lane has a call that is not reconciled; $1 order id. Index: orders_lane. */
const LANE_UNRECONCILED = `
select exists (
  select 1
    from orders o
    join orders e on e.lane = o.lane and e.id <> o.id
   where o.id = $1
     and e.intent = 'request'
     and e.state in ('submitting', 'parked')) as is_unreconciled`;

/** Whether a request of this lane could be the lost one of another order as well. */
export async function isLaneUnreconciled(pool: pg.Pool, orderId: number): Promise<boolean> {
  const [row] = await run<{ is_unreconciled: boolean }>(pool, LANE_UNRECONCILED, [orderId]);
  return row?.is_unreconciled === true;
}

/** A success in the service's own JSON to the call that the order's intent is about; $1 order id. Index: order_answers_order. */
const WAS_TAKEN = `
select exists (
  select 1
    from orders o
    join order_answers a on a.order_id = o.id
   where o.id = $1
     and a.method = 'POST'
     and a.shape = 'json'
     and a.status between 200 and 299
     and a.last_at >= o.intent_at) as is_there`;

/**
 * Whether the service said that it did the call of which nobody knows the effect, though not what it made: its answer
 * held no id, or contradicted what was sent.
 */
export async function wasCallTaken(pool: pg.Pool, orderId: number): Promise<boolean> {
  const [row] = await run<{ is_there: boolean }>(pool, WAS_TAKEN, [orderId]);
  return row?.is_there === true;
}

/**
 * How often in a row an order's call was believed to have had no effect, since a person last had it tried again; calls
 * that were refused for now don't count, since a service that is busy for long says nothing about the order;
 * $1 order id. Index: order_events_order.
 */
const COUNT_EMPTY = `
select count(*)::integer as count
  from order_events e
 where e.order_id = $1
   and e.kind = 'reconciled'
   and e.detail ->> 'found' = 'nothing'
   and e.detail ->> 'isRefused' is null
   and e.id > coalesce((select max(r.id)
                          from order_events r
                         where r.order_id = $1
                           and r.kind in ('retried', 'not_at_service')), 0)`;

/** How often in a row nothing was found of an order's call, and the call was made again. */
export async function countEmptyChecks(pool: pg.Pool, orderId: number): Promise<number> {
  const [row] = await run<{ count: number }>(pool, COUNT_EMPTY, [orderId]);
  return row?.count ?? 0;
}

/** $1 how many. Index: orders_recheck. */
const DUE_RECHECKS = `
select ${ORDER_COLUMNS}
  from orders o
 where o.recheck_at <= now()
 order by o.recheck_at
 limit $1`;

/** $1 order id, $2 ms from now. Index: the primary key. */
const POSTPONE_RECHECK = `
update orders
   set recheck_at = now() + $2 * interval '1 millisecond'
 where id = $1
   and recheck_at is not null`;

/** Orders that were sent again after nothing had been found, and are to be looked for once more now. */
export function findDueRechecks(pool: pg.Pool, limit: number): Promise<LedgerOrder[]> {
  return listOrderRows(pool, DUE_RECHECKS, [limit]);
}

/** Puts such a look off. */
export async function postponeRecheck(pool: pg.Pool, orderId: number, ms: number): Promise<void> {
  await run(pool, POSTPONE_RECHECK, [orderId, ms]);
}
