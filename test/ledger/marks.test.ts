import type pg from "pg";
import { describe, expect, test } from "vitest";
import { listOrders } from "../../src/ledger/operator/views.ts";
import { retryOrder } from "../../src/ledger/orders/acts.ts";
import { callsForNow } from "../../src/ledger/orders/calls.ts";
import { openCalls } from "../support/calls.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const orders = (pool: pg.Pool) => listOrders(pool, { limit: 10_000 });

describe("the mark of an order", () => {
  test("is random behind the ledger's own prefix, and readable aloud", () =>
    withLedger(async ({ pool }) => {
      const { rows } = await pool.query<{ mark_prefix: string }>("select mark_prefix from ledger");
      const prefix = rows[0]?.mark_prefix ?? "";
      expect(prefix).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}$/);
      const numbers = Array.from({ length: 500 }, (_, index) => `N-${index}`);
      await commit(
        pool,
        numbers.map((number, index) => aRecord(index + 1, [anOrder({ placerOrderNumber: number })])),
      );
      const marks = (await orders(pool)).map(({ mark }) => mark);
      expect(new Set(marks).size).toBe(500);
      for (const mark of marks) expect(mark).toMatch(new RegExp(`^${prefix}-[0-9A-HJKMNP-TV-Z]{10}$`));
      // Every character of the alphabet is there at every place: none of them is fixed.
      for (let at = 5; at < 15; at += 1) expect(new Set(marks.map((mark) => mark[at])).size).toBe(32);
    }));

  test("is not given again by a ledger that went back to where the order was not there yet", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const [first] = await orders(pool);
      // Ids are given again, as after a restore.
      await pool.query("truncate messages, orders restart identity cascade");
      await commit(pool, [aRecord(1, [anOrder()])]);
      const [second] = await orders(pool);
      expect(second?.id).toBe(first?.id);
      expect(second?.mark).not.toBe(first?.mark);
    }));

  test("is another one once a failed order is done anew, and the former is remembered", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      await pool.query("update orders set state = 'failed', request_id = 5");
      await openCalls(pool, { set: "outcome = 'made', service_id = 5, ended_at = now(), known_ids = '{4}'" });
      const [failed] = await orders(pool);
      if (!failed) throw new Error("no order");
      expect(await retryOrder(pool, failed, { actor: "test" })).toBe("done");
      const [anew] = await orders(pool);
      expect(anew).toMatchObject({ state: "received", requestId: undefined });
      expect(anew?.mark).not.toBe(failed.mark);
      expect(anew && callsForNow(anew)).toEqual([]);
      expect(anew?.calls).toMatchObject([{ mark: failed.mark, serviceId: 5 }]);
    }));
});
