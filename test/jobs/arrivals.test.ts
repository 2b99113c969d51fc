import type pg from "pg";
import { describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import type { Verdict } from "../../src/core/intake.ts";
import { Arrivals } from "../../src/jobs/arrivals.ts";
import type { Arrival } from "../../src/ledger/arrival-rows.ts";
import { countArrivals, insertArrivals, takeMessageIds } from "../../src/ledger/arrivals.ts";
import type { MessageRecord } from "../../src/ledger/message-record.ts";
import type { StoredMessage } from "../../src/ledger/views.ts";
import { listOrders } from "../../src/ledger/views.ts";
import { eventually } from "../support/eventually.ts";
import { anOrder, aRecord } from "../support/orders.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

/** A clock that goes on when a test says; whoever sleeps wakes when his time has come. */
function manualClock() {
  let now = 0;
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { at: now + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  };
  const advance = (ms: number) => {
    now += ms;
    for (const sleeper of [...sleepers]) {
      if (sleeper.at > now) continue;
      sleepers.delete(sleeper);
      sleeper.wake();
    }
  };
  return { clock, advance };
}

interface World {
  readonly pool: pg.Pool;
  readonly arrivals: Arrivals;
  readonly advance: (ms: number) => void;
  readonly verdicts: readonly Verdict[];
  /** Commits messages with these numbers of orders, and notes them. */
  arrive(...numbers: readonly string[]): Promise<void>;
  orders(): Promise<number>;
}

function withArrivals(
  test: (world: World) => Promise<void>,
  mapAgain: (stored: StoredMessage) => MessageRecord = () => {
    throw new Error("nothing is mapped again");
  },
): Promise<void> {
  return withLedger(async ({ pool }) => {
    const { clock, advance } = manualClock();
    const verdicts: Verdict[] = [];
    const arrivals = new Arrivals({
      pool,
      clock,
      logger: silent,
      connector: "lims",
      mapAgain,
      onCommitted: (_connector, committed) => verdicts.push(...committed.map(({ verdict }) => verdict)),
    });
    const commit = async (numbers: readonly string[]): Promise<Arrival[]> => {
      const ids = await takeMessageIds(pool, numbers.length);
      const arriving = numbers.map((number, n) => ({
        messageId: ids[n] ?? 0,
        record: aRecord(1, [anOrder({ placerOrderNumber: number })], { messageControlId: `C-${number}` }),
        reply: undefined,
        isTold: true,
      }));
      await insertArrivals(pool, "lims", arriving);
      return arriving;
    };
    await test({
      pool,
      arrivals,
      advance,
      verdicts,
      arrive: (...numbers) => arrivals.add(commit(numbers)),
      orders: async () => (await listOrders(pool, { limit: 1_000 })).length,
    });
    await arrivals.stop(0);
  });
}

describe("the orders of messages that arrived", () => {
  test("are made once nothing has been committed for a moment", () =>
    withArrivals(async ({ arrive, orders, advance, verdicts }) => {
      await arrive("A-1", "A-2");
      advance(5);
      await arrive("A-3");
      advance(24);
      expect(await orders()).toBe(0);
      await eventually(async () => {
        advance(1);
        return (await orders()) === 3;
      });
      // The ledger shows them a moment before who made them is told.
      await eventually(() => verdicts.length >= 3);
      expect(verdicts).toEqual(["accepted", "accepted", "accepted"]);
    }));

  test("are not made before a commit that is under way is over", () =>
    withArrivals(async ({ arrivals, arrive, orders, advance }) => {
      await arrive("A-1");
      let end: (records: readonly Arrival[]) => void = () => undefined;
      const adding = arrivals.add(
        new Promise((resolve) => {
          end = resolve;
        }),
      );
      for (let n = 0; n < 20; n += 1) advance(10);
      expect(await orders()).toBe(0);
      end([]);
      await adding;
      await eventually(async () => {
        advance(10);
        return (await orders()) === 1;
      });
    }));

  test("are made before more messages are committed when the oldest has waited for two seconds", () =>
    withArrivals(async ({ arrivals, arrive, orders, advance }) => {
      await arrive("A-1");
      await arrivals.makeRoom();
      expect(await orders()).toBe(0);
      advance(2_000);
      await arrivals.makeRoom();
      expect(await orders()).toBe(1);
    }));

  test("are all made when what comes next may be about them", () =>
    withArrivals(async ({ arrivals, arrive, orders }) => {
      for (let n = 0; n < 3; n += 1) {
        await arrive(...Array.from({ length: 200 }, (_, i) => `A-${n}-${i}`));
      }
      // The first of them are kept in memory, the rest is read again.
      await arrivals.settle();
      expect(await orders()).toBe(600);
    }, mappedAgain));

  test("are not forgotten over those that another process left, whatever their numbers", () =>
    withArrivals(async ({ pool, arrivals, arrive, advance, orders }) => {
      const made = (count: number) =>
        eventually(async () => {
          advance(10);
          return (await orders()) === count;
        });
      await arrive("A-0");
      await made(1);
      // By then it has found that nothing more is due, and looks for nothing but its own.
      await systemClock.sleep(100);
      const [low = 0, ...high] = await takeMessageIds(pool, 251);
      const arrival = (messageId: number): Arrival => {
        const record = aRecord(1, [anOrder({ placerOrderNumber: `A-${messageId}` })], {
          messageControlId: `C-A-${messageId}`,
        });
        return { messageId, record, reply: undefined, isTold: true };
      };
      await insertArrivals(pool, "lims", high.map(arrival));
      const own = [arrival(low)];
      await arrivals.add(insertArrivals(pool, "lims", own).then(() => own));
      await made(252);
    }, mappedAgain));

  test("are made later when the ledger is away in between", async () => {
    let isAway = true;
    await withArrivals(
      async ({ pool, arrivals, advance, orders }) => {
        const [messageId = 0] = await takeMessageIds(pool, 1);
        const record = aRecord(1, [], { messageControlId: "C-1" });
        await insertArrivals(pool, "lims", [{ messageId, record, reply: undefined, isTold: true }]);
        arrivals.start();
        await eventually(async () => {
          advance(10);
          return !isAway;
        });
        await eventually(async () => {
          advance(1_000);
          return (await orders()) === 1;
        });
        expect(await countArrivals(pool)).toEqual([]);
      },
      (stored) => {
        if (!isAway) return mappedAgain(stored);
        isAway = false;
        throw new Failure("LEDGER_UNAVAILABLE", "the database restarts");
      },
    );
  });
});

/** The record of a message as {@link withArrivals} makes it, by its control id. */
function mappedAgain({ messageControlId = "" }: StoredMessage): MessageRecord {
  return aRecord(1, [anOrder({ placerOrderNumber: messageControlId.slice(2) })], { messageControlId });
}
