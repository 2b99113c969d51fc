import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import type { OrderName } from "../../core/order-step.ts";
import { reportOnceCommitted, run } from "../database.ts";
import { formatId } from "../ids.ts";

/** Orders handed to the submit queue together. An order that is handed over again gets another batch. */
export interface Batch {
  readonly batch: number;
  /** In ascending order. */
  readonly orderIds: readonly number[];
}

/**
 * How an order is handed over: by the leader alone, since two that handed over at once could hand over two orders of a lane,
 * and under a new batch number. $1 the worker.
 */
const AS_LEADER = `
with leads as materialized (
  select l.worker_id
    from leader l
   where l.is_only_row
     and l.worker_id = $1
     and l.until_at > now()
     for update),
fresh as materialized (select nextval('batches') as batch)`;

/**
 * Hands over waiting orders, oldest first, one at a time in each lane (facility and subject). An order waits while an
 * earlier one of its lane is not past its submission, and while any other one, such as a later order that overtook it
 * while it was parked, is in hand or may have a call under way. One that the lab has on hold isn't handed over, and
 * holds its lane as little as a parked one. A merge also waits for the earlier merges into the subject that it does away
 * with, so that of A into B and B into C the first is reported first.
 * $1 as in {@link AS_LEADER}, $2 how many, $3 text[] states in which an earlier order holds the lane.
 * The subqueries take the first row of an index so that a lane of many orders costs no more than a lane of one. The planner
 * takes one that "is null" for rare, and would go through all orders that wait to find the first few; of coalesce it knows
 * nothing, and goes by their ids until there are enough.
 * Indexes: orders_waiting, orders_lane.
 */
export const TAKE_WAITING = `${AS_LEADER},
due as (
  select o.id, o.queued_at
    from orders o
   where exists (select 1 from leads)
     and o.state = 'received'
     and o.held_at is null
     and o.next_at <= now()
     and coalesce(
           (select false
              from orders e
             where e.lane = o.lane
               and e.id < o.id
               and e.state in ('received', 'queued', 'submitting', 'parked')
               and e.state = any ($3)
               and (e.held_at is null or 'parked' = any ($3))
             order by e.id
             limit 1), true)
     and coalesce(
           (select false
              from orders e
             where e.lane = o.lane
               and e.state in ('queued', 'submitting')
             order by e.id
             limit 1), true)
     and (o.operation <> 'MERGE'
      or coalesce(
           (select false
              from orders e
             where e.lane = o.facility_id::text || '/' || o.prior_subject_code
               and e.id < o.id
               and e.operation = 'MERGE'
               and e.state in ('received', 'queued', 'submitting', 'parked')
               and e.state = any ($3)
               and (e.held_at is null or 'parked' = any ($3))
             order by e.id
             limit 1), true))
   order by o.id
   limit $2
     for update of o skip locked)
update orders o
   set state = 'queued',
       batch = fresh.batch,
       queued_at = now()
  from due, fresh
 where o.id = due.id
returning o.id, o.batch, o.connector, o.operation, o.facility_code as "facilityCode",
          -- One that was put back since has ended its wait once.
          case when due.queued_at is null or due.queued_at <= o.changed_at
               then extract(epoch from now() - o.changed_at)::double precision end as "waitedSeconds",
          extract(epoch from now() - o.received_at)::double precision as "ageSeconds"`;

/** How many orders are in the queue's hands. Index: orders_in_hand. */
const COUNT_QUEUED = "select count(*)::integer as count from orders where state = 'queued'";

/** Batches handed over longer than $1 ms ago of which no worker has taken some order; $2 how many. Index: orders_in_hand. */
const FIND_HANDED_OVER = `
select distinct o.batch
  from orders o
 where o.state = 'queued'
   and o.queued_at < now() - $1 * interval '1 millisecond'
 order by o.batch
 limit $2`;

