import type pg from "pg";
import { type Batch, takeWaiting } from "../../src/ledger/orders/handing-over.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { claimBatch, type NewIntent, recordIntents } from "../../src/ledger/orders/submission.ts";

/** An order of a batch that was handed over. */
export interface DueOrder {
  readonly orderId: number;
  readonly batch: number;
}

/** Hands over all orders that are due, as one batch. */
export async function handOver(pool: pg.Pool, doesParkedBlock = false): Promise<DueOrder[]> {
  return ordersOf(await takeWaiting(pool, { limit: 100, doesParkedBlock }));
}

export function ordersOf(batch: Batch | undefined): DueOrder[] {
  return (batch?.orderIds ?? []).map((orderId) => ({ orderId, batch: batch?.batch ?? 0 }));
}

/** Hands over one order and takes it in hand. */
export async function claimNext(
  pool: pg.Pool,
  owner = "me",
  leaseMs = 60_000,
): Promise<LedgerOrder & { fence: number }> {
  const taken = await takeWaiting(pool, { limit: 1, doesParkedBlock: false });
  const [order] = taken ? await claimBatch(pool, taken.batch, owner, leaseMs) : [];
  if (order?.fence === undefined) throw new Error("nothing to claim");
  return { ...order, fence: order.fence };
}

/** Writes one intent down; when, or undefined where the order is in other hands. */
export async function recordIntent(pool: pg.Pool, intent: NewIntent): Promise<Date | undefined> {
  return (await recordIntents(pool, [intent])).get(intent.orderId);
}

/** For an order writer whose test is not about restored ledgers. */
export const UNCOUNTED = { raise: async () => 0, keep: async () => undefined };
