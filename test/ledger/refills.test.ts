import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { Refill } from "../../src/core/refill.ts";
import {
  countRefills,
  findRefills,
  forgetRefills,
  type RefillChange,
  recordRefills,
  subscribeRefills,
} from "../../src/ledger/refills.ts";
import { withLedger } from "../support/with-ledger.ts";

const NORTH = { facilityId: 12, facilityCode: "NORTH", surface: "external" } as const;

const change = (parts: Partial<RefillChange> & { refill: Refill }): RefillChange => ({
  known: undefined,
  reached: 3,
  remoteStatus: parts.refill.status,
  flagged: [],
  hasNews: true,
  counted: parts.refill.status,
  ...parts,
});

describe("recording refills", () => {
  test("keeps ids up to 2^53 and texts of any kind as they came", () =>
    withLedger(async ({ pool }) => {
      const refill: Refill = {
        id: Number.MAX_SAFE_INTEGER,
        code: 'R"\\|1',
        status: "COMPLETED",
        storageId: Number.MAX_SAFE_INTEGER - 1,
        storageName: "Tank №4 '; --",
        createdAt: "not a time",
        completedAt: "2026-11-21T08:00:00+01:00",
      };
      await recordRefills(pool, NORTH, [change({ refill, flagged: ["a,b", 'c"}'] })]);
      const kept = (await findRefills(pool, "external", [refill.id])).get(refill.id);
      expect(kept).toMatchObject({ ...NORTH, flagged: ["a,b", 'c"}'], missingSince: null });
      expect(kept?.refill).toEqual(refill);
    }));

  test("leaves and counts nothing of what another process has recorded meanwhile, and keeps the rest", () =>
    withLedger(async ({ pool }) => {
      await subscribeRefills(pool, [NORTH]);
      const created = change({ refill: { id: 7, status: "CREATED" }, reached: 1 });
      await recordRefills(pool, NORTH, [created]);
      const known = (await findRefills(pool, "external", [7])).get(7);
      const completed = change({ known, refill: { id: 7, status: "COMPLETED" } });
      const failed = change({ refill: { id: 8, status: "FAILED" } });
      await recordRefills(pool, NORTH, [completed]);
      await recordRefills(pool, NORTH, [completed, created, failed]);
      expect(await countRefills(pool)).toEqual(
        ["COMPLETED", "CREATED", "FAILED"].map((status) => ({ facilityCode: "NORTH", status, count: 1 })),
      );
      expect((await findRefills(pool, "external", [7])).get(7)?.refill.status).toBe("COMPLETED");
    }));

  test("lets one procedure id stand for two refills on two surfaces", () =>
    withLedger(async ({ pool }) => {
      const refill = { id: 7, status: "COMPLETED" };
      await recordRefills(pool, NORTH, [change({ refill })]);
      await recordRefills(pool, { ...NORTH, surface: "request" }, [change({ refill })]);
      for (const surface of ["request", "external"] as const)
        expect((await findRefills(pool, surface, [7])).get(7)?.surface).toBe(surface);
    }));
});

describe("retention of refills", () => {
  const YEAR = 365 * 86_400_000;
  /** Rows of refills by procedure: status, tank, and how many days ago each was completed and changed. */
  const keep = async (
    pool: pg.Pool,
    rows: readonly [procedure: number, status: string, tank: number | null, days: number | null][],
  ) => {
    for (const [procedure, status, tank, days] of rows) {
      const reached = ["COMPLETED", "FAILED"].includes(status) ? 3 : 1;
      await pool.query(
        `insert into refills (facility_id, facility_code, surface, procedure_id, storage_id, status, remote_status, reached,
                              completed_time, changed_at)
         values (12, 'NORTH', 'request', $1, $3, $2, $2, $4, now() - $5 * interval '1 day', now() - interval '900 days')`,
        [procedure, status, tank, reached, days],
      );
    }
  };
  const kept = async (pool: pg.Pool) =>
    (
      await pool.query<{ procedure_id: number }>("select procedure_id from refills order by procedure_id")
    ).rows.map((row) => row.procedure_id);

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

  test("keeps what is open, what is young, and what has no time by which it would be known as old", () =>
    withLedger(async ({ pool }) => {
      await keep(pool, [
        [1, "IN_PROGRESS", 31, 800],
        [2, "FAILED", 31, 20],
        [3, "FAILED", 31, null],
      ]);
      expect([await forgetRefills(pool, YEAR, 100), await kept(pool)]).toEqual([0, [1, 2, 3]]);
    }));
});
