import type pg from "pg";
import { inTransaction } from "../../src/ledger/database.ts";
import { claimDue } from "../../src/ledger/orders/claiming.ts";
import { type NewCall, recordCalls } from "../../src/ledger/orders/new-calls.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { releaseAbandoned } from "../../src/ledger/orders/submission.ts";

/** The worker of tests that need but one. */
export const ME = 1;

/** Takes all orders that are due. */
export async function takeDue(
  pool: pg.Pool,
  { doesParkedBlock = false, workerId = ME, limit = 100 } = {},
): Promise<{ readonly orderId: number; readonly fence: number }[]> {
  const orders = await claimDue(pool, { workerId, limit, doesParkedBlock });
  return orders.map(({ id: orderId, fence }) => ({ orderId, fence: fence as number }));
}

/** Takes over what workers left in hand that are not there (any more), and what one doesn't work on; gives how many orders. */
export async function loseWorker(pool: pg.Pool, id = ME, inHand?: readonly number[]): Promise<number> {
  return inTransaction(pool, (client) => releaseAbandoned(client, id, inHand));
}

/** Takes one order in hand. */
export async function claimNext(pool: pg.Pool, workerId = ME): Promise<LedgerOrder & { fence: number }> {
  const [order] = await claimDue(pool, { workerId, limit: 1, doesParkedBlock: false });
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
