import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { Failure } from "../../src/core/failures.ts";
import { acquireSubmitterLock, SUBMITTER_LOCK } from "../../src/ledger/submitter-lock.ts";
import { isAwaited, withCutWay } from "../support/cut-way.ts";
import { eventually } from "../support/eventually.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

/** Takes the lock as a process does; it is released at the end of the test, and what ends it for good is noted. */
async function withLock(
  connection: TestLedger["connection"],
  work: (lock: { readonly isHeld: boolean }, lost: readonly Failure[]) => Promise<void>,
): Promise<void> {
  const lost: Failure[] = [];
  const onLost = (failure: Failure) => lost.push(failure);
  const lock = await acquireSubmitterLock(connection, { clock: systemClock, logger: silent, onLost });
  try {
    await work(lock, lost);
  } finally {
    await lock.release();
  }
}

test("one process submits from a ledger, and another is told so", () =>
  withLedger(({ connection }) =>
    withLock(connection, async () => {
      await expect(withLock(connection, async () => undefined)).rejects.toMatchObject({
        code: "LEDGER_IN_USE",
        message: expect.stringContaining("another daemon submits from this ledger"),
      });
    }),
  ));

test("the lock is taken back from a session of its own of which the server doesn't know that it broke", () =>
  withLedger((ledger) =>
    withCutWay(ledger, (way) =>
      withLock(way.connection, async (lock, lost) => {
        await way.cutIdle();
        await eventually(() => !lock.isHeld, { what: "the loss of the lock" });
        await eventually(() => lock.isHeld, { what: "the lock" });
        expect(lost).toEqual([]);
      }),
    ),
  ));

test("the lock isn't taken back from another process that has taken it meanwhile", () =>
  withLedger((ledger) =>
    withCutWay(ledger, (way) =>
      withLock(way.connection, async (lock, lost) => {
        const other = await ledger.pool.connect();
        const taken = other.query("select pg_advisory_lock($1)", [SUBMITTER_LOCK]);
        await isAwaited(ledger.pool);
        await way.cutIdle();
        await taken;
        await eventually(() => lost.length > 0, { what: "the news that another has it" });
        expect(lost).toMatchObject([{ code: "LEDGER_IN_USE" }]);
        expect(lock.isHeld).toBe(false);
        other.release(true);
      }),
    ),
  ));
