import type pg from "pg";
import { describe, expect, test } from "vitest";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { claimBatch } from "../../src/ledger/orders/submission.ts";
import { claimNext, handOverUnreconciled, loseWorker, ME, recordIntent } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const attempts = async (pool: pg.Pool) => (await findOrders(pool, "A-1"))[0]?.attempts;

/** An order in a worker's hands, with a call that may have left. */
async function called(pool: pg.Pool): Promise<{ orderId: number; fence: number }> {
  const order = await claimNext(pool);
  const call = { orderId: order.id, fence: order.fence, intent: "request", surface: "request" } as const;
  await recordIntent(pool, { ...call, knownRequestIds: [], body: {} });
  return call;
}

async function looked(pool: pg.Pool): Promise<{ orderId: number; fence: number | undefined }> {
  const due = await handOverUnreconciled(pool, 1);
  const [order] = due ? await claimBatch(pool, due.batch, ME) : [];
  if (!order) throw new Error("nothing to look for");
  return { orderId: order.id, fence: order.fence };
}

describe("attempts", () => {
  test("count the calls of an order, and no look for what one of them did", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const call = await called(pool);
      expect(await attempts(pool)).toBe(1);
      await changeOrders(pool, [{ ...call, from: ["submitting"], nextInMs: 0, isReleased: true }]);
      for (let look = 1; look <= 4; look += 1) {
        const step = await looked(pool);
        await changeOrders(pool, [
          { ...step, from: ["submitting"], checks: look, nextInMs: 0, isReleased: true },
        ]);
        // The next hand-over comes with the feeder's next sweep.
        await pool.query("update orders set handed_over_at = null");
      }
      expect(await attempts(pool)).toBe(1);
      const last = await looked(pool);
      await changeOrders(pool, [{ ...last, to: "received", isReleased: true, isIntentCleared: true }]);
      await called(pool);
      expect(await attempts(pool)).toBe(2);
    }));

  test("leave nothing of a failed one once the next call is about to leave", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const { id: orderId, fence } = await claimNext(pool);
      const failure = { code: "ORDER_LEASE_LOST", text: "lost" } as const;
      await changeOrders(pool, [
        { orderId, fence, to: "received", failure, nextInMs: 0, isReleased: true, isIntentCleared: true },
      ]);
      await called(pool);
      expect((await findOrders(pool, "A-1"))[0]).toMatchObject({ state: "submitting", failure: undefined });
    }));

  test("count a call that a crash interrupted, and no step before it or look after it", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      await claimNext(pool);
      await loseWorker(pool);
      expect(await attempts(pool)).toBe(0);
      await called(pool);
      await loseWorker(pool);
      await looked(pool);
      await loseWorker(pool);
      expect(await attempts(pool)).toBe(1);
    }));
});
