import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import { noTracer } from "../../src/core/order-trace.ts";
import { phi } from "../../src/core/phi.ts";
import { startFeeder } from "../../src/jobs/feeder.ts";
import { openQueues } from "../../src/jobs/queues.ts";
import type { SubmitDeps } from "../../src/jobs/submit/deps.ts";
import { submitBatch } from "../../src/jobs/submit/submit.ts";
import { openPool } from "../../src/ledger/database.ts";
import { withCutWay } from "../support/cut-way.ts";
import { eventually } from "../support/eventually.ts";
import { handOver, loseWorker } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { SUBMIT_SETTINGS } from "../support/submit.ts";
import { silent, withLedger } from "../support/with-ledger.ts";
import { standIn } from "../support/worker.ts";

const OWNER = 1;

test("an order whose claim came about unheard, since the connection broke, is given back and doesn't lie as long as its worker lives", () =>
  withLedger((ledger) =>
    withCutWay(ledger, async (way) => {
      const { pool } = ledger;
      await commit(pool, [aRecord(1, [anOrder({ placerOrderNumber: "A-1" })])]);
      const [due] = await handOver(pool);
      if (due === undefined) throw new Error("nothing is due");
      const abandoned = { fences: new Set<number>(), claims: new Set<number>() };
      // The service and the settings are not asked for before the order is claimed.
      const deps = {
        pool: way.pool,
        clock: systemClock,
        logger: silent,
        worker: { id: OWNER, isSure: true },
        abandoned,
      };
      const cut = way.cutAt("set state = 'submitting'", "server");
      const submitting = submitBatch(due.batch, deps as unknown as SubmitDeps, AbortSignal.timeout(60_000));
      await expect(submitting).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      await (await cut).isDone;
      const states = async () =>
        (await pool.query<{ state: string; owner: number | null }>("select state, owner from orders")).rows;
      expect(await states()).toEqual([{ state: "submitting", owner: OWNER }]);
      const { fences, claims } = abandoned;
      expect(await loseWorker(pool, OWNER, { fences: [...fences], claims: [...claims] })).toBe(1);
      expect(await states()).toEqual([{ state: "received", owner: null }]);
    }),
  ));

test("a claim that comes about only after its worker gave it up is given back all the same", () =>
  withLedger((ledger) =>
    withCutWay(ledger, async (way) => {
      const { pool, connection } = ledger;
      const me = await standIn(pool);
      await commit(pool, [aRecord(1, [anOrder({ placerOrderNumber: "A-1" })])]);
      const [due] = await handOver(pool);
      if (due === undefined) throw new Error("nothing is due");
      const abandoned = { fences: new Set<number>(), claims: new Set<number>() };
      const common = { clock: systemClock, logger: silent, abandoned };
      const worker = { id: me.id, isSure: true, isLeader: false, workers: 1 };
      const holder = await pool.connect();
      await holder.query("begin");
      await holder.query("select 1 from orders for update");
      const cut = way.cutAt("set state = 'submitting'", "server");
      const deps = { ...common, pool: way.pool, worker } as unknown as SubmitDeps;
      await expect(submitBatch(due.batch, deps, AbortSignal.timeout(60_000))).rejects.toMatchObject({
        code: "LEDGER_UNAVAILABLE",
      });
      const orphan = await cut;
      const queuePool = openPool({ connection, schema: "bullmq", max: 4, applicationName: "test" }, silent);
      const queues = await openQueues({ kind: "postgres", pool: queuePool }, [], silent);
      const feeder = startFeeder({
        ...{ ...common, pool, queues, worker, isServiceReachable: () => false, mayTryLab: () => false },
        onDue: () => {},
        settings: {
          ...{ window: 10, batchSize: () => 10, tickMs: 20, pollPauseMs: 1_000, longestPauseMs: 1_000 },
          ...{ connectors: new Set<string>(), gatherMsByConnector: new Map(), doesParkedBlock: false },
        },
      });
      try {
        // The feeder has looked for the claim, which has not come about yet.
        await systemClock.sleep(1_000);
        await holder.query("commit");
        await orphan.isDone;
        const order = async () => (await pool.query("select state, owner from orders")).rows[0];
        expect(await order()).toEqual({ state: "submitting", owner: me.id });
        await eventually(async () => (await order()).owner === null, { withinMs: 6_000 });
        expect(await order()).toEqual({ state: "received", owner: null });
      } finally {
        holder.release();
        await feeder.stop();
        await queues.close(500);
        await queuePool.end();
        await me.leave();
      }
    }),
  ));

test("a batch is over only when none of its orders is worked on any more, also when one of them can't be given back", () =>
  withLedger(async ({ pool }) => {
    const subjects = ["S-A", "S-B"].map((code) => ({ code: phi(code) }));
    const orders = subjects.map((subject, n) => anOrder({ placerOrderNumber: `A-${n}`, subject }));
    await commit(pool, [aRecord(1, orders)]);
    const [due] = await handOver(pool);
    if (due === undefined) throw new Error("nothing is due");
    const gate = Promise.withResolvers<void>();
    const gaveUp = Promise.withResolvers<void>();
    const isAtWork = Promise.withResolvers<void>();
    let asked = 0;
    const deps = {
      ...{ pool, clock: systemClock, logger: silent, worker: { id: OWNER, isSure: true }, random: () => 0 },
      tracer: noTracer,
      abandoned: { fences: new Set<number>(), claims: new Set<number>() },
      // The first order fails at once, and the ledger can't be told; the second one is still at work.
      requireNewestKnown: async () => {
        asked += 1;
        if (asked > 1) {
          isAtWork.resolve();
          await gate.promise;
        }
        throw new Failure("SERVICE_UNREACHABLE", "away");
      },
      writer: {
        change: async () => {
          gaveUp.resolve();
          throw new Failure("LEDGER_UNAVAILABLE", "away");
        },
      },
      settings: { ...SUBMIT_SETTINGS, labelOfTwoSubjects: "allow" },
    } as unknown as SubmitDeps;
    let isOver = false;
    const submitting = submitBatch(due.batch, deps, AbortSignal.timeout(60_000)).finally(() => {
      isOver = true;
    });
    submitting.catch(() => undefined);
    await Promise.all([gaveUp.promise, isAtWork.promise]);
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    gate.resolve();
    await expect(submitting).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    expect(deps.abandoned.fences.size).toBe(2);
  }));
