import type pg from "pg";
import { expect, test } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { EVERY_MS } from "../../src/core/every.ts";
import { type FeederDeps, startFeeder } from "../../src/jobs/feeder.ts";
import { InHand } from "../../src/jobs/submit/in-hand.ts";
import { FIND_DUE } from "../../src/ledger/due.ts";
import { eventually } from "../support/eventually.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

/** Time goes by as fast as it is slept away. */
function leapingClock(): Clock {
  let ms = 0;
  return {
    now: () => ms,
    monotonic: () => ms,
    sleep: async (forMs, signal) => {
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
      ms += forMs;
    },
  };
}

/** A pool that notes what it is asked. */
function noting(pool: pg.Pool, asked: string[]): pg.Pool {
  return new Proxy(pool, {
    get(target, name) {
      const found = Reflect.get(target, name) as unknown;
      if (typeof found !== "function") return found;
      return (...given: readonly unknown[]) => {
        const [query] = given as [string | pg.QueryConfig | undefined];
        if (name === "query" || name === "connect")
          asked.push(typeof query === "object" ? query.text : (query ?? "a transaction"));
        return Reflect.apply(found, target, given);
      };
    },
  });
}

test("a ledger in which nothing is due is asked for nothing but what is due, once a second", () =>
  withLedger(async ({ pool }) => {
    // An order whose time has not come, one that waits for a person, and one that has ended.
    await commit(
      pool,
      [1, 2, 3].map((n) => aRecord(n, [anOrder({ placerOrderNumber: `A-${n}` })])),
    );
    await pool.query(
      `update orders
          set next_at = now() + interval '1 hour',
              state = (array['received', 'parked', 'cancelled'])[id],
              failure_code = case id when 2 then 'SERVICE_REFUSED' end`,
    );
    await pool.query("update outcomes set is_composed = true");
    const clock = leapingClock();
    const asked: string[] = [];
    const given: object[] = [];
    const found: unknown[] = [];
    const deps: FeederDeps = {
      ...{ pool: noting(pool, asked), clock, logger: silent },
      queues: {
        add: async (_queue: string, jobs: object[]) => void given.push(...jobs),
      } as unknown as FeederDeps["queues"],
      worker: { id: 1, isSure: true, isLeader: true, workers: 1, rosterChanges: 1 },
      inHand: new InHand(),
      isServiceReachable: () => true,
      mayTryLab: () => true,
      onDue: (due) => found.push(due),
      settings: {
        ...{
          submitsAtOnce: 4,
          tickMs: EVERY_MS.due,
          pollPauseMs: 1_000,
          longestPauseMs: 86_400_000,
        },
        ...{ connectors: new Set(["lims"]), gatherMsByConnector: new Map() },
      },
    };
    const feeder = startFeeder(deps);
    try {
      await eventually(() => clock.monotonic() > 180_000);
    } finally {
      await feeder.stop();
    }
    const texts = asked.filter((text) => text !== FIND_DUE);
    // Those beside are the look, each five minutes, for what a clock that was ahead has put off.
    expect(texts.filter((text) => !/set (next_at|look_at|heartbeat_at|asked_until) = /.test(text))).toEqual(
      [],
    );
    expect(given).toEqual([]);
    const statements = 6 * (1 + Math.floor(clock.monotonic() / EVERY_MS.farOff));
    expect(texts.length).toBeLessThanOrEqual(statements);
    expect(found.length).toBeLessThanOrEqual(1 + clock.monotonic() / EVERY_MS.due);
  }));
