import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { Refill } from "../../src/core/refill.ts";
import { findRefills } from "../../src/ledger/refill-reads.ts";
import { type RefillChange, recordRefills } from "../../src/ledger/refills.ts";
import { refillCsv } from "../../src/mapping/refill-csv.ts";
import { failureOf } from "../service/with-client.ts";
import { eventually } from "../support/eventually.ts";
import { withLedger } from "../support/with-ledger.ts";

const NORTH = { facilityId: 12, facilityCode: "NORTH", surface: "external" } as const;
const TELLING = { connector: "bench", compose: oneFile };

function oneFile(...given: Parameters<typeof refillCsv>) {
  return [refillCsv(...given)];
}

const change = (parts: Partial<RefillChange> & { refill: Refill }): RefillChange => ({
  known: undefined,
  reached: 3,
  remoteStatus: parts.refill.status,
  isMissing: false,
  steps: [{ kind: "status", status: parts.refill.status, isHistory: false, isTold: true }],
  ...parts,
});
const filesOf = async (pool: pg.Pool) =>
  (await pool.query<{ file_name: string }>("select file_name from deliveries order by id")).rows.map(
    (row) => row.file_name,
  );

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
        startedAt: undefined,
        completedAt: "2026-11-21T08:00:00+01:00",
        error: undefined,
      };
      await recordRefills(pool, NORTH, [change({ refill })], undefined);
      const kept = (await findRefills(pool, "external", [refill.id])).get(refill.id);
      expect(kept?.refill).toEqual(refill);
    }));

  test("gives way to another process that was first, with nothing told twice", () =>
    withLedger(async ({ pool }) => {
      const news = change({ refill: { id: 7, status: "COMPLETED" } });
      await recordRefills(pool, NORTH, [news], TELLING);
      const again = recordRefills(
        pool,
        NORTH,
        [change({ refill: { id: 8, status: "FAILED" } }), news],
        TELLING,
      );
      expect((await failureOf(again)).code).toBe("LEDGER_CONTENDED");
      expect(await filesOf(pool)).toEqual(["refills-1.csv"]);
      expect((await findRefills(pool, "external", [8])).size).toBe(0);
    }));

  test("gives way as well when the refill has moved on since it was read", () =>
    withLedger(async ({ pool }) => {
      const created = { id: 7, status: "CREATED" };
      await recordRefills(pool, NORTH, [change({ refill: created, reached: 1 })], undefined);
      const known = (await findRefills(pool, "external", [7])).get(7);
      const completed = change({ known, refill: { id: 7, status: "COMPLETED" } });
      await recordRefills(pool, NORTH, [completed], TELLING);
      expect((await failureOf(recordRefills(pool, NORTH, [completed], TELLING))).code).toBe(
        "LEDGER_CONTENDED",
      );
      expect(await filesOf(pool)).toEqual(["refills-1.csv"]);
    }));

  test("numbers its first file behind that of another facility that has its first at the same moment", () =>
    withLedger(async ({ pool }) => {
      const other = await pool.connect();
      await other.query("begin");
      await other.query("insert into result_numbers values ('bench', '/refills', 1)");
      const recorded = recordRefills(
        pool,
        NORTH,
        [change({ refill: { id: 7, status: "COMPLETED" } })],
        TELLING,
      );
      await eventually(async () => {
        const { rowCount } = await pool.query(
          "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        );
        return rowCount === 1;
      });
      await other.query("commit");
      other.release();
      await recorded;
      expect(await filesOf(pool)).toEqual(["refills-2.csv"]);
    }));

  test("lets one procedure id stand for two refills on two surfaces", () =>
    withLedger(async ({ pool }) => {
      const refill = { id: 7, status: "COMPLETED" };
      await recordRefills(pool, NORTH, [change({ refill })], TELLING);
      await recordRefills(pool, { ...NORTH, surface: "request" }, [change({ refill })], TELLING);
      expect(await filesOf(pool)).toEqual(["refills-1.csv", "refills-2.csv"]);
    }));
});
