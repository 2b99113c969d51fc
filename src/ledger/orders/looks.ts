import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import { GO_BY_INDEX, inTransaction, type Queryable, run } from "../database.ts";
import { HAS_OPEN_REQUEST } from "./calls.ts";
import { changeOrdersWithin, type OrderChange } from "./change.ts";
import { type LedgerOrder, linkOf, lockOrder } from "./row.ts";

/** Counts how the look for a presumed call ended; $1 how. */
const COUNT_PRESUMED = `
update ledger
   set restored_adopted = restored_adopted + ($1::text = 'made')::integer,
       restored_parked = restored_parked + ($1 = 'park')::integer,
       restored_free = restored_free + ($1 = 'nothing')::integer`;

/**
 * Records what a look at the service led to, if the order is still as it was before: nobody owns an order whose call is looked for, so that a
 * person, the lab or another worker may have moved it on meanwhile.
 *
 * @param presumed how the look for a presumed call ended, which is counted
 * @param cancelId the call to cancel that was looked for
 * @returns false when it has moved on, and nothing was recorded: the look is still due
 * @throws Failure REQUEST_CLAIMED as {@link changeOrdersWithin} does
 */
export function recordLook(
  pool: pg.Pool,
  seen: LedgerOrder,
  change: Omit<OrderChange, "orderId">,
  {
    presumed,
    isLate = false,
    cancelId,
  }: {
    readonly presumed?: "made" | "park" | "nothing" | undefined;
    readonly isLate?: boolean;
    readonly cancelId?: number;
  } = {},
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const now = await lockOrder(client, seen.id);
    if (now === undefined || !isDeepStrictEqual(standing(now, cancelId), standing(seen, cancelId)))
      return false;
    if (isLate) await endLateLooks(client, seen.id);
    const changed = await changeOrdersWithin(client, [{ from: [seen.state], ...change, orderId: seen.id }]);
    if (changed.size > 0 && presumed !== undefined) await client.query(COUNT_PRESUMED, [presumed]);
    return changed.size > 0;
  });
}

/**
 * What of an order a look builds on. What a call to cancel it did is looked for by itself, and changes nothing that others are looked for
 * by; it is about what the order is linked to, which a person may change.
 */
function standing(order: LedgerOrder, cancelId: number | undefined) {
  const { state, fence, mark } = order;
  const own = order.calls.filter(({ kind, id }) =>
    cancelId === undefined ? kind !== "cancel" : id === cancelId,
  );
  const calls = own.map(({ ageMs: _, goneMs: _gone, lookAt: _at, ...call }) => call);
  return { state, fence, mark, calls, link: cancelId === undefined ? undefined : linkOf(order) };
}

/** The late looks of an order are done; $1 order id. Index: calls_order. */
const END_LATE_LOOKS = `
update calls
   set look_at = null
 where order_id = $1
   and outcome is not null
   and look_at is not null`;

/** No ended call of the order is looked for any more. */
export async function endLateLooks(client: Queryable, orderId: number): Promise<void> {
  await client.query(END_LATE_LOOKS, [orderId]);
}

/** $1 call, $2 ms from now, $3 whether a look has just failed. Index: the primary key. */
const POSTPONE_LOOK = `
update calls
   set look_at = now() + $2 * interval '1 millisecond',
       failed_checks = failed_checks + $3::boolean::integer
 where id = $1
   and look_at is not null`;

/** Puts the look for a call off. */
export async function postponeLook(
  pool: pg.Pool,
  callId: number,
  { ms, hasFailed }: { readonly ms: number; readonly hasFailed: boolean },
): Promise<void> {
  await run(pool, POSTPONE_LOOK, [callId, ms, hasFailed]);
}

/**
 * Calls that the service is looked at for now, the longest due first; $1 how many, $2 whether those to cancel or the others. One that is
 * open only while nobody has its order or another one of the lane in hand, and one of a lane at a time, the earliest first: two of them
 * never take each other's request for their own. One to cancel only while its order is followed. One that has ended only while its order
 * isn't before another call: that one's look comes first.
 * Indexes: calls_look, orders_lane.
 */
export const DUE_LOOKS = `
select k.order_id as "orderId", k.id as "callId"
  from calls k
  join orders o on o.id = k.order_id
 where k.look_at <= now()
   and (k.kind = 'cancel') = $2
   and case
         when k.kind = 'cancel' then o.state in ('submitted', 'accepted', 'in_progress')
         when k.outcome is not null then o.state not in ('received', 'submitting')
         else o.owner is null
              and not exists (
                select 1
                  from orders e
                 where e.facility_id = o.facility_id
                   and e.subject_code = o.subject_code
                   and e.id <> o.id
                   and e.state = 'submitting'
                   and (e.owner is not null or e.id < o.id))
       end
 order by k.look_at, k.id
 limit $1`;

/** Whether a call may be looked for now. */
export const IS_LOOK_DUE = `
exists (select 1
          from calls k
         where k.look_at <= now())`;

/** A call that is to be looked for. */
export interface DueLook {
  readonly orderId: number;
  readonly callId: number;
}

/** The calls that are to be looked for now, one of an order: those to cancel, which may have to be made, or the others. */
export async function findDueLooks(
  pool: pg.Pool,
  limit: number,
  kind: "cancels" | "others",
): Promise<DueLook[]> {
  const rows = await inTransaction(pool, async (client) => {
    await client.query(GO_BY_INDEX);
    return (await client.query<DueLook>(DUE_LOOKS, [limit, kind === "cancels"])).rows;
  });
  return [...new Map(rows.reverse().map((row) => [row.orderId, row])).values()].reverse();
}

/**
 * Whether another order of the subject, perhaps one that a person has discarded, has a call of which nobody knows what it made, or a
 * ledger that was restored since the first call for the same may have forgotten one; and whether another order's call left since and was
 * carried out. $1 order id, $2 call. Indexes: orders_subject, calls_order.
 */
const OTHER_CALLS = `
select exists (
  select 1
    from orders o
    join orders e on e.subject_code = o.subject_code and e.facility_id = o.facility_id and e.id <> o.id
   where o.id = $1
     and ${HAS_OPEN_REQUEST})
    or exists (
  select 1
    from calls k
    join calls f on f.order_id = k.order_id and f.kind = k.kind and f.mark = k.mark
   cross join ledger l
   where k.id = $2
     and f.id <= l.copy_call_id
     and l.restore_lifted_at is null) as "isUnknown",
       exists (
  select 1
    from orders o
    join orders e on e.subject_code = o.subject_code and e.facility_id = o.facility_id and e.id <> o.id
    join calls k on k.order_id = e.id
   where o.id = $1
     and k.id > $2
     and k.kind = 'request'
     and k.outcome = 'made') as "isDoubled"`;

/** Which calls of its lane could have made what is taken for an open call's. */
export interface OtherCalls {
  /** One of which nobody knows what it made. */
  readonly isUnknown: boolean;
  /** One that left since and was carried out: a gateway may have delivered it twice. */
  readonly isDoubled: boolean;
}

/** What else a request of this lane could be of, beside this open call. */
export async function findOtherCalls(pool: pg.Pool, orderId: number, callId: number): Promise<OtherCalls> {
  const [row] = await run<OtherCalls & pg.QueryResultRow>(pool, OTHER_CALLS, [orderId, callId]);
  if (row === undefined) throw new TypeError("a select of two values gave no row");
  return row;
}
