import type pg from "pg";
import type { Logger } from "../core/logger.ts";
import { forgetOld } from "../ledger/prune.ts";
import { forgetRefills } from "../ledger/refills.ts";

const BATCH = 1_000;

/** Forgets all that retention allows, a batch at a time. */
export async function pruneLedger(
  pool: pg.Pool,
  retention: { readonly messagesMs: number; readonly ordersMs: number },
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const pruned = await forgetOld(pool, retention, BATCH);
    const most = Math.max(pruned.messages, pruned.deliveries, pruned.orders);
    if (most > 0) logger.info(pruned, "old personal data was pruned");
    const refills = await forgetRefills(pool, retention.ordersMs, BATCH);
    if (refills > 0) logger.info({ refills }, "old refills were pruned");
    if (Math.max(most, refills) < BATCH) return;
  }
}
