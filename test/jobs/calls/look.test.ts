import type pg from "pg";
import { describe, expect, test } from "vitest";
import { phi } from "../../../src/core/phi.ts";
import { countQueueWork } from "../../../src/ledger/operator/queues.ts";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { discardOrder } from "../../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { A_REQUEST, claimNext, recordCall } from "../../support/hand-over.ts";
import { reportedKinds } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { lookNow, type Shown, submitDeps } from "../../support/submit.ts";
import { withLedger } from "../../support/with-ledger.ts";

/** An order with a call that may have left. */
async function withLostCall(pool: pg.Pool): Promise<void> {
  const { id: orderId, fence } = await claimNext(pool);
  await recordCall(pool, { ...A_REQUEST, orderId, fence });
  await changeOrders(pool, [
    { orderId, fence, from: ["submitting"], call: { lookInMs: 0 }, isReleased: true },
  ]);
}

const only = async (pool: pg.Pool, number: string) => (await findOrders(pool, number))[0];

describe("a certain match that another order has", () => {
  /** Order A-2 with a lost call, beside A-1 which is followed by request 17. */
  async function besideHolder(pool: pg.Pool): Promise<void> {
    const [holder] = await commit(pool, [aRecord(1, [anOrder({ code: "S-OTHER" })])]);
    await pool.query("update orders set state = 'submitted', request_id = 17 where id = $1", [holder]);
    await commit(pool, [aRecord(2, [anOrder({ placerOrderNumber: "A-2" })])]);
    await withLostCall(pool);
  }

  test("parks the order before its call is made again, naming the request and the other order", () =>
    withLedger(async ({ pool }) => {
      await besideHolder(pool);
      await lookNow(submitDeps(pool, { matches: [17] }));
      const order = await only(pool, "A-2");
      expect(order).toMatchObject({ state: "parked", calls: [{ kind: "request", outcome: undefined }] });
      expect(order?.failure?.code).toBe("SUBMIT_UNCERTAIN");
      expect(order?.failure?.text).toMatch(/^request 17 is this order's, but order A-1 has it$/);
    }));

  test("doesn't keep the order from another request that is its own beside it", () =>
    withLedger(async ({ pool }) => {
      await besideHolder(pool);
      await lookNow(submitDeps(pool, { matches: [17, 23] }));
      expect(await only(pool, "A-2")).toMatchObject({
        state: "submitted",
        requestId: 23,
        calls: [{ outcome: "made", serviceId: 23 }],
      });
    }));
});

test("a subject that another person's name stands under is not what the call registered: a person is asked", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    const { id: orderId, fence } = await claimNext(pool);
    await recordCall(pool, { orderId, fence, kind: "subject", knownIds: [], body: undefined });
    const call = { lookInMs: 0 };
    await changeOrders(pool, [{ orderId, fence, from: ["submitting"], call, isReleased: true }]);
    const { settings, service, ...rest } = submitDeps(pool, {});
    const namesake = { id: 4, code: phi("S-1"), lastName: phi("Someone-Else") };
    await lookNow({
      ...rest,
      service: Object.assign(service, { findSubject: async () => namesake }),
      settings: { ...settings, wayOf: () => ({ surface: "request", subjects: "register" }) },
    });
    const order = await only(pool, "A-1");
    expect(order).toMatchObject({ state: "parked", calls: [{ kind: "subject", outcome: undefined }] });
    expect(order?.failure).toMatchObject({ code: "SUBJECT_MISMATCH" });
  }));

