import pg from "pg";
import { expect, test } from "vitest";
import {
  REFUSALS,
  REPORTED_ORDERS,
  readReport,
  SPAN_OF_IDS,
  STAGE_TIMES,
} from "../../../src/ledger/reports/report.ts";
import { fillLedger } from "../../bench/fill-ledger.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

const NIGHT = Date.parse("2026-11-22T23:00:00Z");
const DAY = { from: new Date(NIGHT), to: new Date(NIGHT + 86_400_000) };
const at = (seconds: number) => new Date(NIGHT + seconds * 1_000);

let number = 0;

/** An order that came in after so many seconds of the day, and its timeline. */
async function addOrder(
  pool: pg.Pool,
  receivedAfter: number,
  state: string,
  timeline: readonly (readonly [kind: string, toState: string | null, after: number])[] = [],
): Promise<number> {
  number += 1;
  const [id = 0] = await commit(pool, [
    aRecord(number, [anOrder({ code: "S", placerOrderNumber: `A-${number}` })]),
  ]);
  await pool.query(
    `update orders
        set state = $2, received_at = $3, request_id = id, failure_code = case when $2 in ('parked', 'rejected') then 'SUBJECT_INCOMPLETE' end
      where id = $1`,
    [id, state, at(receivedAfter)],
  );
  for (const [kind, toState, after] of timeline)
    await pool.query("insert into order_events (order_id, kind, to_state, at) values ($1, $2, $3, $4)", [
      ...[id, kind, toState],
      at(receivedAfter + after),
    ]);
  return id;
}

const whole = (accepted: number, completed: number, sent: number) =>
  [
    ["submitted", "submitted", 2],
    ["accepted", "accepted", accepted],
    ["in_progress", "in_progress", accepted + 1],
    ["result_sent", null, accepted + 1],
    ["completed", "completed", completed],
    ["result_sent", null, sent],
  ] as const;

test("orders count on the day on which they came in, by how they stand", () =>
  withLedger(async ({ pool }) => {
    await addOrder(pool, -1, "completed");
    await addOrder(pool, 0, "completed");
    await addOrder(pool, 10, "parked");
    await addOrder(pool, 20, "received");
    await addOrder(pool, 86_399, "cancelled");
    await addOrder(pool, 86_400, "completed");
    const { orders, refusals } = await readReport(pool, DAY);
    const counts = { completed: 1, rejected: 0, cancelled: 1, failed: 0, discarded: 0, parked: 1, open: 1 };
    expect(orders).toEqual([{ connector: "lims", operation: "STORE", all: 4, ...counts }]);
    expect(refusals).toEqual([{ what: "parked", code: "SUBJECT_INCOMPLETE", count: 1 }]);
  }));

test("each stage is timed by the first time that orders came to its end", () =>
  withLedger(async ({ pool }) => {
    await addOrder(pool, 0, "completed", whole(60, 100, 130));
    await addOrder(pool, 5, "completed", [
      ...whole(120, 300, 310),
      ["retried", "received", 400],
      ["submitted", "submitted", 500],
      ["result_sent", null, 900],
    ]);
    await addOrder(pool, 9, "submitted", [["submitted", "submitted", 4]]);
    await addOrder(pool, 90_000, "completed", whole(1_000, 2_000, 3_000));
    const { stages } = await readReport(pool, DAY);
    expect(stages).toEqual([
      { stage: "submit", count: 3, medianMs: 2_000, p90Ms: 3_600, p99Ms: 3_960, maxMs: 4_000 },
      { stage: "accept", count: 2, medianMs: 88_000, p90Ms: 112_000, p99Ms: 117_400, maxMs: 118_000 },
      { stage: "complete", count: 2, medianMs: 110_000, p90Ms: 166_000, p99Ms: 178_600, maxMs: 180_000 },
      { stage: "send", count: 2, medianMs: 20_000, p90Ms: 28_000, p99Ms: 29_800, maxMs: 30_000 },
      { stage: "whole", count: 2, medianMs: 220_000, p90Ms: 292_000, p99Ms: 308_200, maxMs: 310_000 },
    ]);
  }));

test("a refused message or file counts once for each of its reasons", () =>
  withLedger(async ({ pool }) => {
    await pool.query(
      `insert into files (connector, file_name, sha256, size_bytes, status, problems, received_at)
       values ('bench', 'a.csv', 'a', 1, 'refused', '[{"code": "CSV_EMPTY"}]', $1)`,
      [at(5)],
    );
    await pool.query(
      `insert into messages (connector, ordinal, place, sha256, format, verdict, problems, received_at)
       select 'lims', 1, '{"message": 1}', 'a', 'hl7', x.verdict, x.problems::jsonb, $1
         from (values ('refused', '[{"code": "SUBJECT_INCOMPLETE"}, {"code": "SUBJECT_INCOMPLETE"}, {"code": "CONFIG_INVALID"}]'),
                      ('refused', '[{"code": "SUBJECT_INCOMPLETE"}]'),
                      ('waiting', '[{"code": "MAPPING_CODE_UNKNOWN"}]')) as x(verdict, problems)`,
      [at(6)],
    );
    expect((await readReport(pool, DAY)).refusals).toEqual([
      { what: "file", code: "CSV_EMPTY", count: 1 },
      { what: "message", code: "SUBJECT_INCOMPLETE", count: 2 },
      { what: "message", code: "CONFIG_INVALID", count: 1 },
    ]);
  }));

test("nothing came in on a day without messages", () =>
  withLedger(async ({ pool }) => {
    expect(await readReport(pool, DAY)).toEqual({ orders: [], stages: [], refusals: [] });
  }));

test("a day's report reads no more of a ledger with many orders of other days", () =>
  withLedger(async ({ pool, connection }) => {
    const superuser = new pg.Client({ ...connection, user: "postgres" });
    await superuser.connect();
    await fillLedger(superuser, { ended: 16_000, open: 10 });
    await superuser.end();
    const to = new Date(Date.now() - 5 * 86_400_000);
    const values = [new Date(to.getTime() - 86_400_000), to];
    const blocks: Record<string, number> = {};
    const { rows: spans } = await pool.query(SPAN_OF_IDS, values);
    const { first, last } = spans[0];
    const statements = {
      SPAN_OF_IDS: [SPAN_OF_IDS, values],
      REPORTED_ORDERS: [REPORTED_ORDERS, values],
      STAGE_TIMES: [STAGE_TIMES, [...values, first, last]],
      REFUSALS: [REFUSALS, values],
    } as const;
    for (const [name, [text, given]] of Object.entries(statements)) {
      const { rows } = await pool.query(`explain (analyze, buffers, format json) ${text}`, [...given]);
      const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
      blocks[name] = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
      expect(JSON.stringify(plan)).not.toContain("Seq Scan");
    }
    // 200 orders came in on that day.
    expect(blocks.SPAN_OF_IDS).toBeLessThan(400);
    expect(blocks.REPORTED_ORDERS).toBeLessThan(400);
    expect(blocks.STAGE_TIMES).toBeLessThan(4_000);
    expect(blocks.REFUSALS).toBeLessThan(800);
  }));
