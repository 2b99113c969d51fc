import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import type { Verdict } from "../../src/core/intake.ts";
import { Arrivals } from "../../src/jobs/arrivals.ts";
import type { Arrival } from "../../src/ledger/arrival-rows.ts";
import { countArrivals, insertArrivals, takeMessageIds } from "../../src/ledger/arrivals.ts";
import { listOrders } from "../../src/ledger/views.ts";
import { FakeClock, StandingClock } from "../service/fake-clock.ts";
import { openArrivals } from "../support/arrivals.ts";
import { eventually } from "../support/eventually.ts";
import { withFullDisk } from "../support/full-disk.ts";
import {
  HEADER_BYTES,
  type Journals,
  type LostCommit,
  losingPool,
  withJournals,
} from "../support/journals.ts";
import { machineHas } from "../support/needs.ts";
import { anOrder, aRecord } from "../support/orders.ts";
import { silent } from "../support/with-ledger.ts";

/** What a test has of one process after the other, all with the same journal. */
interface World extends Journals {
  readonly clock: FakeClock;
  readonly verdicts: readonly Verdict[];
  /** What becomes of the next commits of what stands in the journal. */
  lose(commits: LostCommit | undefined): void;
  /** Starts what makes orders, with the journal in front; stopped at the end of the test, if not before. */
  start(clock?: Clock): Promise<Arrivals>;
  /** Messages with one order each. */
  arriving(...numbers: readonly string[]): Promise<Arrival[]>;
  /** Puts down a message that a full disk has no room for. */
  putLong(arrivals: Arrivals): Promise<boolean>;
  /** Commits such messages to the ledger itself, as is done where there is more to decide. */
  insert(arrivals: Arrivals, ...numbers: readonly string[]): Promise<void>;
  /** Control ids of the ledger's messages, oldest first. */
  taken(): Promise<string[]>;
  /** The numbers of the orders that were made, oldest first. */
  orders(): Promise<(string | undefined)[]>;
  /** Lets time pass until so many orders are made. */
  untilMade(count: number): Promise<void>;
}

function withWorld(run: (world: World) => Promise<void>): Promise<void> {
  return withJournals(async (journals) => {
    const { pool } = journals;
    const clock = new FakeClock();
    const verdicts: Verdict[] = [];
    const started: Arrivals[] = [];
    let lost: LostCommit | undefined;
    const losing = losingPool(pool, () => lost);
    const arriving: World["arriving"] = async (...numbers) => {
      const ids = await takeMessageIds(pool, numbers.length);
      return numbers.map((number, n) => ({
        messageId: ids[n] ?? 0,
        record: recordOf(`C-${number}`),
        reply: Buffer.from(`answer to ${number}`),
        isTold: true,
      }));
    };
    const orders: World["orders"] = async () =>
      (await listOrders(pool, { limit: 2_000 }))
        .toReversed()
        .map(({ placerOrderNumber }) => placerOrderNumber);
    await run({
      ...journals,
      clock,
      verdicts,
      lose: (commits) => {
        lost = commits;
      },
      start: async (own = clock) => {
        const arrivals = new Arrivals({
          pool,
          clock: own,
          logger: silent,
          connector: "lims",
          mapAgain: ({ messageControlId = "" }) => recordOf(messageControlId),
          onCommitted: (_connector, committed) => verdicts.push(...committed.map(({ verdict }) => verdict)),
        });
        started.push(arrivals);
        await arrivals.start(await journals.open({ pool: losing }));
        return arrivals;
      },
      arriving,
      putLong: async (arrivals) => {
        const long = await journals.take(1, { raw: "x".repeat(5_000) });
        return withFullDisk(HEADER_BYTES + 1_000, () => arrivals.putDown(long));
      },
      insert: async (arrivals, ...numbers) => {
        const own = await arriving(...numbers);
        await arrivals.emptyJournal();
        await arrivals.add(insertArrivals(pool, "lims", own).then(() => own));
      },
      taken: async () => (await journals.messages()).map((row) => row.message_control_id ?? ""),
      orders,
      untilMade: (count) =>
        eventually(async () => {
          await clock.advance(10);
          return (await orders()).length === count ? true : undefined;
        }).then(() => undefined),
    });
    for (const arrivals of started) await arrivals.stop(0);
  });
}

/** A message with one order, whose number is in the control id. */
const recordOf = (controlId: string) =>
  aRecord(1, [anOrder({ placerOrderNumber: controlId.slice(2) })], { messageControlId: controlId });

