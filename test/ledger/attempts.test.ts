import type pg from "pg";
import { describe, expect, test } from "vitest";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { A_REQUEST, claimNext, loseWorker, recordCall } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { lookNow, submitDeps } from "../support/submit.ts";
import { withLedger } from "../support/with-ledger.ts";

const attempts = async (pool: pg.Pool) => (await findOrders(pool, "A-1"))[0]?.attempts;

/** An order in a worker's hands, with a call that may have left. */
async function called(pool: pg.Pool): Promise<{ orderId: number; fence: number }> {
  const { id: orderId, fence } = await claimNext(pool);
  await recordCall(pool, { ...A_REQUEST, orderId, fence });
  return { orderId, fence };
}

/** Looks that find nothing; believed only once the call is old enough. */
const empty = (pool: pg.Pool, giveUpAfterMs = 3_600_000) => {
  const deps = submitDeps(pool, {});
  const { settings } = deps;
  return { ...deps, settings: { ...settings, reconcile: { ...settings.reconcile, giveUpAfterMs } } };
};

describe("attempts", () => {
  test("count the calls of an order, and no look for what one of them did", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const call = await called(pool);
      expect(await attempts(pool)).toBe(1);
      await changeOrders(pool, [{ ...call, from: ["submitting"], call: { lookInMs: 0 }, isReleased: true }]);
      for (let look = 1; look <= 4; look += 1) expect(await lookNow(empty(pool))).toBe(1);
      expect(await attempts(pool)).toBe(1);
      expect(await lookNow(empty(pool, 0))).toBe(1);
      await called(pool);
      expect(await attempts(pool)).toBe(2);
    }));

  test("leave nothing of a failed one once the next call is about to leave", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const { id: orderId, fence } = await claimNext(pool);
      const failure = { code: "ORDER_LEASE_LOST", text: "lost" } as const;
      await changeOrders(pool, [{ orderId, fence, to: "received", failure, nextInMs: 0, isReleased: true }]);
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
      await lookNow(empty(pool));
      expect(await attempts(pool)).toBe(1);
    }));
});
