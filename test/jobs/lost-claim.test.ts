import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { SubmitDeps } from "../../src/jobs/submit/deps.ts";
import { submitBatch } from "../../src/jobs/submit/submit.ts";
import { releaseExpired } from "../../src/ledger/submission.ts";
import { withCutWay } from "../support/cut-way.ts";
import { handOver } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const OWNER = "me";

test("an order whose claim came about unheard, since the connection broke, is given back and doesn't lie for the whole lease", () =>
  withLedger((ledger) =>
    withCutWay(ledger, async (way) => {
      const { pool } = ledger;
      await commit(pool, [aRecord(1, [anOrder({ placerOrderNumber: "A-1" })])]);
      const [due] = await handOver(pool);
      if (due === undefined) throw new Error("nothing is due");
      const abandoned = { fences: new Set<number>(), claims: new Set<number>() };
      // The service and the settings are not asked for before the order is claimed.
      const deps = { pool: way.pool, clock: systemClock, logger: silent, owner: OWNER, abandoned };
      const settings = { leaseMs: 300_000 };
      const cut = way.cutAt("set state = 'submitting'", "server");
      const submitting = submitBatch(
        due.batch,
        { ...deps, settings } as unknown as SubmitDeps,
        AbortSignal.timeout(60_000),
      );
      await expect(submitting).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      await (await cut).isDone;
      const states = async () =>
        (await pool.query<{ state: string; owner: string | null }>("select state, owner from orders")).rows;
      expect(await states()).toEqual([{ state: "submitting", owner: OWNER }]);
      const { fences, claims } = abandoned;
      expect(await releaseExpired(pool, OWNER, { fences: [...fences], claims: [...claims] })).toBe(1);
      expect(await states()).toEqual([{ state: "received", owner: null }]);
    }),
  ));
