import type pg from "pg";
import type { Act } from "../operator/audit.ts";
import { type ActResult, act, isBlank } from "./acts.ts";
import { type OrderCall, openCallOf } from "./calls.ts";
import { GOES_ON } from "./change.ts";
import { approveCalls } from "./change-calls.ts";
import type { LedgerOrder } from "./row.ts";

/** Whether nobody works on an order; $1 id. */
const IS_IDLE = "select 1 from orders o where o.id = $1 and o.owner is null";

/** The call of an order that waits for it to be found out what that call did, or for a person. */
export function lostCallOf(order: Pick<LedgerOrder, "state" | "calls">): OrderCall | undefined {
  const open = openCallOf(order);
  const isLost = order.state === "submitting" || order.state === "parked";
  return isLost && open?.isPresumed === false ? open : undefined;
}

/**
 * Ends the reconciling by a person's word that the lost call did nothing: the order is sent again, and looked for
 * once more afterwards. The caller has just searched the service.
 *
 * @param seen the order as it was before that look: nothing is done where it has moved on since, or a worker has it in hand
 * @param recheckMs when the service is looked at once more
 */
export async function endReconciling(
  pool: pg.Pool,
  seen: LedgerOrder,
  by: Act,
  recheckMs: number,
): Promise<ActResult> {
  return act(pool, seen.id, by, "not-at-service", async (order, client) => {
    const lost = lostCallOf(order);
    const isAsSeen =
      lost !== undefined &&
      order.state === seen.state &&
      order.fence === seen.fence &&
      lost.id === openCallOf(seen)?.id;
    if (!isAsSeen || (await client.query(IS_IDLE, [order.id])).rowCount !== 1) return "not applicable";
    if (isBlank(by.reason)) return "reason wanted";
    await approveCalls(client, order.id, lost.mark !== order.mark);
    return {
      orderId: order.id,
      from: [order.state],
      to: "received",
      ...GOES_ON,
      isTakenBack: true,
      call: { end: "nothing", lookInMs: lost.kind === "request" ? recheckMs : undefined },
      event: { kind: "not_at_service", detail: { actor: by.actor, reason: by.reason } },
    };
  });
}
