import type pg from "pg";
import { inTransaction } from "../../src/ledger/database.ts";
import { type NewCall, recordCalls } from "../../src/ledger/orders/calls.ts";
import { type Batch, takeWaiting } from "../../src/ledger/orders/handing-over.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { type AbandonedOrders, claimBatch, releaseAbandoned } from "../../src/ledger/orders/submission.ts";

/** An order of a batch that was handed over. */
export interface DueOrder {
  readonly orderId: number;
  readonly batch: number;
}

/** The worker of tests that need but one. */
export const ME = 1;

/** Makes a worker the leader for good, as one that no heartbeat of another one replaces. */
export async function lead(pool: pg.Pool, leader = ME): Promise<number> {
  await pool.query("update leader set worker_id = $1, until_at = 'infinity'", [leader]);
  return leader;
}

/** Hands over all orders that are due, as one batch. */
export async function handOver(pool: pg.Pool, doesParkedBlock = false): Promise<DueOrder[]> {
  return ordersOf(await takeWaiting(pool, { leader: await lead(pool), limit: 100, doesParkedBlock }));
}

/** Takes over what workers left in hand that are not there (any more), and what one gave up; gives how many orders. */
export async function loseWorker(pool: pg.Pool, id = ME, abandoned?: AbandonedOrders): Promise<number> {
  return inTransaction(pool, (client) => releaseAbandoned(client, id, abandoned));
}

export function ordersOf(batch: Batch | undefined): DueOrder[] {
  return (batch?.orderIds ?? []).map((orderId) => ({ orderId, batch: batch?.batch ?? 0 }));
}

/** Hands over one order and takes it in hand. */
export async function claimNext(pool: pg.Pool, workerId = ME): Promise<LedgerOrder & { fence: number }> {
  const taken = await takeWaiting(pool, { leader: await lead(pool), limit: 1, doesParkedBlock: false });
  const [order] = taken ? await claimBatch(pool, taken.batch, workerId) : [];
  if (order?.fence === undefined) throw new Error("nothing to claim");
  return { ...order, fence: order.fence };
}

/** Writes one call down; when, or undefined where the order is in other hands. */
export async function recordCall(pool: pg.Pool, call: NewCall): Promise<Date | undefined> {
  return (await recordCalls(pool, [call])).get(call.orderId);
}

/** What a call of a test says, where it doesn't matter. */
export const A_REQUEST = { kind: "request", surface: "request", knownIds: [], body: {} } as const;

/** For an order writer whose test is not about restored ledgers. */
export const UNCOUNTED = { raise: async () => 0, keep: async () => undefined };
