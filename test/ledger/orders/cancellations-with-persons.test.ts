import type pg from "pg";
import { describe, expect, test } from "vitest";
import { closeTask, countOpenTasks, listOpenTasks } from "../../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { resolveOrder } from "../../../src/ledger/orders/acts.ts";
import { cancelCallsOf, openCallOf } from "../../../src/ledger/orders/calls.ts";
import { cancelOrder } from "../../../src/ledger/orders/cancellations.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { findDueLooks } from "../../../src/ledger/orders/looks.ts";
import { enterRestored, liftRestored } from "../../../src/ledger/restored/restore.ts";
import { dueCancels, presumeAll } from "../../support/calls.ts";
import { waitForLockWaiter } from "../../support/lock-waiters.ts";
import { aCancel, answers, reportedKinds } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";
import {
  ABOUT_5,
  BOTH,
  CANCEL,
  claim,
  OPERATOR,
  only,
  orderedAndSubmitted,
  REFUSED,
  send,
} from "./cancelled-orders.ts";

describe("a cancellation of an order that a restored ledger has to compare", () => {
  const toCompare = async (pool: pg.Pool) => {
    const [orderId] = await commit(pool, [aRecord(1, [anOrder()])]);
    await presumeAll(pool);
    return orderId as number;
  };

  test("waits, since the service may have the order, and is decided once that is known", () =>
    withLedger(async ({ pool }) => {
      const orderId = await toCompare(pool);
      await commit(pool, [aCancel(2, [{ placerOrderNumber: "A-1" }])]);
      expect((await findOrders(pool, `o${orderId}`))[0]?.state).toBe("submitting");
      expect(await cancelOrder(pool, orderId, OPERATOR, new Set())).not.toEqual({ kind: "cancelled" });
      await changeOrders(pool, [{ orderId, to: "received", call: { end: "nothing" } }]);
      expect((await findOrders(pool, `o${orderId}`))[0]?.state).toBe("cancelled");
      expect(await answers(pool)).toEqual([["CR"]]);
    }));

  test("waits for a look for its request also where what was open in the copy was the call to register its subject", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const { orderId } = await claim(pool, "subject");
      await enterRestored(pool, { text: "for a test", epoch: 1, restores: 0, after: 0 });
      await commit(pool, [aCancel(2, CANCEL)]);
      await changeOrders(pool, [{ orderId, to: "received", call: { end: "made" } }]);
      expect(openCallOf(await only(pool))).toMatchObject({ kind: "request", isPresumed: true });
      expect(await answers(pool)).toEqual([]);
      await changeOrders(pool, [{ orderId, to: "received", call: { end: "nothing" } }]);
      expect((await only(pool)).state).toBe("cancelled");
      expect(await answers(pool)).toEqual([["CR"]]);
    }));

  test("is decided when a person ends the comparing", () =>
    withLedger(async ({ pool }) => {
      const orderId = await toCompare(pool);
      await commit(pool, [aCancel(2, [{ placerOrderNumber: "A-1" }])]);
      expect(await liftRestored(pool, OPERATOR)).toBe(1);
      expect((await findOrders(pool, `o${orderId}`))[0]?.state).toBe("cancelled");
    }));
});