describe("messages in the journal", () => {
  test("go into the ledger once nothing has been put down for a moment, and then their orders are made", () =>
    withWorld(async ({ clock, start, arriving, taken, orders, untilMade, verdicts, messages }) => {
      const arrivals = await start();
      await untilMade(0);
      const cameAt = clock.now();
      expect(await arrivals.putDown(await arriving("A-1", "A-2"))).toBe(true);
      await clock.advance(5);
      await arrivals.putDown(await arriving("A-3"));
      await clock.advance(24);
      expect(await taken()).toEqual([]);
      await untilMade(3);
      expect(await taken()).toEqual(["C-A-1", "C-A-2", "C-A-3"]);
      expect(await orders()).toEqual(["A-1", "A-2", "A-3"]);
      // The ledger shows them a moment before who made them is told.
      await eventually(() => verdicts.length >= 3);
      expect(verdicts).toEqual(["accepted", "accepted", "accepted"]);
      const receivedAt = (await messages()).map(({ received_at }) => received_at.getTime());
      expect(receivedAt).toEqual([cameAt, cameAt, cameAt + 5]);
    }));

  test("go into the ledger after two seconds though messages come without end", () =>
    withWorld(async ({ clock, start, arriving, taken, untilMade }) => {
      const arrivals = await start();
      await untilMade(0);
      // One that never comes to an end.
      arrivals.add(new Promise(() => undefined));
      await arrivals.putDown(await arriving("A-1"));
      for (let ms = 0; ms < 1_990; ms += 10) await clock.advance(10);
      expect(await taken()).toEqual([]);
      await untilMade(1);
    }));

  test("go into the ledger before others are put down when the oldest is two seconds old", () =>
    withWorld(async ({ start, arriving, taken, orders }) => {
      const clock = new StandingClock();
      const arrivals = await start(clock);
      await arrivals.putDown(await arriving("A-1"));
      await clock.advance(1_999);
      await arrivals.makeRoom();
      expect(await taken()).toEqual([]);
      await clock.advance(1);
      await arrivals.makeRoom();
      expect(await taken()).toEqual(["C-A-1"]);
      await arrivals.makeRoom();
      expect(await orders()).toEqual(["A-1"]);
    }));

  test("stand in nobody's way while the oldest is young", () =>
    withWorld(async ({ start, arriving, taken, lose }) => {
      const clock = new StandingClock();
      const arrivals = await start(clock);
      lose("refused");
      await arrivals.putDown(await arriving("A-1"));
      await arrivals.makeRoom();
      await clock.advance(2_000);
      await expect(arrivals.makeRoom()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      expect(await taken()).toEqual([]);
    }));

  test("are in the ledger with all their orders when what comes next may be about them", () =>
    withWorld(async ({ start, arriving, orders }) => {
      const arrivals = await start(new StandingClock());
      const numbers = Array.from({ length: 600 }, (_, n) => `A-${n}`);
      for (let n = 0; n < 600; n += 100) await arrivals.putDown(await arriving(...numbers.slice(n, n + 100)));
      await arrivals.settle();
      expect(await orders()).toEqual(numbers);
    }));

  test("are none where there is no journal", () =>
    withWorld(async ({ pool, clock, arriving }) => {
      const arrivals = openArrivals(pool, clock);
      expect(await arrivals.putDown(await arriving("A-1"))).toBe(false);
    }));
});

test("orders that have waited for two seconds are made before younger messages go into the ledger", () =>
  withWorld(async ({ clock, start, arriving, insert, taken, untilMade }) => {
    const arrivals = await start();
    await untilMade(0);
    // One that never comes to an end.
    arrivals.add(new Promise(() => undefined));
    await insert(arrivals, "A-1");
    await clock.advance(1_000);
    await arrivals.putDown(await arriving("A-2"));
    await untilMade(1);
    expect(await taken()).toEqual(["C-A-1"]);
    await untilMade(2);
    expect(await taken()).toEqual(["C-A-1", "C-A-2"]);
  }));

test("orders are made in the order in which messages came, whichever way these went", () =>
  withWorld(async ({ clock, start, arriving, insert, orders, untilMade, taken }) => {
    const arrivals = await start();
    const numbers: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      const group = Array.from({ length: 1 + (n % 3) }, (_, i) => `A-${n}-${i}`);
      numbers.push(...group);
      if (n % 4 === 1) await insert(arrivals, ...group);
      else await arrivals.putDown(await arriving(...group));
      // Some are taken up in between.
      if (n % 5 === 0) await clock.advance(n % 2 === 0 ? 30 : 3);
      if (n % 17 === 0) await arrivals.settle();
    }
    await untilMade(numbers.length);
    expect(await orders()).toEqual(numbers);
    expect(await taken()).toEqual(numbers.map((number) => `C-${number}`));
  }));

