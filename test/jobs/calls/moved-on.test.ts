import type pg from "pg";
import { expect, test } from "vitest";
import { submitDue } from "../../../src/jobs/submit/submit.ts";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { overrideOrder, resolveOrder, retryOrder } from "../../../src/ledger/orders/acts.ts";
import { formerIds } from "../../../src/ledger/orders/calls.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { linkOf } from "../../../src/ledger/orders/row.ts";
import { enterRestored, liftRestored } from "../../../src/ledger/restored/restore.ts";
import { A_REQUEST, claimNext, recordCall } from "../../support/hand-over.ts";
import { waitForLockWaiter } from "../../support/lock-waiters.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { lookNow, submitDeps } from "../../support/submit.ts";
import { withLedger } from "../../support/with-ledger.ts";

const BY = { actor: "test", reason: "seen to" };
const RESTORED = { text: "a copy", epoch: 0, restores: 0, after: 0 };
const only = async (pool: pg.Pool) => {
  const [order] = await findOrders(pool, "A-1");
  if (!order) throw new Error("no order");
  return order;
};

/** An order that is parked after a call of which nobody knows what it did. */
async function parkedWithLostCall(pool: pg.Pool): Promise<number> {
  await commit(pool, [aRecord(1, [anOrder()])]);
  const { id: orderId, fence } = await claimNext(pool);
  await recordCall(pool, { ...A_REQUEST, orderId, fence });
  const failure = {
    code: "SUBMIT_SEVERAL_MATCHES",
    text: "requests 17, 18 could all be this order's",
  } as const;
  await changeOrders(pool, [{ orderId, fence, to: "parked", failure, call: {}, isReleased: true }]);
  return orderId;
}

test("a late look is over though the service once knew nothing of what was to be cancelled", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    const { id: orderId, fence } = await claimNext(pool);
    await recordCall(pool, { ...A_REQUEST, orderId, fence });
    const call = { end: "nothing", lookInMs: 0 } as const;
    await changeOrders(pool, [{ orderId, fence, to: "received", call, isReleased: true, nextInMs: 0 }]);
    const again = await claimNext(pool);
    await recordCall(pool, { ...A_REQUEST, orderId, fence: again.fence });
    const request = { surface: "request", requestId: 17 } as const;
    await changeOrders(pool, [
      { orderId, fence: again.fence, to: "submitted", request, call: { end: "made" }, isReleased: true },
    ]);
    await pool.query(
      `insert into calls (order_id, kind, surface, mark, service_id, outcome, ended_at, gone_since)
       select id, 'cancel', 'request', mark, 17, 'refused', now(), now() - interval '1 minute' from orders`,
    );
    const deps = submitDeps(pool, {});
    expect(await lookNow(deps)).toBe(1);
    expect(await lookNow(deps)).toBe(0);
  }));

test("an order that waited for a person in a copy of the ledger waits for one still where the service has nothing", () =>
  withLedger(async ({ pool }) => {
    const orderId = await parkedWithLostCall(pool);
    await enterRestored(pool, RESTORED);
    const deps = submitDeps(pool, {});
    for (let looks = 1; looks <= 5; looks += 1) await lookNow(deps);
    expect(await only(pool)).toMatchObject({ state: "parked", calls: [{ outcome: undefined }] });
    expect(await retryOrder(pool, { id: orderId }, BY)).toBe("done");
    for (let looks = 1; looks <= 5; looks += 1) await lookNow(deps);
    expect(await only(pool)).toMatchObject({ state: "received", calls: [{ outcome: "nothing" }] });
  }));

test("what was called before a change is never adopted for what is asked for since, nor by a restored ledger", () =>
  withLedger(async ({ pool }) => {
    const orderId = await parkedWithLostCall(pool);
    await pool.query("update orders set mark = new_mark(), failure_code = 'SUBMIT_UNCERTAIN'");
    await enterRestored(pool, RESTORED);
    const deps = submitDeps(pool, { matches: [17] });
    for (let looks = 1; looks <= 5; looks += 1) await lookNow(deps);
    expect(await only(pool)).toMatchObject({ state: "parked", requestId: undefined });
    expect(await retryOrder(pool, { id: orderId }, BY)).toBe("done");
    expect(await only(pool)).toMatchObject({ state: "received", calls: [{ outcome: "nothing" }] });
  }));