describe("a cancellation of an order that a person links to what the service has", () => {
  /** An order that was to be cancelled at the service, and was parked after the call. */
  const calledAndParked = async (pool: pg.Pool) => {
    const orderId = await orderedAndSubmitted(pool);
    await commit(pool, [aCancel(2, CANCEL)]);
    const [due] = await dueCancels(pool);
    if (due === undefined) throw new Error("nothing to cancel");
    await send(pool, due);
    const failure = { code: "REQUEST_GONE", text: "" } as const;
    await changeOrders(pool, [{ orderId, to: "parked", failure }]);
    return orderId;
  };
  const resolve = (pool: pg.Pool, id: number, requestId: number) =>
    resolveOrder(pool, { id }, { surface: "request", requestId }, OPERATOR);

  test("is called for again where that is another request, of which no call was made", () =>
    withLedger(async ({ pool }) => {
      const orderId = await calledAndParked(pool);
      expect(await resolve(pool, orderId, 6)).toBe("done");
      const planned = (await only(pool)).calls.filter(({ isPlanned }) => isPlanned);
      expect(planned).toMatchObject([{ ...ABOUT_5, serviceId: 6, outcome: undefined }]);
      expect(cancelCallsOf(await only(pool), { ...ABOUT_5, serviceId: 6 })).toEqual([]);
    }));

  test("goes on where it stood with the request that the call was made for", () =>
    withLedger(async ({ pool }) => {
      const orderId = await calledAndParked(pool);
      expect(await resolve(pool, orderId, 5)).toBe("done");
      expect(await dueCancels(pool)).toEqual([]);
      expect(await findDueLooks(pool, 10, "cancels")).toMatchObject([{ orderId }]);
    }));
});

describe("an operator", () => {
  test("cancels an order that nothing has left of, and the lab is told of its end", () =>
    withLedger(async ({ pool }) => {
      const [orderId] = await commit(pool, [aRecord(1, [anOrder()])]);
      expect(await cancelOrder(pool, orderId as number, OPERATOR, new Set())).toEqual({ kind: "cancelled" });
      expect(await reportedKinds(pool)).toEqual(["acknowledged", "changed cancelled"]);
      const { rows } = await pool.query("select actor, action, target, detail from audit");
      expect(rows).toEqual([
        { actor: "test", action: "cancel", target: `o${orderId}`, detail: { reason: "the patient moved" } },
      ]);
    }));

  test("is told at once that the service offers no call", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      expect(await cancelOrder(pool, orderId, OPERATOR, new Set(["external"] as const))).toMatchObject({
        kind: "unable",
        refusal: { code: "CANCEL_NOT_OFFERED" },
      });
      expect(await cancelOrder(pool, orderId, OPERATOR, BOTH)).toEqual({ kind: "asked" });
      expect(await dueCancels(pool)).toHaveLength(1);
    }));

  test("closes a task once, and a later refusal opens a new one", () =>
    withLedger(async ({ pool }) => {
      const orderId = await orderedAndSubmitted(pool);
      const refuse = async (ordinal: number) => {
        await commit(pool, [aCancel(ordinal, CANCEL)]);
        await changeOrders(pool, [{ orderId, refusal: REFUSED }]);
      };
      await refuse(2);
      await refuse(3);
      const [task, ...others] = await listOpenTasks(pool, 10);
      expect(others).toEqual([]);
      const id = Number(task?.taskId.slice(1));
      expect(await closeTask(pool, id, OPERATOR)).toBe(true);
      expect(await closeTask(pool, id, OPERATOR)).toBe(false);
      await refuse(4);
      expect(await countOpenTasks(pool)).toMatchObject([{ kind: "cancel", count: 1 }]);
    }));
});

test("no call leaves for what the order was followed by until a person linked it to another request just then", () =>
  withLedger(async ({ pool }) => {
    const orderId = await orderedAndSubmitted(pool);
    await cancelOrder(pool, orderId, OPERATOR, BOTH);
    const [due] = await dueCancels(pool);
    if (!due) throw new Error("a cancellation is due");
    const person = await pool.connect();
    await person.query("begin");
    await person.query("select from orders where id = $1 for update", [orderId]);
    await person.query("update calls set checks = 0");
    const calling = send(pool, due, 1_000);
    await waitForLockWaiter(pool);
    await person.query("update orders set request_id = 6 where id = $1", [orderId]);
    await person.query("commit");
    person.release();
    expect(await calling).toBe(false);
    expect(cancelCallsOf(await only(pool), ABOUT_5)).toEqual([]);
  }));
