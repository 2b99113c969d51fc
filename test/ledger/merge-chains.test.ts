import type pg from "pg";
import { describe, expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { findLaneHolders } from "../../src/ledger/orders/claiming.ts";
import { takeDue } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

/** Merges of one message, each of one identifier into another. */
async function commitMerges(pool: pg.Pool, pairs: readonly (readonly [string, string])[]): Promise<number[]> {
  const merges = pairs.map(([prior, code]) =>
    anOrder({
      code,
      operation: "MERGE",
      placerOrderNumber: undefined,
      priorSubjectCode: phi(prior),
      containers: [],
    }),
  );
  return commit(pool, [aRecord(1, merges)]);
}

/** Takes all that may be, and ends it. */
async function takeAndEndAll(pool: pg.Pool): Promise<number[]> {
  const orders = await takeDue(pool);
  await changeOrders(
    pool,
    orders.map((order) => ({ ...order, to: "completed", isReleased: true })),
  );
  return orders.map(({ orderId }) => orderId);
}

describe("a chain of merges", () => {
  test("is taken one after the other, although each is in a lane of its own", () =>
    withLedger(async ({ pool }) => {
      const [first, second, third, apart] = await commitMerges(pool, [
        ["A", "B"],
        ["B", "C"],
        ["C", "D"],
        ["X", "Y"],
      ]);
      const takeAndEnd = () => takeAndEndAll(pool);
      const held = await findLaneHolders(pool, [first, second, third, apart] as number[], false);
      const holders = [...held].map(([id, { orderId }]) => [id, orderId]);
      expect(Object.fromEntries(holders)).toEqual({
        [second as number]: `o${first}`,
        [third as number]: `o${second}`,
      });
      expect(await takeAndEnd()).toEqual([first, apart]);
      expect(await takeAndEnd()).toEqual([second]);
      expect(await takeAndEnd()).toEqual([third]);
    }));

  test("that goes round in a circle is worked off all the same", () =>
    withLedger(async ({ pool }) => {
      const [first, second, third, fourth] = await commitMerges(pool, [
        ["A", "B"],
        ["B", "A"],
        ["C", "A"],
        ["A", "B"],
      ]);
      const rounds = [await takeAndEndAll(pool), await takeAndEndAll(pool), await takeAndEndAll(pool)];
      expect(rounds).toEqual([[first], [second], [third]]);
      expect(await takeAndEndAll(pool)).toEqual([fourth]);
    }));

  test("goes on past a merge that waits for a person, unless parked orders hold lanes", () =>
    withLedger(async ({ pool }) => {
      const [first, second] = await commitMerges(pool, [
        ["A", "B"],
        ["B", "C"],
      ]);
      const failure = { code: "SERVICE_REFUSED", text: "" } as const;
      await changeOrders(pool, [{ orderId: first as number, to: "parked", failure }]);
      expect(await takeDue(pool, { doesParkedBlock: true })).toEqual([]);
      expect((await takeDue(pool)).map(({ orderId }) => orderId)).toEqual([second]);
    }));
});
