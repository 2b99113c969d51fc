import type pg from "pg";
import { findPausedQueues } from "../ledger/operator/queues.ts";
import { findLaneHolder } from "../ledger/orders/handing-over.ts";
import type { LedgerOrder } from "../ledger/orders/row.ts";
import { isUncompared } from "../ledger/restored/restore.ts";
import { isWorkerThere } from "../ledger/workers/roster.ts";
import { needsLaneHolder, type Surroundings } from "./why-waiting.ts";

/** What is around an order that says why it waits. @param doesParkedBlock `lanes.parkedBlocks` of the configuration */
export async function findSurroundings(
  pool: pg.Pool,
  order: LedgerOrder,
  { nowMs, doesParkedBlock }: { readonly nowMs: number; readonly doesParkedBlock: boolean },
): Promise<Surroundings> {
  const [isDaemonThere, pausedQueues, isComparing, laneHolder] = await Promise.all([
    isWorkerThere(pool),
    findPausedQueues(pool),
    isUncompared(pool),
    needsLaneHolder(order) ? findLaneHolder(pool, order.id, doesParkedBlock) : undefined,
  ]);
  return { nowMs, isDaemonThere, pausedQueues, isComparing, laneHolder };
}
