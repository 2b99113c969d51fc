import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import { inTransaction } from "../database.ts";
import { changeOrdersWithin, type OrderChange } from "./change.ts";
import { endLateLooks } from "./due-looks.ts";
import { type LedgerOrder, readOrders } from "./row.ts";

/** $1 order id. Index: the primary key. */
const LOCK_ORDER = "select 1 from orders where id = $1 for no key update";

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
  }: { readonly presumed?: "made" | "park" | "nothing" | undefined; readonly isLate?: boolean } = {},
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    await client.query(LOCK_ORDER, [seen.id]);
    const [now] = await readOrders(client, [seen.id]);
    if (now === undefined || !isDeepStrictEqual(standing(now), standing(seen))) return false;
    if (isLate) await endLateLooks(client, seen.id);
    const changed = await changeOrdersWithin(client, [{ from: [seen.state], ...change, orderId: seen.id }]);
    if (changed.size > 0 && presumed !== undefined) await client.query(COUNT_PRESUMED, [presumed]);
    return changed.size > 0;
  });
}

/** What of an order a look builds on. What a call to cancel it did is looked for by itself. */
function standing({ state, fence, mark, calls }: LedgerOrder) {
  const own = calls.filter(({ kind }) => kind !== "cancel");
  return { state, fence, mark, calls: own.map(({ ageMs: _, lookAt: _at, ...call }) => call) };
}