describe("the only request that may be a retrieval's", () => {
  const afterLook = async (pool: pg.Pool, shown: Shown) => {
    await commit(pool, [aRecord(1, [anOrder({ operation: "RETRIEVAL" })])]);
    await withLostCall(pool);
    await lookNow(submitDeps(pool, shown));
    return only(pool, "A-1");
  };

  test("is adopted where it is listed without being asked for its status, since it was not there before", () =>
    withLedger(async ({ pool }) => {
      expect(await afterLook(pool, { candidates: [17] })).toMatchObject({
        state: "submitted",
        requestId: 17,
      });
    }));

  test("is not adopted where it may be of a call of a neighbour that a person has discarded since", () =>
    withLedger(async ({ pool }) => {
      const [neighbour] = await commit(pool, [aRecord(1, [anOrder({ operation: "RETRIEVAL" })])]);
      await withLostCall(pool);
      const failure = { code: "SUBMIT_UNCERTAIN", text: "" } as const;
      await changeOrders(pool, [{ orderId: neighbour as number, to: "parked", failure, isReleased: true }]);
      await discardOrder(pool, { id: neighbour as number }, { actor: "test", reason: "ordered otherwise" });
      await commit(pool, [aRecord(2, [anOrder({ placerOrderNumber: "A-2", operation: "RETRIEVAL" })])]);
      await withLostCall(pool);
      await lookNow(submitDeps(pool, { candidates: [17] }));
      expect(await only(pool, "A-2")).toMatchObject({
        requestId: undefined,
        calls: [{ outcome: undefined }],
      });
    }));

  test("is looked for again where it is only listed by its status, since it may have been there before", () =>
    withLedger(async ({ pool }) => {
      const order = await afterLook(pool, { candidates: [17], hidden: [17] });
      expect(order).toMatchObject({ requestId: undefined, calls: [{ outcome: undefined }] });
      expect(["submitting", "parked"]).toContain(order?.state);
    }));
});

describe("a look", () => {
  test("is not made while a worker has another order of the subject in hand, nor for two of a subject at once", () =>
    withLedger(async ({ pool }) => {
      const [first, second] = await commit(pool, [
        aRecord(1, [anOrder()]),
        aRecord(2, [anOrder({ placerOrderNumber: "A-2" })]),
      ]);
      await withLostCall(pool);
      await pool.query("update orders set state = 'received' where id = $1", [first]);
      await pool.query("update orders set held_at = now() where id = $1", [first]);
      await withLostCall(pool);
      await pool.query("update orders set state = 'submitting', held_at = null where id = $1", [first]);
      const deps = submitDeps(pool, {});
      expect(await lookNow(deps)).toBe(1);
      expect((await only(pool, "A-1"))?.calls[0]?.checks).toBe(1);
      expect((await only(pool, "A-2"))?.calls[0]?.checks).toBe(0);
      await pool.query("update orders set owner = 7 where id = $1", [first]);
      expect(await lookNow(deps)).toBe(0);
      await pool.query("update orders set state = 'parked', failure_code = 'UNCLASSIFIED' where id = $1", [
        first,
      ]);
      await pool.query("update orders set owner = 7 where id = $1", [second]);
      expect(await lookNow(deps)).toBe(0);
    }));

  test("leads to nothing where the order has moved on meanwhile", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      await withLostCall(pool);
      const deps = submitDeps(pool, { matches: [17] });
      const { listMade } = deps.service;
      const service = {
        ...deps.service,
        listMade: async (...args: Parameters<typeof listMade>) => {
          await pool.query("update orders set fence = new_fence()");
          return listMade(...args);
        },
      };
      expect(await lookNow({ ...deps, service })).toBe(1);
      expect(await only(pool, "A-1")).toMatchObject({ state: "submitting", requestId: undefined });
      expect(await lookNow(deps)).toBe(1);
      expect(await only(pool, "A-1")).toMatchObject({ state: "submitted", requestId: 17 });
    }));

  test("counts as work that waits once it is due, and as delayed before", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      await withLostCall(pool);
      expect((await countQueueWork(pool)).submit).toMatchObject({ waiting: 1, delayed: 0, inHand: 0 });
      await pool.query("update calls set look_at = now() + interval '1 hour'");
      expect((await countQueueWork(pool)).submit).toMatchObject({ waiting: 0, delayed: 1, inHand: 0 });
    }));
});

test("an order whose request is found is reported as submitted only to a lab that is sent that", () =>
  withLedger(async ({ pool }) => {
    for (const [nth, isSent] of [true, false].entries()) {
      const placerOrderNumber = `N-${nth}`;
      await commit(pool, [aRecord(10 + nth, [anOrder({ placerOrderNumber, code: `S-${nth}` })])]);
      await withLostCall(pool);
      await lookNow({ ...submitDeps(pool, { matches: [31 + nth] }), isSent: () => isSent });
      expect(await only(pool, placerOrderNumber)).toMatchObject({ state: "submitted" });
    }
    expect((await reportedKinds(pool)).filter((kind) => kind === "changed submitted")).toHaveLength(1);
  }));
