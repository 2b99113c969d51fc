import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { EVERY_MS } from "../../src/core/every.ts";
import { Failure } from "../../src/core/failures.ts";
import { noTracer } from "../../src/core/order-step.ts";
import { phi } from "../../src/core/phi.ts";
import { startFeeder } from "../../src/jobs/feeder.ts";
import { openQueues } from "../../src/jobs/queues.ts";
import type { SubmitDeps } from "../../src/jobs/submit/deps.ts";
import { InHand } from "../../src/jobs/submit/in-hand.ts";
import { submitDue } from "../../src/jobs/submit/submit.ts";
import { openPool } from "../../src/ledger/database.ts";
import { holdFirstCommit, withCutWay } from "../support/cut-way.ts";
import { eventually } from "../support/eventually.ts";
import { loseWorker } from "../support/hand-over.ts";
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
      const inHand = new InHand();
      // The service and the settings are not asked for before the order is claimed.
      const deps = {
        pool: way.pool,
        clock: systemClock,
        logger: silent,
        worker: { id: OWNER, isSure: true },
        inHand,
        settings: SUBMIT_SETTINGS,
      };
      const cut = way.cutAt("commit\0", "server", "set state = 'submitting'");
      const submitting = submitDue(10, deps as unknown as SubmitDeps, AbortSignal.timeout(60_000));
      await expect(submitting).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      await (await cut).isDone;
      const states = async () =>
        (await pool.query<{ state: string; owner: number | null }>("select state, owner from orders")).rows;
      expect(await states()).toEqual([{ state: "submitting", owner: OWNER }]);
      expect(await inHand.sweep((fences) => loseWorker(pool, OWNER, fences))).toBe(1);
      expect(await states()).toEqual([{ state: "received", owner: null }]);
    }),
  ));

test("a claim that comes about only after its worker gave it up is given back all the same", () =>
  withLedger((ledger) =>
    withCutWay(ledger, async (way) => {
      const { pool, connection } = ledger;
      const me = await standIn(pool);
      await commit(pool, [aRecord(1, [anOrder({ placerOrderNumber: "A-1" })])]);
      const inHand = new InHand();
      const common = { clock: systemClock, logger: silent, inHand };
      const worker = { id: me.id, isSure: true, isLeader: false, workers: 1, rosterChanges: 1 };
      const held = await holdFirstCommit(pool, "orders");
      const cut = way.cutAt("commit\0", "server", "set state = 'submitting'");
      const deps = { ...common, pool: way.pool, worker, settings: SUBMIT_SETTINGS } as unknown as SubmitDeps;
      await expect(submitDue(10, deps, AbortSignal.timeout(60_000))).rejects.toMatchObject({
        code: "LEDGER_UNAVAILABLE",
      });
      const orphan = await cut;
      await held.isHeld();
      const queuePool = openPool({ connection, schema: "bullmq", max: 4, applicationName: "test" }, silent);
      const queues = await openQueues({ kind: "postgres", pool: queuePool }, [], silent);
      let looks = 0;
      let nowMs = 0;
      const feeder = startFeeder({
        ...{ ...common, pool, queues, worker, isServiceReachable: () => false, mayTryLab: () => false },
        clock: { ...systemClock, monotonic: () => nowMs },
        onDue: () => {
          looks += 1;
        },
        settings: {
          ...{ submitsAtOnce: 4, tickMs: 20, pollPauseMs: 1_000, longestPauseMs: 1_000 },
          ...{ connectors: new Set<string>(), gatherMsByConnector: new Map() },
        },
      });
      try {
        // The feeder has looked for the claim, which has not come about yet.
        await eventually(() => looks > 1);
        await held.letGo();
        await orphan.isDone;
        const order = async () => (await pool.query("select state, owner from orders")).rows[0];
        expect(await order()).toEqual({ state: "submitting", owner: me.id });
        nowMs += EVERY_MS.lostJobs;
        await eventually(async () => (await order()).owner === null);
        expect(await order()).toEqual({ state: "received", owner: null });
      } finally {
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
    const gate = Promise.withResolvers<void>();
    const gaveUp = Promise.withResolvers<void>();
    const isAtWork = Promise.withResolvers<void>();
    let asked = 0;
    const deps = {
      ...{ pool, clock: systemClock, logger: silent, worker: { id: OWNER, isSure: true }, random: () => 0 },
      tracer: noTracer,
      inHand: new InHand(),
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
    const submitting = submitDue(10, deps, AbortSignal.timeout(60_000)).finally(() => {
      isOver = true;
    });
    submitting.catch(() => undefined);
    await Promise.all([gaveUp.promise, isAtWork.promise]);
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    gate.resolve();
    await expect(submitting).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    expect(await deps.inHand.sweep(async (fences) => fences)).toEqual([]);
  }));