test("what a changed order asked for before is looked for before the first call for what it asks for now", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    const { id: orderId, fence } = await claimNext(pool);
    await recordCall(pool, { ...A_REQUEST, orderId, fence });
    const call = { end: "nothing" } as const;
    await changeOrders(pool, [{ orderId, fence, to: "received", call, isReleased: true, nextInMs: 0 }]);
    await pool.query("update orders set mark = new_mark()");
    // Nothing but a look is made at this service.
    expect(await submitDue(10, submitDeps(pool, { candidates: [17] }), new AbortController().signal)).toBe(1);
    expect(await only(pool)).toMatchObject({
      state: "parked",
      failure: {
        code: "SUBMIT_UNCERTAIN",
        text: expect.stringContaining("request 17 at the service may be"),
      },
      calls: [{ outcome: undefined }],
    });
  }));

test("a person who goes past another order has the service looked at all the same after a restore", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    const { id, fence } = await claimNext(pool);
    const failure = { code: "ORDER_CONTAINER_IN_OPEN_ORDER", text: "o7 has it" } as const;
    await changeOrders(pool, [{ orderId: id, fence, to: "parked", failure, isReleased: true }]);
    await enterRestored(pool, RESTORED);
    expect(await overrideOrder(pool, { id }, BY)).toBe("done");
    expect(await only(pool)).toMatchObject({ state: "submitting", calls: [{ outcome: undefined }] });
    await lookNow(submitDeps(pool, { matches: [17] }));
    expect(await only(pool)).toMatchObject({ state: "submitted", requestId: 17 });
  }));

test("what a restored ledger has adopted is never adopted again once the order has failed", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    await enterRestored(pool, RESTORED);
    await lookNow(submitDeps(pool, { matches: [17] }));
    const { id } = await only(pool);
    await changeOrders(pool, [
      { orderId: id, to: "failed", failure: { code: "PROCEDURE_FAILED", text: "" } },
    ]);
    expect(await retryOrder(pool, { id }, BY)).toBe("done");
    expect(formerIds(await only(pool), "request")).toEqual([17]);
  }));

test("an order that a person has go on while another one lifts the restore is not left without a call to look for", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    const { id, fence } = await claimNext(pool);
    const failure = { code: "SERVICE_REFUSED", text: "" } as const;
    await changeOrders(pool, [{ orderId: id, fence, to: "parked", failure, isReleased: true }]);
    await enterRestored(pool, RESTORED);
    const person = await pool.connect();
    await person.query("begin");
    await person.query("select 1 from orders where id = $1 for update", [id]);
    await person.query("update calls set look_at = now() where order_id = $1", [id]);
    const lifted = liftRestored(pool, BY);
    await waitForLockWaiter(pool);
    await person.query("update orders set state = 'submitting' where id = $1", [id]);
    await person.query("commit");
    person.release();
    await lifted;
    expect(await only(pool)).toMatchObject({ state: "received", calls: [{ outcome: "nothing" }] });
  }));

test("an order whose call went to one surface is followed by what a person links it to on the other", () =>
  withLedger(async ({ pool }) => {
    const id = await parkedWithLostCall(pool);
    const link = { surface: "external", procedureId: 31 } as const;
    expect(await resolveOrder(pool, { id }, link, BY)).toBe("done");
    expect(linkOf(await only(pool))).toEqual(link);
    expect((await only(pool)).calls).toMatchObject([{ surface: "external", serviceId: 31, outcome: "made" }]);
  }));

test("what a person links an order to is not what the registration of its subject made", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    const { id, fence } = await claimNext(pool);
    await recordCall(pool, { orderId: id, fence, kind: "subject", knownIds: [], body: undefined });
    const failure = { code: "SUBJECT_MISMATCH", text: "" } as const;
    await changeOrders(pool, [{ orderId: id, fence, to: "parked", failure, call: {}, isReleased: true }]);
    expect(await resolveOrder(pool, { id }, { surface: "request", requestId: 31 }, BY)).toBe("done");
    const { calls } = await only(pool);
    expect(calls).toMatchObject([
      { kind: "subject", outcome: "made" },
      { kind: "request", outcome: "made", serviceId: 31 },
    ]);
    expect(calls[0]?.serviceId).toBeUndefined();
  }));
