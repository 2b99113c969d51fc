import type pg from "pg";
import type { OrderState } from "../../core/order-state.ts";
import { run } from "../database.ts";
import { formatId } from "../ids.ts";
import { SUBMITTER_LOCK } from "../submitter-lock.ts";

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

/** Whether a daemon holds this database's submitter lock; $1 its key. */
const IS_SUBMITTER_THERE = `
select exists (
  select 1
    from pg_locks l
   where l.locktype = 'advisory'
     and l.objid = $1
     and l.granted
     and l.database = (select oid from pg_database where datname = current_database())) as is_there`;

/**
 * The earlier order of the same facility and subject that has to be submitted first, or for a merge the one into the
 * subject that it does away with; undefined when there is none.
 */
export async function findLaneHolder(
  pool: pg.Pool,
  orderId: number,
  doesParkedBlock: boolean,
): Promise<{ readonly orderId: string; readonly state: OrderState } | undefined> {
  const states = ["received", "queued", "submitting", ...(doesParkedBlock ? ["parked"] : [])];
  const [row] = await run<{ id: number; state: OrderState }>(pool, LANE_HOLDER, [orderId, states]);
  return row && { orderId: formatId("o", row.id), state: row.state };
}

/** Whether a daemon works off this ledger's orders right now. */
export async function isSubmitterThere(pool: pg.Pool): Promise<boolean> {
  const [row] = await run<{ is_there: boolean }>(pool, IS_SUBMITTER_THERE, [SUBMITTER_LOCK]);
  return row?.is_there === true;
}
