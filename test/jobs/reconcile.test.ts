import type pg from "pg";
import { describe, expect, test } from "vitest";
import { reconcileOrder } from "../../src/jobs/reconcile/reconcile.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { claimNext, recordIntent } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { claimUnreconciled, submitDeps } from "../support/submit.ts";
import { withLedger } from "../support/with-ledger.ts";

/** The order with a call that may have left, in a worker's hands for the next look. */
async function withLostCall(pool: pg.Pool): Promise<LedgerOrder> {
  const order = await claimNext(pool);
  const call = { orderId: order.id, fence: order.fence, intent: "request", surface: "request" } as const;
  await recordIntent(pool, { ...call, knownRequestIds: [], body: {} });
  await changeOrders(pool, [{ ...call, from: ["submitting"], nextInMs: 0, isReleased: true }]);
  return claimUnreconciled(pool);
}

const never = new AbortController().signal;

describe("a certain match that another order has", () => {
  /** Order A-2 with a lost call, beside A-1 which is followed by request 17. */
  async function besideHolder(pool: pg.Pool): Promise<LedgerOrder> {
    const [holder] = await commit(pool, [aRecord(1, [anOrder({ code: "S-OTHER" })])]);
    await pool.query(
      "update orders set state = 'submitted', surface = 'request', request_id = 17 where id = $1",
      [holder],
    );
    await commit(pool, [aRecord(2, [anOrder({ placerOrderNumber: "A-2" })])]);
    return withLostCall(pool);
  }

  test("parks the order before its call is made again, naming the request and the other order", () =>
    withLedger(async ({ pool }) => {
      let order = await besideHolder(pool);
      for (let look = 0; look < 4 && order.state === "submitting"; look += 1) {
        await reconcileOrder(order, submitDeps(pool, { matches: [17], candidates: [] }), never);
        order = (await findOrders(pool, "A-2"))[0] as LedgerOrder;
        if (order.state === "submitting") order = await claimUnreconciled(pool);
      }
      expect(order).toMatchObject({ state: "parked", intent: "request" });
      expect(order.failure?.code).toBe("SUBMIT_UNCERTAIN");
      expect(order.failure?.text).toMatch(/^request 17 is this order's, but order A-1 has it$/);
    }));

  test("doesn't keep the order from another request that is its own beside it", () =>
    withLedger(async ({ pool }) => {
      const order = await besideHolder(pool);
      await reconcileOrder(order, submitDeps(pool, { matches: [17, 23], candidates: [] }), never);
      expect((await findOrders(pool, "A-2"))[0]).toMatchObject({ state: "submitted", requestId: 23 });
    }));
});

describe("the only request that may be a retrieval's", () => {
  const afterLook = async (pool: pg.Pool, hidden: readonly number[]) => {
    await commit(pool, [aRecord(1, [anOrder({ operation: "RETRIEVAL" })])]);
    const order = await withLostCall(pool);
    await reconcileOrder(order, submitDeps(pool, { matches: [], candidates: [17], hidden }), never);
    return (await findOrders(pool, "A-1"))[0];
  };

  test("is adopted where it is listed without being asked for its status, since it was not there before", () =>
    withLedger(async ({ pool }) => {
      expect(await afterLook(pool, [])).toMatchObject({ state: "submitted", requestId: 17 });
    }));

  test("is looked for again where it is only listed by its status, since it may have been there before", () =>
    withLedger(async ({ pool }) => {
      const order = await afterLook(pool, [17]);
      expect(order).toMatchObject({ intent: "request", requestId: undefined });
      expect(["submitting", "parked"]).toContain(order?.state);
    }));
});
