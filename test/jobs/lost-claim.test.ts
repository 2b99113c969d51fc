import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import { phi } from "../../src/core/phi.ts";
import type { SubmitDeps } from "../../src/jobs/submit/deps.ts";
import { submitBatch } from "../../src/jobs/submit/submit.ts";
import { withCutWay } from "../support/cut-way.ts";
import { handOver, loseWorker } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

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

test("a batch is over only when none of its orders is worked on any more, also when one of them can't be given back", () =>
  withLedger(async ({ pool }) => {
    const subjects = ["S-A", "S-B"].map((code) => ({ code: phi(code) }));
    const orders = subjects.map((subject, n) => anOrder({ placerOrderNumber: `A-${n}`, subject }));
    await commit(pool, [aRecord(1, orders)]);
    const [due] = await handOver(pool);
    if (due === undefined) throw new Error("nothing is due");
    const gate = Promise.withResolvers<void>();
    const gaveUp = Promise.withResolvers<void>();
    let asked = 0;
    const deps = {
      ...{ pool, clock: systemClock, logger: silent, worker: { id: OWNER, isSure: true }, random: () => 0 },
      abandoned: { fences: new Set<number>(), claims: new Set<number>() },
      // The first order fails at once, and the ledger can't be told; the second one is still at work.
      requireNewestKnown: async () => {
        asked += 1;
        if (asked > 1) await gate.promise;
        throw new Failure("SERVICE_UNREACHABLE", "away");
      },
      writer: {
        change: async () => {
          gaveUp.resolve();
          throw new Failure("LEDGER_UNAVAILABLE", "away");
        },
      },
      settings: { backoff: { firstMs: 1, maxMs: 1 }, labelOfTwoSubjects: "allow" },
    } as unknown as SubmitDeps;
    let isOver = false;
    const submitting = submitBatch(due.batch, deps, AbortSignal.timeout(60_000)).finally(() => {
      isOver = true;
    });
    submitting.catch(() => undefined);
    await gaveUp.promise;
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    gate.resolve();
    await expect(submitting).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    expect(deps.abandoned.fences.size).toBe(2);
  }));
