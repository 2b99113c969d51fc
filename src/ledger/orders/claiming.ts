import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import { inTransaction, reportOnceCommitted, run } from "../database.ts";
import { formatId } from "../ids.ts";
import { CLAIM_LOCK } from "../locks.ts";
import { IS_UNCOMPARED } from "./forgotten-calls.ts";
import { fromOrderRow, type LedgerOrder, ORDER_COLUMNS, type OrderRow } from "./row.ts";

/** Workers take orders one after the other: who comes next sees what the one before has taken. */
const LOCK_CLAIM = `select pg_advisory_xact_lock(${CLAIM_LOCK})`;

/**
 * Takes waiting orders, oldest first, one at a time in each lane (facility and subject). An order waits while an
 * earlier one of its lane is not past its submission, and while any other one, such as a later order that overtook it
 * while it was parked, is in hand or has an open call. One that the lab has on hold isn't taken, and
 * holds its lane as little as a parked one. A merge also waits for the earlier merges into the subject that it does away
 * with, so that of A into B and B into C the first is reported first.
 * $1 the worker, $2 how many, $3 text[] states in which an earlier order holds the lane.
 * The subqueries take the first row of an index so that a lane of many orders costs no more than a lane of one. The planner
 * takes one that "is null" for rare, and would go through all orders that wait to find the first few; of coalesce it knows
 * nothing, and goes by their ids until there are enough.
 * Indexes: orders_waiting, orders_lane.
 */
export const CLAIM_DUE = `
with due as (
  select o.id, o.claimed_at
    from orders o
   where o.state = 'received'
     and o.held_at is null
     and o.next_at <= now()
     and not exists (select 1 from paused_queues q where q.queue = 'submit')
     -- After a restore the service is looked at first.
     and not ${IS_UNCOMPARED}
     and coalesce(
           (select false
              from orders e
             where e.lane = o.lane
               and e.id < o.id
               and e.state in ('received', 'submitting', 'parked')
               and e.state = any ($3)
               and (e.held_at is null or 'parked' = any ($3))
             order by e.id
             limit 1), true)
     and coalesce(
           (select false
              from orders e
             where e.lane = o.lane
               and e.state = 'submitting'
             order by e.id
             limit 1), true)
     and (o.operation <> 'MERGE'
      or coalesce(
           (select false
              from orders e
             where e.lane = o.facility_id::text || '/' || o.prior_subject_code
               and e.id < o.id
               and e.operation = 'MERGE'
               and e.state in ('received', 'submitting', 'parked')
               and e.state = any ($3)
               and (e.held_at is null or 'parked' = any ($3))
             order by e.id
             limit 1), true))
   order by o.id
   limit $2
     for update of o skip locked)
update orders o
   set state = 'submitting',
       owner = $1,
       fence = nextval('fences'),
       claimed_at = now(),
       attempts = o.attempts + 1
  from due
 where o.id = due.id
returning ${ORDER_COLUMNS},
          -- One that was given back since has ended its wait once.
          case when due.claimed_at is null or due.claimed_at <= o.changed_at
               then extract(epoch from now() - o.changed_at)::double precision end as "waitedSeconds",
          extract(epoch from now() - o.received_at)::double precision as "ageSeconds"`;

/** States in which an earlier order holds the lane. */
function statesThatHold(doesParkedBlock: boolean): OrderState[] {
  return ["received", "submitting", ...(doesParkedBlock ? (["parked"] as const) : [])];
}

/** What is reported of an order that was taken. */
interface Waited {
  /** Null for one that was taken before since its last change. */
  readonly waitedSeconds: number | null;
  readonly ageSeconds: number;
}

/** Takes at most `limit` waiting orders for a worker, each of another lane, in ascending order of their ids. */
export async function claimDue(
  pool: pg.Pool,
  {
    workerId,
    limit,
    doesParkedBlock,
  }: { readonly workerId: number; readonly limit: number; readonly doesParkedBlock: boolean },
): Promise<LedgerOrder[]> {
  const rows = await inTransaction(pool, async (client) => {
    await client.query(LOCK_CLAIM);
    return (
      await client.query<OrderRow & Waited>(CLAIM_DUE, [workerId, limit, statesThatHold(doesParkedBlock)])
    ).rows;
  });
  reportOnceCommitted(pool, ({ observer }) =>
    observer.ordersMoved(
      rows.map(({ id: orderId, connector, operation, facilityCode, waitedSeconds: seconds, ageSeconds }) => ({
        ...{ orderId, connector, operation, facilityCode, ageSeconds },
        ...{ kind: "claimed", to: "submitting", failureCode: undefined },
        stage: typeof seconds === "number" ? { name: "received", seconds } : undefined,
      })),
    ),
  );
  return rows
    .map(({ waitedSeconds: _, ageSeconds: _age, ...row }) => fromOrderRow(row))
    .sort((a, b) => a.id - b.id);
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
   and e.state in ('received', 'submitting', 'parked')
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
