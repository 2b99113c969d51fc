import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import { GO_BY_INDEX, inTransaction, reportOnceCommitted } from "../database.ts";
import { formatId } from "../ids.ts";
import { CLAIM_LOCK } from "../locks.ts";
import { IS_UNCOMPARED } from "./forgotten-calls.ts";
import { fromOrderRow, type LedgerOrder, ORDER_COLUMNS, type OrderRow } from "./row.ts";

/** Workers take orders one after the other: who comes next sees what the one before has taken. */
export const BEGIN_CLAIM = `${GO_BY_INDEX}; select pg_advisory_xact_lock(${CLAIM_LOCK})`;

/**
 * Which orders o may be claimed where their lanes let them: what waits and is due, and is not on hold; nothing while the queue is paused, nor
 * after a restore until the service was looked at for what the copy may have forgotten. Index: orders_waiting.
 */
export const MAY_BE_CLAIMED = `(
       o.state = 'received'
   and o.held_at is null
   and o.next_at <= now()
   and not exists (select 1 from paused_queues q where q.queue = 'submit')
   and not ${IS_UNCOMPARED})`;

/** An earlier order e whose state holds a lane; `states` is the text[] of these. One on hold holds it as little as a parked one. */
const isBefore = (states: string) => `e.id < o.id
                and e.state in ('received', 'submitting', 'parked')
                and e.state = any (${states})
                and (e.held_at is null or 'parked' = any (${states}))`;

/**
 * What a waiting order o waits for in its lane (facility and subject), as the arguments of a coalesce: the claim and whoever says why an
 * order waits go by the first that there is:
 * - an earlier order of the lane that is not past its submission,
 * - any other one that is in hand or has an open call, such as a later order that overtook it while it was parked,
 * - for a merge, an earlier merge into the subject that it does away with, so that of A into B and B into C the first is reported first.
 *
 * An order of a long lane is answered by the first row of an index. The second is asked of the first order of a lane alone: to find that
 * nothing is in hand, all of the lane is read. Index: orders_lane.
 *
 * @param what is selected of such an order
 * @param states the parameter with the states in which an earlier order holds the lane
 */
const laneHolders = (what: string, states: string) => `
            (select ${what}
               from orders e
              where e.facility_id = o.facility_id
                and e.subject_code = o.subject_code
                and ${isBefore(states)}
              order by e.id
              limit 1),
            (select ${what}
               from orders e
              where e.facility_id = o.facility_id
                and e.subject_code = o.subject_code
                and e.state = 'submitting'
              order by e.id
              limit 1),
            (select ${what}
               from orders e
              where o.operation = 'MERGE'
                and e.facility_id = o.facility_id
                and e.subject_code = o.prior_subject_code
                and e.operation = 'MERGE'
                and ${isBefore(states)}
              order by e.id
              limit 1)`;

/**
 * Takes waiting orders, oldest first, one at a time in each lane: none that {@link laneHolders} has wait. $1 the worker, $2 how many, $3
 * text[] states in which an earlier order holds the lane.
 * The planner takes a subquery that "is null" for rare, and would go through all orders that wait to find the first few; of coalesce it
 * knows nothing, and goes by their ids until there are enough.
 * Indexes: orders_waiting, orders_lane.
 */
export const CLAIM_DUE = `
with due as (
  select o.id, o.claimed_at
    from orders o
   where ${MAY_BE_CLAIMED}
     and coalesce(${laneHolders("false", "$3")}, true)
   order by o.id
   limit $2
     for update of o skip locked)
update orders o
   set state = 'submitting',
       owner = $1,
       fence = new_fence(),
       claimed_at = now(),
       attempts = o.attempts + 1
  from due
 where o.id = due.id
returning ${ORDER_COLUMNS},
          -- One that was given back since has ended its wait once.
          case when due.claimed_at is null or due.claimed_at <= o.changed_at
               then extract(epoch from now() - o.changed_at)::double precision end as "waitedSeconds",
          extract(epoch from now() - o.received_at)::double precision as "ageSeconds"`;

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
    await client.query(BEGIN_CLAIM);
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

/** What holds the lanes of waiting orders; $1 bigint[] order ids, $2 text[] states that hold a lane. Indexes: orders_lane, the primary key. */
export const LANE_HOLDERS = `
select o.id as "waiting", h.id, h.state
  from orders o
  join orders h on h.id = coalesce(${laneHolders("e.id", "$2")})
 where o.id = any ($1)
   and o.state = 'received'`;

/** What an order waits for in its lane. */
export interface LaneHolder {
  readonly orderId: string;
  readonly state: OrderState;
  /** It came later, and overtook the order that waits for it. */
  readonly isLater: boolean;
}

/** What waiting orders wait for in their lanes, by the order that waits; one that nothing keeps is not there. */
export async function findLaneHolders(
  pool: pg.Pool,
  orderIds: readonly number[],
  doesParkedBlock: boolean,
): Promise<ReadonlyMap<number, LaneHolder>> {
  if (orderIds.length === 0) return new Map();
  const rows = await inTransaction(pool, async (client) => {
    await client.query(GO_BY_INDEX);
    const values = [orderIds, statesThatHold(doesParkedBlock)];
    return (await client.query<{ waiting: number; id: number; state: OrderState }>(LANE_HOLDERS, values))
      .rows;
  });
  return new Map(
    rows.map(({ waiting, id, state }) => [
      waiting,
      { orderId: formatId("o", id), state, isLater: id > waiting },
    ]),
  );
}
