import type pg from "pg";
import { describe, expect, test } from "vitest";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { isOfCopy, MAY_BE_FORGOTTEN } from "../../../src/ledger/orders/forgotten-calls.ts";
import { findOtherCalls } from "../../../src/ledger/orders/looks.ts";
import {
  enterRestored,
  findRestored,
  isUncompared,
  liftRestored,
} from "../../../src/ledger/restored/restore.ts";
import { A_REQUEST, claimNext, recordCall } from "../../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

const AN_HOUR = "interval '1 hour'";

/** Has all that the ledger knows until now be written by a host whose clock is that far ahead of the one it is restored on. */
async function writtenAhead(pool: pg.Pool, by = AN_HOUR): Promise<void> {
  await pool.query(`update orders set received_at = received_at + ${by}`);
  await pool.query(`update calls set at = at + ${by}, since = since + ${by}, left_by = left_by + ${by}`);
}

const putBack = (pool: pg.Pool, after = 0) =>
  enterRestored(pool, { text: "put back by the test", epoch: 0, restores: 0, after });

const mayBeForgotten = async (pool: pg.Pool, id: number) =>
  (await pool.query(`select from orders o where o.id = $1 and ${MAY_BE_FORGOTTEN}`, [id])).rowCount === 1;

let messages = 0;

/** Takes an order in, of a subject of its own unless that is given; gives its id. */
async function take(pool: pg.Pool, operation: "STORE" | "RETRIEVAL", code?: string): Promise<number> {
  messages += 1;
  const number = `A-${messages}`;
  const containers = [{ label: number, description: "" }];
  const order = anOrder({ placerOrderNumber: number, operation, code: code ?? number, containers });
  return (await commit(pool, [aRecord(messages, [order])]))[0] as number;
}

/** Takes the next order in hand, writes a call for it down, and ends that where it is said how. */
async function call(pool: pg.Pool, end?: "nothing" | "not_sent"): Promise<number> {
  const { id: orderId, fence } = await claimNext(pool);
  await recordCall(pool, { ...A_REQUEST, orderId, fence });
  const { rows } = await pool.query("select max(id) as id from calls");
  if (end !== undefined) await changeOrders(pool, [{ orderId, to: "received", nextInMs: 0, call: { end } }]);
  return rows[0]?.id;
}

describe("whichever host's clock is ahead", () => {
  test.each([
    ["the former one's", AN_HOUR],
    ["that of the one it was restored on", "interval '-1 hour'"],
  ])("an order is of the copy, or came since: %s", (_words, by) =>
    withLedger(async ({ pool }) => {
      const before = await take(pool, "STORE");
      expect(await isOfCopy(pool, before)).toBe(false);
      await writtenAhead(pool, by);
      await putBack(pool);
      const since = await take(pool, "STORE");
      // Such as by a clock that is set right.
      await pool.query(`update orders set received_at = received_at - ${AN_HOUR} where id = $1`, [since]);
      expect(await isOfCopy(pool, before)).toBe(true);
      expect(await isOfCopy(pool, since)).toBe(false);
    }),
  );

  test("nothing is handed over before what was presumed on that host is looked for, when the ledger is put back once more", () =>
    withLedger(async ({ pool }) => {
      await take(pool, "STORE");
      await putBack(pool);
      await writtenAhead(pool);
      await putBack(pool, 1);
      expect(await isUncompared(pool)).toBe(true);
      expect(await findRestored(pool)).toMatchObject({ open: 1, uncompared: 1 });
    }));

  test("what is presumed after the restore holds up no other lane", () =>
    withLedger(async ({ pool }) => {
      const id = await take(pool, "STORE");
      await putBack(pool);
      expect(await isUncompared(pool)).toBe(true);
      await changeOrders(pool, [{ orderId: id, to: "received", nextInMs: 0, call: { end: "nothing" } }]);
      expect(await isUncompared(pool)).toBe(false);
      await changeOrders(pool, [{ orderId: id, to: "submitting", isPresumed: true }]);
      expect(await isUncompared(pool)).toBe(false);
    }));

  test("a call from before the restore is none since, so that the order is looked for once more", () =>
    withLedger(async ({ pool }) => {
      const id = await take(pool, "STORE");
      await call(pool);
      await writtenAhead(pool);
      await putBack(pool);
      await changeOrders(pool, [{ orderId: id, to: "received", nextInMs: 0, call: { end: "nothing" } }]);
      expect(await mayBeForgotten(pool, id)).toBe(true);
      await changeOrders(pool, [{ orderId: id, to: "submitting", isPresumed: true }]);
      expect(await mayBeForgotten(pool, id)).toBe(false);
    }));

  test("what a call from before the restore may have made may be of another order", () =>
    withLedger(async ({ pool }) => {
      const id = await take(pool, "RETRIEVAL", "S-1");
      const open = await call(pool);
      await writtenAhead(pool);
      expect((await findOtherCalls(pool, id, open)).isUnknown).toBe(false);
      await putBack(pool);
      expect((await findOtherCalls(pool, id, open)).isUnknown).toBe(true);
      await liftRestored(pool, { actor: "test", reason: "all was looked at" });
      expect((await findOtherCalls(pool, id, open)).isUnknown).toBe(false);
    }));
});

describe("what a call may have made may be of another order of the lane", () => {
  test("while that one has an open call, and no longer", () =>
    withLedger(async ({ pool }) => {
      const first = await take(pool, "RETRIEVAL", "S-1");
      const open = await call(pool);
      const second = await take(pool, "RETRIEVAL", "S-1");
      expect((await findOtherCalls(pool, first, open)).isUnknown).toBe(false);
      await pool.query(
        `insert into calls (order_id, kind, surface, mark) select id, 'request', 'request', mark from orders where id = $1`,
        [second],
      );
      for (const state of ["submitting", "parked", "discarded"]) {
        await pool.query(
          "update orders set state = $2, failure_code = 'SUBMIT_UNCERTAIN', failure_text = '' where id = $1",
          [second, state],
        );
        expect([state, (await findOtherCalls(pool, first, open)).isUnknown]).toEqual([state, true]);
      }
      await pool.query("update calls set outcome = 'nothing', ended_at = now() where order_id = $1", [
        second,
      ]);
      expect(await findOtherCalls(pool, first, open)).toEqual({ isUnknown: false, isDoubled: false });
      // What a gateway delivers twice makes a request that no order has.
      await pool.query("update calls set outcome = 'made' where order_id = $1", [second]);
      expect(await findOtherCalls(pool, first, open)).toEqual({ isUnknown: false, isDoubled: true });
    }));

  test("after a restore where the first call for the same was before it, and not where it came since", () =>
    withLedger(async ({ pool }) => {
      const id = await take(pool, "RETRIEVAL", "S-1");
      await call(pool, "nothing");
      await putBack(pool);
      await changeOrders(pool, [{ orderId: id, to: "received", nextInMs: 0, call: { end: "nothing" } }]);
      expect((await findOtherCalls(pool, id, await call(pool))).isUnknown).toBe(true);
      const since = await take(pool, "RETRIEVAL", "S-2");
      expect((await findOtherCalls(pool, since, await call(pool))).isUnknown).toBe(false);
    }));
});
