import type pg from "pg";
import { describe, expect, test } from "vitest";
import { findDue } from "../../src/ledger/due.ts";
import {
  DUE_FACILITIES,
  DUE_TRACKED,
  findDueTracked,
  postponeTracked,
  postponeUnread,
} from "../../src/ledger/orders/tracking.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const INTERVAL_MS = 900_000;

/** So many orders that the service has, all due now, the last ones at another facility. */
async function follow(pool: pg.Pool, count: number): Promise<number[]> {
  const [id] = await commit(pool, [aRecord(1, [anOrder({ code: "S" })])]);
  await pool.query(
    `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                         sources, content_digest)
     select message_id, n + 1, connector, operation, facility_code, case when n < $2::int - 2 then 12 else 13 end,
            'S' || n, '{}', '{}', ''
       from orders, generate_series(1, $2::int - 1) n
      where id = $1`,
    [id, count],
  );
  await pool.query(
    `update orders
        set state = 'submitted', request_id = 1000 + id,
            remote_status = 'PENDING', next_at = now()`,
  );
  const { rows } = await pool.query<{ id: number }>("select id from orders order by id");
  return rows.map((row) => row.id);
}

const dueTimes = async (pool: pg.Pool) =>
  (
    await pool.query<{ ms: number; ahead: number }>(
      `select (extract(epoch from next_at) * 1000)::float8 as ms,
              (extract(epoch from next_at - now()) * 1000)::float8 as ahead
         from orders
        order by id`,
    )
  ).rows;

describe("orders without news", () => {
  test("are due again at moments that all orders of an interval share, half to one and a half of it ahead", () =>
    withLedger(async ({ pool }) => {
      const ids = await follow(pool, 6);
      for (const orderId of ids) await postponeTracked(pool, [{ orderId, intervalMs: INTERVAL_MS }]);
      for (const { ms, ahead } of await dueTimes(pool)) {
        expect(ms % INTERVAL_MS).toBe(0);
        expect(ahead).toBeGreaterThan(INTERVAL_MS / 2 - 60_000);
        expect(ahead).toBeLessThanOrEqual(INTERVAL_MS * 1.5);
      }
    }));

  test("are due after those that could not be read, whatever their interval", () =>
    withLedger(async ({ pool }) => {
      const [first = 0, second = 0] = await follow(pool, 2);
      await postponeUnread(pool, [second], 30_000);
      await postponeTracked(pool, [{ orderId: first, intervalMs: 60_000 }]);
      const [one, two] = await dueTimes(pool);
      expect(two?.ms).toBeLessThanOrEqual(one?.ms ?? 0);
    }));
});

test("orders that are due together are taken in a row", () =>
  withLedger(async ({ pool }) => {
    const ids = await follow(pool, 30);
    await pool.query("update orders set facility_id = 12");
    const taken = await findDueTracked(pool, { facilityId: 12, aheadMs: 0, limit: 10 });
    expect(taken.map(({ id }) => id)).toEqual(ids.slice(0, 10));
    await pool.query("update orders set next_at = next_at - interval '1 second' where id = $1", [ids[20]]);
    const [longestDue] = await findDueTracked(pool, { facilityId: 12, aheadMs: 0, limit: 10 });
    expect(longestDue?.id).toBe(ids[20]);
  }));

test("ten thousand orders that are due are not read to know whose they are, nor to take the first of them", () =>
  withLedger(async ({ pool }) => {
    await follow(pool, 10_000);
    await pool.query("analyze orders");
    expect([...(await findDue(pool, [])).facilities].sort()).toEqual([12, 13]);
    for (const question of [
      DUE_FACILITIES,
      DUE_TRACKED.replace("$1", "12").replace("$2", "0").replace("$3", "100"),
    ]) {
      const { rows } = await pool.query(`explain (analyze, format json) ${question}`);
      const plan = JSON.stringify(rows[0]["QUERY PLAN"]);
      expect(plan).not.toContain("Seq Scan");
      const read = [...plan.matchAll(/"Actual Rows":([\d.]+)/g)].map((match) => Number(match[1]));
      expect(Math.max(...read)).toBeLessThanOrEqual(100);
    }
  }));