describe("messages that an earlier run left in the journal", () => {
  test("are in the ledger when the start is over, and their orders are made soon", () =>
    withWorld(async ({ start, arriving, taken, orders, untilMade }) => {
      const killed = await start(new StandingClock());
      await killed.putDown(await arriving("A-1", "A-2"));
      const next = await start();
      expect(await taken()).toEqual(["C-A-1", "C-A-2"]);
      await next.putDown(await arriving("A-3"));
      await untilMade(3);
      expect(await orders()).toEqual(["A-1", "A-2", "A-3"]);
    }));

  test("are left there when the ledger is away at the start", () =>
    withWorld(async ({ start, arriving, taken, lose }) => {
      const killed = await start(new StandingClock());
      await killed.putDown(await arriving("A-1"));
      lose("refused");
      await expect(start()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      lose(undefined);
      await start();
      expect(await taken()).toEqual(["C-A-1"]);
    }));
});

describe("a stop", () => {
  test("is over when what stood in the journal has its orders", () =>
    withWorld(async ({ start, arriving, orders, open }) => {
      const arrivals = await start(new StandingClock());
      await arrivals.putDown(await arriving("A-1", "A-2"));
      await arrivals.stop(5_000);
      expect(await orders()).toEqual(["A-1", "A-2"]);
      expect((await open()).count).toBe(0);
      // Its files are closed.
      expect(await arrivals.putDown(await arriving("A-3"))).toBe(false);
    }));

  test("leaves to the next start what the ledger doesn't take", () =>
    withWorld(async ({ pool, start, arriving, taken, orders, untilMade, lose }) => {
      const arrivals = await start(new StandingClock());
      lose("refused");
      await arrivals.putDown(await arriving("A-1", "A-2"));
      await arrivals.stop(5_000);
      expect(await taken()).toEqual([]);
      lose(undefined);
      await start();
      expect(await taken()).toEqual(["C-A-1", "C-A-2"]);
      await untilMade(2);
      expect(await orders()).toEqual(["A-1", "A-2"]);
      expect(await countArrivals(pool)).toEqual([]);
    }));
});

describe("when the ledger is away in between", () => {
  test("orders are made once it is back, also of messages that were put down meanwhile", () =>
    withWorld(async ({ clock, start, arriving, taken, orders, untilMade, lose }) => {
      const arrivals = await start();
      lose("refused");
      await arrivals.putDown(await arriving("A-1", "A-2"));
      await clock.advance(30);
      await arrivals.putDown(await arriving("A-3"));
      await expect(arrivals.settle()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      expect(await taken()).toEqual([]);
      lose(undefined);
      await untilMade(3);
      expect(await taken()).toEqual(["C-A-1", "C-A-2", "C-A-3"]);
      expect(await orders()).toEqual(["A-1", "A-2", "A-3"]);
    }));

  test("orders are made soon, each once, of messages whose commit was carried out and not answered", () =>
    withWorld(async ({ pool, clock, start, insert, arriving, taken, orders, untilMade, lose }) => {
      const arrivals = await start();
      // By then it has found that nothing is left from before, and looks for nothing but its own.
      await insert(arrivals, "A-0");
      await untilMade(1);
      lose("unanswered");
      await arrivals.putDown(await arriving("A-1", "A-2"));
      await eventually(async () => {
        await clock.advance(10);
        return (await taken()).length === 3;
      });
      lose(undefined);
      await untilMade(3);
      expect(await orders()).toEqual(["A-0", "A-1", "A-2"]);
      expect(await countArrivals(pool)).toEqual([]);
    }));

  test("orders are made soon of messages that were committed to the ledger itself without an answer", () =>
    withWorld(async ({ pool, clock, start, insert, arriving, orders, untilMade }) => {
      const arrivals = await start();
      await insert(arrivals, "A-0");
      await untilMade(1);
      // It has found that nothing is left from before, and looks for nothing but its own.
      await eventually(() => clock.asleep === 1 && pool.idleCount === pool.totalCount);
      const own = await arriving("A-1");
      const unanswered = insertArrivals(pool, "lims", own).then(() => {
        throw new Failure("LEDGER_UNAVAILABLE", "the answer was lost");
      });
      await expect(arrivals.add(unanswered)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      await untilMade(2);
      expect(await orders()).toEqual(["A-0", "A-1"]);
    }));
});

test.runIf(machineHas("prlimit"))(
  "orders are made soon of messages whose commit was carried out and not answered just when the disk failed",
  () =>
    withWorld(async ({ pool, clock, start, insert, putLong, arriving, taken, orders, untilMade, lose }) => {
      const arrivals = await start();
      await insert(arrivals, "A-0");
      await untilMade(1);
      // It has found that nothing is left from before, and looks for nothing but its own.
      await eventually(() => clock.asleep === 1 && pool.idleCount === pool.totalCount);
      await arrivals.putDown(await arriving("A-1"));
      lose("unanswered");
      await expect(putLong(arrivals)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      expect(await taken()).toEqual(["C-A-0", "C-A-1"]);
      lose(undefined);
      await untilMade(2);
      expect(await orders()).toEqual(["A-0", "A-1"]);
    }),
);
