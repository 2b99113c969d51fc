import type pg from "pg";
import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { type FeederDeps, startFeeder } from "../../src/jobs/feeder.ts";
import { InHand } from "../../src/jobs/submit/in-hand.ts";
import { clampSchedule } from "../../src/ledger/due.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { findServicePause } from "../../src/ledger/workers/service-pause.ts";
import { dueCancels } from "../support/calls.ts";
import { eventually } from "../support/eventually.ts";
import { aCancel } from "../support/order-control.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { queuesInMemory } from "../support/queues-in-memory.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

const HOUR = 3_600_000;

/** Two orders, due in half an hour and in ten years, in this state. */
async function twoOrders({ pool }: TestLedger, state: string): Promise<void> {
  await commit(pool, [
    aRecord(1, [anOrder({ placerOrderNumber: "A-1", code: "S-1" })]),
    aRecord(2, [anOrder({ placerOrderNumber: "A-2", code: "S-2" })]),
  ]);
  await pool.query(
    `update orders
        set state = $1,
            request_id = case when $1 = 'submitted' then 7 + id end,
            next_at = now() + case placer_order_number when 'A-1' then interval '30 minutes' else interval '10 years' end`,
    [state],
  );
}
const dueNumbers = async ({ pool }: TestLedger) =>
  (
    await pool.query<{ number: string }>(
      "select placer_order_number as number from orders where next_at <= now() order by 1",
    )
  ).rows.map(({ number }) => number);

test.each(["received", "submitted"])(
  "a clock that was years ahead has left an order that is %s for years: it is due now, and no other",
  (state) =>
    withLedger(async (ledger) => {
      await twoOrders(ledger, state);
      expect(await clampSchedule(ledger.pool, 2 * HOUR)).toBe(1);
      expect([await dueNumbers(ledger), await clampSchedule(ledger.pool, 2 * HOUR)]).toEqual([["A-2"], 0]);
    }),
);

test("a worker that died while the clock was ahead doesn't count as alive for years", () =>
  withLedger(async ({ pool }) => {
    await pool.query(
      `insert into workers (name, host, pid, version, roles, connectors, heartbeat_at)
       values ('dead', 'there', 1, '1', '{worker}', '{}', now() + interval '3 years')`,
    );
    expect(await clampSchedule(pool, 2 * HOUR)).toBe(1);
    const { rows } = await pool.query("select 1 from workers where heartbeat_at <= now()");
    expect(rows).toHaveLength(1);
  }));

test("so it is with a result that the lab doesn't have yet", () =>
  withLedger(async ({ pool }) => {
    await pool.query(
      "insert into deliveries (connector, file_name, bytes, next_at) values ('lims', 'a.hl7', 'x', now() + interval '3 years')",
    );
    expect(await clampSchedule(pool, 2 * HOUR)).toBe(1);
    const { rows } = await pool.query("select 1 from deliveries where next_at <= now()");
    expect(rows).toHaveLength(1);
  }));

test("so it is with a pause of all calls", () =>
  withLedger(async ({ pool }) => {
    await pool.query("update service_pause set asked_until = now() + interval '3 years'");
    expect(await findServicePause(pool)).toBeDefined();
    expect(await clampSchedule(pool, 2 * HOUR)).toBe(1);
    expect([await findServicePause(pool), await clampSchedule(pool, 2 * HOUR)]).toEqual([undefined, 0]);
  }));

test("so it is with the call to cancel an order", () =>
  withLedger(async ({ pool }) => {
    const [orderId] = await commit(pool, [aRecord(1, [anOrder()])]);
    const submitted = { to: "submitted", request: { surface: "request", requestId: 5 } } as const;
    await changeOrders(pool, [{ orderId: orderId as number, from: ["received"], ...submitted }]);
    await commit(pool, [aCancel(2, [{ placerOrderNumber: "A-1" }])]);
    await pool.query("update calls set look_at = now() + interval '3 years'");
    expect(await dueCancels(pool)).toEqual([]);
    expect(await clampSchedule(pool, 2 * HOUR)).toBe(1);
    expect(await dueCancels(pool)).toMatchObject([{ orderId }]);
  }));

/** A feeder of a worker that leads, while the service is away. */
const feederDeps = (
  pool: pg.Pool,
  queues: FeederDeps["queues"],
  connectors: readonly string[],
): FeederDeps => ({
  ...{ pool, queues, clock: systemClock, logger: silent },
  worker: { id: 1, isSure: true, isLeader: true, workers: 1, rosterChanges: 1 },
  inHand: new InHand(),
  isServiceReachable: () => false,
  mayTryLab: () => false,
  onDue: () => {},
  settings: {
    ...{ submitsAtOnce: 4, tickMs: 20, pollPauseMs: 1_000, longestPauseMs: HOUR },
    connectors: new Set(connectors),
    gatherMsByConnector: new Map([["lims", 60_000]]),
  },
});

test("the feeder looks for it by itself", () =>
  withLedger(async (ledger) => {
    await twoOrders(ledger, "submitted");
    const queues = await queuesInMemory()([]);
    const feeder = startFeeder(feederDeps(ledger.pool, queues, []));
    try {
      await eventually(async () => (await dueNumbers(ledger)).length > 0);
      expect(await dueNumbers(ledger)).toEqual(["A-2"]);
    } finally {
      await feeder.stop();
      await queues.close(500);
    }
  }));

test("what the lab is to be told doesn't wait until a clock that has gone back is there again", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    await pool.query("update outcomes set occurred_at = now() + interval '1 hour'");
    const given: unknown[] = [];
    const queues = await queuesInMemory()([]);
    const add = async (queue: string, jobs: readonly { data: unknown }[]) => {
      if (queue === "deliver") given.push(...jobs.map(({ data }) => data));
    };
    const feeder = startFeeder(feederDeps(pool, { ...queues, add }, ["lims"]));
    try {
      await eventually(() => given.length > 0);
      expect(given[0]).toEqual({ connector: "lims" });
    } finally {
      await feeder.stop();
      await queues.close(500);
    }
  }));

test("a new leader has orders taken though every wake-up of the one before is still held by workers that died", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    const queues = await queuesInMemory()([]);
    let woken = 0;
    await queues.work("submit", 100, () => {
      woken += 1;
      return new Promise(() => undefined);
    });
    const deps = { ...feederDeps(pool, queues, []), isServiceReachable: () => true };
    const former = startFeeder(deps);
    await eventually(() => woken === deps.settings.submitsAtOnce);
    await former.stop();
    const feeder = startFeeder({ ...deps, worker: { ...deps.worker, id: 2 } });
    try {
      await eventually(() => woken > deps.settings.submitsAtOnce);
    } finally {
      await feeder.stop();
      await queues.close(0);
    }
  }));
