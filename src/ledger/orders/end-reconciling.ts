import type pg from "pg";
import type { Act } from "../operator/audit.ts";
import { type ActResult, act } from "./acts.ts";
import type { LedgerOrder } from "./row.ts";

/** Whether nobody works on an order, and it is no order of a restored ledger that is not compared yet; $1 id. */
const IS_IDLE = "select 1 from orders o where o.id = $1 and o.owner is null and o.compare_at is null";

/** Whether it is not known what a call of the order did, and it waits for that to be found out, or for a person. */
export function isUnreconciled({ state, intent }: Pick<LedgerOrder, "state" | "intent">): boolean {
  return intent !== undefined && (state === "submitting" || state === "parked");
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
    const isAsSeen =
      isUnreconciled(order) &&
      order.state === seen.state &&
      order.fence === seen.fence &&
      order.intentAt?.getTime() === seen.intentAt?.getTime();
    if (!isAsSeen || (await client.query(IS_IDLE, [order.id])).rowCount !== 1) return "not applicable";
    if ((by.reason ?? "").trim() === "") return "reason wanted";
    return {
      orderId: order.id,
      from: [order.state],
      to: "received",
      failure: null,
      attempts: 0,
      nextInMs: 0,
      isTakenBack: true,
      isIntentCleared: true,
      recheckInMs: order.intent === "request" ? recheckMs : undefined,
      event: { kind: "not_at_service", detail: { actor: by.actor, reason: by.reason } },
    };
  });
}
