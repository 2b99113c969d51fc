import type pg from "pg";
import type { Config } from "../../config/config.ts";
import { formatId } from "../../ledger/ids.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import { endReconciling, isUnreconciled } from "../../ledger/orders/end-reconciling.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { withService } from "../open.ts";
import { roundToUnit } from "../output/times.ts";
import type { Session } from "../session.ts";

const SERVICE_WITHIN_MS = 60_000;

/** What trying an order now means whose call was not answered. */
export function searchWords({ id, intent }: LedgerOrder, { service }: Config): string {
  const what = intent === "subject" ? "the registration of its subject" : "it";
  const until = roundToUnit(service.reconcile.giveUpAfterMs);
  return `may have reached the service: the service is searched for ${what} now, and the order is sent again only when nothing shows up until ${until} after its call. If you have looked there yourself: cryobridge orders retry ${formatId("o", id)} --not-at-service --reason TEXT`;
}

/**
 * `orders retry --not-at-service`: ends the search for a lost call, after a last look at the service.
 *
 * @returns whether it was done, and what became of the order, in words
 */
export async function sendAgain(
  { session, pool, config }: { readonly session: Session; readonly pool: pg.Pool; readonly config: Config },
  order: LedgerOrder,
  act: Act,
): Promise<readonly [isDone: boolean, words: string]> {
  const { service } = config;
  const id = formatId("o", order.id);
  if (!isUnreconciled(order)) {
    return [false, `has no call of which the effect is unknown; it is ${order.state}, and nothing was done`];
  }
  if ((order.intentAgeMs ?? 0) < service.timeoutMs) {
    const ago = roundToUnit(order.intentAgeMs ?? 0);
    return [false, `was sent only ${ago} ago, so its call may be under way still; nothing was done`];
  }
  const { findTraces } = await import("../../jobs/reconcile/reconcile.ts");
  const found = await withService(session, config, (client) =>
    findTraces(
      order,
      { pool, service: client, settings: { correlation: service.correlation } },
      AbortSignal.timeout(SERVICE_WITHIN_MS),
    ),
  );
  if (found !== undefined) {
    const link = order.surface === "external" ? "--procedure-id N" : "--request-id N";
    const remedy =
      order.intent === "subject"
        ? `cryobridge orders retry ${id} goes on with it`
        : `it goes on by itself where that is proved to be its own; once it is parked: cryobridge orders resolve ${id} ${link}, or orders retry ${id}`;
    return [false, `may be at the service: a last check found ${found} there. Nothing was done; ${remedy}`];
  }
  const result = await endReconciling(pool, order, act, service.reconcile.recheckMs);
  if (result === "done") return [true, "is sent again; a last check found nothing of it at the service"];
  if (result === "still on hold")
    return [true, "is sent again once it is released: it stays on hold (cryobridge orders release)"];
  return [
    false,
    "is in a worker's hands right now, or has moved on; nothing was done, see cryobridge orders show",
  ];
}
