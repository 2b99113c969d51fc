import type pg from "pg";
import { expect, test } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import { listOrders } from "../../../src/ledger/operator/views.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { A_REQUEST, claimNext, loseWorker, recordCall } from "../../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { lookNow, submitDeps } from "../../support/submit.ts";
import { withLedger } from "../../support/with-ledger.ts";

const MINUTE = 60_000;

/** An order in hand whose intent was written down an hour ago, since when its call may have waited for its turn. */
async function waitedForAnHour(pool: pg.Pool) {
  await commit(pool, [aRecord(1, [anOrder()])]);
  const { id, fence } = await claimNext(pool);
  await recordCall(pool, {
    ...{ ...A_REQUEST, orderId: id, fence },
  });
  await pool.query("update calls set at = at - interval '1 hour'");
  return { orderId: id, fence };
}

const unanswered = (order: { readonly orderId: number; readonly fence: number | undefined }) => ({
  ...{ ...order, isReleased: true, call: { lookInMs: 0 } },
  from: ["submitting"] as const,
  event: { kind: "unanswered" },
});

async function ageOf(pool: pg.Pool): Promise<number> {
  const [order] = await listOrders(pool, { limit: 1 });
  return order?.calls[0]?.ageMs ?? Number.NaN;
}

test("the time in which a lost call is looked for counts from when it can have left at the latest, not from its intent", () =>
  withLedger(async ({ pool }) => {
    const order = await waitedForAnHour(pool);
    await changeOrders(pool, [unanswered(order)]);
    expect(await ageOf(pool)).toBeLessThan(10 * MINUTE);
  }));

test("a look for it that fails begins no new time", () =>
  withLedger(async ({ pool }) => {
    const order = await waitedForAnHour(pool);
    await changeOrders(pool, [unanswered(order)]);
    await pool.query("update calls set left_by = left_by - interval '20 minutes'");
    const deps = submitDeps(pool, {});
    const listMade = async () => {
      throw new Failure("SERVICE_UNAVAILABLE", "status 502");
    };
    expect(await lookNow({ ...deps, service: { ...deps.service, listMade } })).toBe(1);
    expect(await ageOf(pool)).toBeGreaterThan(19 * MINUTE);
  }));

test("of a worker that is gone it counts from when it can have called for the last time", () =>
  withLedger(async ({ pool }) => {
    await waitedForAnHour(pool);
    expect(await loseWorker(pool, 999)).toBe(1);
    expect(await ageOf(pool)).toBeLessThan(10 * MINUTE);
  }));

test("after the clock has gone back it is no longer than by a clock that has not", () =>
  withLedger(async ({ pool }) => {
    const order = await waitedForAnHour(pool);
    await changeOrders(pool, [unanswered(order)]);
    await pool.query("update calls set left_by = now() + interval '1 hour'");
    expect(await ageOf(pool)).toBe(0);
    const deps = submitDeps(pool, {});
    const listMade = async () => ({ made: [], traces: [] });
    expect(await lookNow({ ...deps, service: { ...deps.service, listMade } })).toBe(1);
    const { rows } = await pool.query("select left_by <= now() as is_past from calls");
    expect(rows[0]).toMatchObject({ is_past: true });
    expect(
      (await pool.query("select from calls where look_at > now() + interval '15 minutes'")).rowCount,
    ).toBe(0);
  }));
