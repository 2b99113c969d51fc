import type pg from "pg";
import { expect, test } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { recheckDue } from "../../src/jobs/reconcile/recheck.ts";
import { reconcileOrder } from "../../src/jobs/reconcile/reconcile.ts";
import { recordSubmitFailure } from "../../src/jobs/submit/failure.ts";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { claimNext, recordIntent } from "../support/hand-over.ts";
import { aCancel } from "../support/order-control.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { claimUnreconciled, submitDeps } from "../support/submit.ts";
import { withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;

/** An order whose call the service answered with this. */
async function withRefusedCall(pool: pg.Pool, refusal: Failure): Promise<void> {
  await commit(pool, [aRecord(1, [anOrder()])]);
  const order = await claimNext(pool);
  const call = { orderId: order.id, fence: order.fence, intent: "request", surface: "request" } as const;
  await recordIntent(pool, { ...call, knownRequestIds: [], body: {} });
  await recordSubmitFailure(order, refusal, submitDeps(pool, { matches: [], candidates: [] }));
}

/** What the service shows of it by now opens a task. */
async function expectTask(pool: pg.Pool, state: string): Promise<void> {
  await pool.query("update orders set recheck_at = now() where recheck_at is not null");
  expect(await recheckDue(submitDeps(pool, { matches: [17], candidates: [] }), never)).toBe(1);
  expect(await listOpenTasks(pool, 10)).toMatchObject([
    {
      kind: "duplicate",
      text: expect.stringContaining(`request 17 at the service is this order's, which is ${state}`),
    },
  ]);
}

test("an order that was refused for now, checked and then cancelled by the lab is looked for once more", () =>
  withLedger(async ({ pool }) => {
    await withRefusedCall(pool, new Failure("SERVICE_BUSY", { message: "429", isAnswered: true }));
    await pool.query("update orders set next_at = now()");
    const order = await claimUnreconciled(pool);
    await reconcileOrder(order, submitDeps(pool, { matches: [], candidates: [] }), never);
    await commit(pool, [aCancel(2, [{ placerOrderNumber: "A-1" }])]);
    expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "cancelled" }]);
    await expectTask(pool, "cancelled");
  }));

test("an order that was refused for good is looked for once more", () =>
  withLedger(async ({ pool }) => {
    await withRefusedCall(pool, new Failure("SERVICE_REFUSED", { message: "422", isAnswered: true }));
    expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "parked" }]);
    await expectTask(pool, "parked");
  }));
