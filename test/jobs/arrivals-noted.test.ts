import type pg from "pg";
import { expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { Arrival } from "../../src/ledger/arrival-rows.ts";
import { insertArrivals, takeMessageIds } from "../../src/ledger/arrivals.ts";
import { listOrders } from "../../src/ledger/views.ts";
import { FakeClock } from "../service/fake-clock.ts";
import { openArrivals } from "../support/arrivals.ts";
import { eventually } from "../support/eventually.ts";
import { aMessage, anOrder, aRecord } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

/** Commits a message with one order of this number. */
async function commit(pool: pg.Pool, number: string, bytes = 100): Promise<Arrival[]> {
  const [messageId = 0] = await takeMessageIds(pool, 1);
  const record = aRecord(1, [anOrder({ placerOrderNumber: number })], {
    messageControlId: `C-${number}`,
    message: { ...aMessage(1), raw: phi(Buffer.alloc(bytes, "x")) },
  });
  const arrivals = [{ messageId, record, reply: undefined, isTold: true }];
  await insertArrivals(pool, "lims", arrivals);
  return arrivals;
}

const countOrders = async (pool: pg.Pool) => (await listOrders(pool, { limit: 100 })).length;

/** A pool whose first search for messages that are due has found what it has, and says so when it is let go. */
function holdSearch(pool: pg.Pool) {
  const held = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const slow = (client: pg.PoolClient) =>
    new Proxy(client, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== "function") return value;
        if (key !== "query") return value.bind(target);
        return async (...words: unknown[]) => {
          const result: unknown = await Reflect.apply(value, target, words);
          if (!`${words[0]}`.includes("from arrivals")) return result;
          held.resolve();
          await free.promise;
          return result;
        };
      },
    });
  const slowPool = new Proxy(pool, {
    get: (target, key) => {
      if (key === "connect") return async () => slow(await target.connect());
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { pool: slowPool, held: held.promise, letGo: free.resolve };
}

test("orders are made soon of messages that come just when it was found that none are due", () =>
  withLedger(async ({ pool }) => {
    const search = holdSearch(pool);
    const clock = new FakeClock();
    const arrivals = openArrivals(search.pool, clock);
    await arrivals.start();
    await search.held;
    await arrivals.add(commit(pool, "A-1"));
    search.letGo();
    await eventually(async () => {
      await clock.advance(10);
      return (await countOrders(pool)) === 1;
    });
    await arrivals.stop(0);
  }));

test("orders are made without mapping anew, however much was mapped and made before", () =>
  withLedger(async ({ pool }) => {
    const arrivals = openArrivals(pool, new FakeClock());
    for (let n = 1; n <= 4; n += 1) {
      await arrivals.add(commit(pool, `A-${n}`, 6_000_000));
      await arrivals.settle();
      expect(await countOrders(pool)).toBe(n);
    }
    await arrivals.stop(0);
  }));
