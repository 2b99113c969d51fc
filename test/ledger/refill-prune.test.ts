import type pg from "pg";
import { describe, expect, test } from "vitest";
import { forgetRefills } from "../../src/ledger/refill-prune.ts";
import { withLedger } from "../support/with-ledger.ts";

/** Rows of refills by procedure: status, tank, and how many days ago each was completed and changed. */
async function keep(
  pool: pg.Pool,
  rows: readonly [procedure: number, status: string, tank: number | null, days: number | null][],
): Promise<void> {
  for (const [procedure, status, tank, days] of rows) {
    const reached = ["COMPLETED", "FAILED"].includes(status) ? 3 : 1;
    await pool.query(
      `insert into refills (facility_id, facility_code, surface, procedure_id, storage_id, status, remote_status, reached,
                            completed_time, changed_at)
       values (12, 'NORTH', 'request', $1, $3, $2, $2, $4, now() - $5 * interval '1 day', now() - interval '900 days')`,
      [procedure, status, tank, reached, days],
    );
  }
}
const kept = async (pool: pg.Pool) =>
  (
    await pool.query<{ procedure_id: number }>("select procedure_id from refills order by procedure_id")
  ).rows.map((row) => row.procedure_id);
const YEAR = 365 * 86_400_000;

describe("retention of refills", () => {
  test("forgets what was over long ago, but never the last completed one of a tank", () =>
    withLedger(async ({ pool }) => {
      await keep(pool, [
        [1, "COMPLETED", 31, 800],
        [2, "COMPLETED", 31, 700],
        [3, "COMPLETED", 32, 800],
        [4, "FAILED", 31, 800],
        [5, "COMPLETED", null, 800],
        [6, "COMPLETED", null, 750],
      ]);
      expect(await forgetRefills(pool, YEAR, 100)).toBe(3);
      expect(await kept(pool)).toEqual([2, 3, 6]);
    }));

  test("keeps what is open, what is young, and what has no time by which it could be told from news", () =>
    withLedger(async ({ pool }) => {
      await keep(pool, [
        [1, "IN_PROGRESS", 31, 800],
        [2, "FAILED", 31, 20],
        [3, "FAILED", 31, null],
      ]);
      expect([await forgetRefills(pool, YEAR, 100), await kept(pool)]).toEqual([0, [1, 2, 3]]);
    }));

  test("takes the steps along, which can't be changed otherwise", () =>
    withLedger(async ({ pool }) => {
      await keep(pool, [[1, "FAILED", 31, 800]]);
      await pool.query(
        "insert into refill_events (refill_id, kind, status) select id, 'status', status from refills",
      );
      await expect(pool.query("update refill_events set status = 'X'")).rejects.toThrow("append-only");
      await forgetRefills(pool, YEAR, 100);
      expect((await pool.query("select 1 from refill_events")).rowCount).toBe(0);
    }));
});