/** Puts back orders of batches whose job is gone; $1 bigint[]. Index: orders_batch. */
const PUT_BACK = `
update orders
   set state = 'received'
 where batch = any ($1)
   and state = 'queued'`;

/** States in which an earlier order holds the lane. */
function statesThatHold(doesParkedBlock: boolean): OrderState[] {
  return ["received", "queued", "submitting", ...(doesParkedBlock ? (["parked"] as const) : [])];
}

interface HandedOver {
  id: number;
  batch: number;
}

/** What is reported of an order that was handed over. */
interface Waited extends HandedOver, Omit<OrderName, "orderId"> {
  /** Null for one that was handed over before since its last change. */
  readonly waitedSeconds: number | null;
  readonly ageSeconds: number;
}

function toBatch(rows: readonly HandedOver[]): Batch | undefined {
  const [first] = rows;
  return first && { batch: first.batch, orderIds: rows.map(({ id }) => id).sort((a, b) => a - b) };
}

/** Moves waiting orders into the submit queue's hands, as one batch of at most `limit`; undefined when none is due. */
export async function takeWaiting(
  pool: pg.Pool,
  options: { readonly leader: number; readonly limit: number; readonly doesParkedBlock: boolean },
): Promise<Batch | undefined> {
  const { leader, limit, doesParkedBlock } = options;
  const rows = await run<Waited>(pool, TAKE_WAITING, [leader, limit, statesThatHold(doesParkedBlock)]);
  reportOnceCommitted(pool, ({ observer }) =>
    observer.ordersMoved(
      rows.map(({ id: orderId, batch: _, waitedSeconds: seconds, ...order }) => ({
        ...{ ...order, orderId, kind: "handed_over", to: "queued", failureCode: undefined },
        stage: typeof seconds === "number" ? { name: "received", seconds } : undefined,
      })),
    ),
  );
  return toBatch(rows);
}

/** How many orders are queued right now. */
export async function countQueued(pool: pg.Pool): Promise<number> {
  const [row] = await run<{ count: number }>(pool, COUNT_QUEUED);
  return row?.count ?? 0;
}

/** Batches handed over more than `olderThanMs` ago of which orders wait for a worker: their jobs may have been lost. */
export async function findHandedOver(
  pool: pg.Pool,
  options: { readonly olderThanMs: number; readonly limit: number },
): Promise<number[]> {
  const rows = await run<{ batch: number }>(pool, FIND_HANDED_OVER, [options.olderThanMs, options.limit]);
  return rows.map(({ batch }) => batch);
}

/** Puts orders of batches whose jobs are gone back to waiting. */
export async function putBack(pool: pg.Pool, batches: readonly number[]): Promise<void> {
  await run(pool, PUT_BACK, [batches]);
}

/** The oldest order that holds a waiting order's lane; $1 order id, $2 text[] states that hold a lane. Index: orders_lane. */
const LANE_HOLDER = `
select e.id, e.state
  from orders o
  join orders e on e.id < o.id
   and (e.lane = o.lane
        or (o.operation = 'MERGE'
            and e.operation = 'MERGE'
            and e.lane = o.facility_id::text || '/' || o.prior_subject_code))
 where o.id = $1
   and e.state in ('received', 'queued', 'submitting', 'parked')
   and e.state = any ($2)
   and (e.held_at is null or 'parked' = any ($2))
 order by e.id
 limit 1`;

/**
 * The earlier order of the same facility and subject that has to be submitted first, or for a merge the one into the
 * subject that it does away with; undefined when there is none.
 */
export async function findLaneHolder(
  pool: pg.Pool,
  orderId: number,
  doesParkedBlock: boolean,
): Promise<{ readonly orderId: string; readonly state: OrderState } | undefined> {
  const [row] = await run<{ id: number; state: OrderState }>(pool, LANE_HOLDER, [
    orderId,
    statesThatHold(doesParkedBlock),
  ]);
  return row && { orderId: formatId("o", row.id), state: row.state };
}
