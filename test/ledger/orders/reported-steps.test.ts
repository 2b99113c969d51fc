import type pg from "pg";
import { expect, test } from "vitest";
import type { OrderStep } from "../../../src/core/order-step.ts";
import { openPool } from "../../../src/ledger/database.ts";
import { claimNext, loseWorker, takeDue } from "../../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { silent, withLedger } from "../../support/with-ledger.ts";

/** A ledger with one order, and what is reported of it from then on: kind, state, stage that ended, failure. */
const withReports = (
  work: (pool: pg.Pool, reported: () => unknown[], steps: readonly OrderStep[]) => Promise<void>,
) =>
  withLedger(async ({ connection }) => {
    const steps: OrderStep[] = [];
    const observer = {
      ordersMoved: (moved: readonly OrderStep[]) => void steps.push(...moved),
      resultsSent: () => {},
    };
    const options = { connection, schema: "cryobridge", max: 4, applicationName: "test", observer };
    const pool = openPool(options, silent);
    try {
      await commit(pool, [aRecord(1, [anOrder({})])]);
      steps.length = 0;
      const reported = () =>
        steps.splice(0).map(({ kind, to, stage, failureCode }) => [kind, to, stage?.name, failureCode]);
      await work(pool, reported, steps);
    } finally {
      await pool.end();
    }
  });

test("an order that is taken back from a lost worker is reported, and so is one that is parked then", () =>
  withReports(async (pool, reported) => {
    await claimNext(pool);
    reported();
    await loseWorker(pool);
    expect(reported()).toEqual([["interrupted", "received", "submitting", undefined]]);
    await pool.query(
      `insert into order_events (order_id, kind, to_state)
       select id, 'interrupted', 'received' from orders, generate_series(1, 18)`,
    );
    await claimNext(pool);
    reported();
    await loseWorker(pool);
    expect(reported()).toEqual([["parked", "parked", "submitting", "ORDER_TRIED_TOO_OFTEN"]]);
  }));

test("an order's wait is reported once it is taken, and again once it was taken back by its worker's loss", () =>
  withReports(async (pool, reported) => {
    await takeDue(pool);
    expect(reported()).toEqual([["claimed", "submitting", "received", undefined]]);
    await loseWorker(pool);
    reported();
    await takeDue(pool);
    expect(reported()).toEqual([["claimed", "submitting", "received", undefined]]);
  }));

test("a stage takes no time less than none, also where a transaction that began later was done earlier", () =>
  withReports(async (pool, reported, steps) => {
    const { id } = await claimNext(pool);
    await pool.query(
      "insert into order_events (order_id, at, kind, to_state) values ($1, now() + interval '1 hour', 'parked', 'parked')",
      [id],
    );
    await pool.query("update orders set received_at = now() + interval '1 hour'");
    reported();
    await loseWorker(pool);
    expect(steps).toMatchObject([{ stage: { name: "parked", seconds: 0 }, ageSeconds: 0 }]);
  }));
