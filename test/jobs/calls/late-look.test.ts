import type pg from "pg";
import { expect, test } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import { recordSubmitFailure } from "../../../src/jobs/submit/failure.ts";
import { listOpenTasks } from "../../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { A_REQUEST, claimNext, recordCall } from "../../support/hand-over.ts";
import { aCancel } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { lookNow, submitDeps } from "../../support/submit.ts";
import { withLedger } from "../../support/with-ledger.ts";

/** An order whose call the service answered with this. */
async function withRefusedCall(pool: pg.Pool, refusal: Failure): Promise<void> {
  await commit(pool, [aRecord(1, [anOrder()])]);
  const order = await claimNext(pool);
  await recordCall(pool, { ...A_REQUEST, orderId: order.id, fence: order.fence });
  await recordSubmitFailure(order, refusal, submitDeps(pool, {}));
}

/** What the service shows of it by now opens a task. */
async function expectTask(pool: pg.Pool, state: string): Promise<void> {
  expect(await lookNow(submitDeps(pool, { matches: [17] }))).toBe(1);
  expect(await listOpenTasks(pool, 10)).toMatchObject([
    {
      kind: "duplicate",
      text: expect.stringContaining(`request 17 at the service is this order's, which is ${state}`),
    },
  ]);
  expect(await lookNow(submitDeps(pool, { matches: [17] }))).toBe(0);
}

test("an order that was refused for now, looked for and then cancelled by the lab is looked for once more", () =>
  withLedger(async ({ pool }) => {
    await withRefusedCall(pool, new Failure("SERVICE_BUSY", { message: "429", isAnswered: true }));
    await lookNow(submitDeps(pool, {}));
    await commit(pool, [aCancel(2, [{ placerOrderNumber: "A-1" }])]);
    expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "cancelled" }]);
    await expectTask(pool, "cancelled");
  }));

test("an order that was refused for good is looked for once more", () =>
  withLedger(async ({ pool }) => {
    await withRefusedCall(pool, new Failure("SERVICE_REFUSED", { message: "422", isAnswered: true }));
    expect(await findOrders(pool, "A-1")).toMatchObject([
      { state: "parked", calls: [{ outcome: "refused", failure: { code: "SERVICE_REFUSED", text: "422" } }] },
    ]);
    await expectTask(pool, "parked");
  }));
