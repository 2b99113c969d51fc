import type pg from "pg";
import { expect, test } from "vitest";
import { beginAlertMessage, recordAlertSent } from "../../src/ledger/alerts/messages.ts";
import { readPace } from "../../src/ledger/operator/pace.ts";
import { pauseQueue } from "../../src/ledger/operator/queues.ts";
import {
  COUNT_OPEN_DELIVERIES,
  countOpenDeliveries,
  countOrders,
  FAILING_DELIVERIES,
  MESSAGES_SEARCHED,
  RECENT_REFUSALS,
  readAttention,
  STILL_ORDERS,
} from "../../src/ledger/operator/still-orders.ts";
import { addAlert } from "../alerts/add-alert.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

/** Received orders of one message; positions from 1. */
async function addOrders(pool: pg.Pool, count: number): Promise<void> {
  const [id] = await commit(pool, [aRecord(1, [anOrder({ code: "S" })])]);
  await pool.query(
    `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                         sources, content_digest)
     select message_id, position + n, connector, operation, facility_code, facility_id, 'S' || n, '{}', '{}', ''
       from orders, generate_series(1, $2::int - 1) n
      where id = $1`,
    [id, count],
  );
}

const DELIVERIES = `
insert into deliveries (connector, file_name, bytes, state, attempts, failure_code, failure_text, created_at)
select 'lims', 'r' || n, 'x', case when n <= 2 then 'parked' else 'pending' end, 1,
       case when n <= 4 then 'MLLP_UNREACHABLE' end, case when n <= 4 then 'nothing listens there' end,
       timestamptz '2026-11-22 08:00Z' + n * interval '1 minute'
  from generate_series(1, 5) n`;

test("results that were tried are told by connector, state and failure, with the oldest of each; others are not", () =>
  withLedger(async ({ pool }) => {
    await pool.query(DELIVERIES);
    const tried = { connector: "lims", code: "MLLP_UNREACHABLE", text: "nothing listens there", count: 2 };
    expect((await readAttention(pool)).deliveries).toEqual([
      { ...tried, state: "parked", since: new Date("2026-11-22T08:01:00Z"), deliveryId: "d1" },
      { ...tried, state: "pending", since: new Date("2026-11-22T08:03:00Z"), deliveryId: "d3" },
    ]);
  }));

test("orders that stand still are counted by why and by failure; those that only wait their turn are not", () =>
  withLedger(async ({ pool }) => {
    await addOrders(pool, 9);
    const set = (values: string, ...ids: number[]) =>
      pool.query(`update orders set ${values}, changed_at = '2026-11-22T08:00Z' where position = any ($1)`, [
        ids,
      ]);
    await set("state = 'parked', failure_code = 'SUBJECT_INCOMPLETE', failure_text = 'PID-5'", 1, 2);
    await set("state = 'parked', failure_code = 'CONFIG_INVALID', failure_text = 'x'", 3);
    await set("held_at = now()", 4);
    await set("failure_code = 'SERVICE_UNREACHABLE', failure_text = 'refused'", 5);
    await set("state = 'submitting', failure_code = 'SERVICE_NO_ANSWER', failure_text = 'lost'", 6, 7);
    const since = new Date("2026-11-22T08:00:00Z");
    const { orders } = await readAttention(pool);
    expect(orders).toEqual([
      { kind: "on_hold", count: 1, since, orderId: "o4", orderIds: ["o4"] },
      { kind: "parked", code: "CONFIG_INVALID", text: "x", count: 1, since, orderId: "o3", orderIds: ["o3"] },
      {
        kind: "parked",
        code: "SUBJECT_INCOMPLETE",
        text: "PID-5",
        count: 2,
        since,
        orderId: "o1",
        orderIds: ["o1", "o2"],
      },
      {
        ...{ kind: "reconciling", code: "SERVICE_NO_ANSWER", text: "lost" },
        ...{ count: 2, since, orderId: "o6", orderIds: ["o6", "o7"] },
      },
      {
        kind: "retrying",
        code: "SERVICE_UNREACHABLE",
        text: "refused",
        count: 1,
        since,
        orderId: "o5",
        orderIds: ["o5"],
      },
    ]);
  }));

test("orders of which nothing was tried yet stand still while the service is away", () =>
  withLedger(async ({ pool }) => {
    await addOrders(pool, 4);
    await pool.query(
      "update orders set failure_code = 'SERVICE_UNREACHABLE', failure_text = 'refused' where position < 4",
    );
    expect((await readAttention(pool)).orders).toMatchObject([{ kind: "retrying", count: 3 }]);
    await pool.query(
      "update service_pause set cause = 'SERVICE_UNREACHABLE', text = 'refused', since = now()",
    );
    const found = (await readAttention(pool)).orders.map(({ kind, orderIds }) => [kind, orderIds]);
    expect(Object.fromEntries(found)).toEqual({ retrying: ["o1", "o2", "o3"], waiting: ["o4"] });
  }));

test("what waits behind a parked order that holds its lane is told with it, and is neither late nor waits for the service", () =>
  withLedger(async ({ pool }) => {
    await addOrders(pool, 6);
    await pool.query("update orders set subject_code = 'S' where position <= 5");
    await pool.query(
      "update orders set state = 'parked', failure_code = 'CONFIG_INVALID', failure_text = 'x' where position in (1, 3)",
    );
    await pool.query("update orders set state = 'parked', failure_code = 'REQUEST_GONE' where position = 3");
    await pool.query(
      "update service_pause set cause = 'SERVICE_UNREACHABLE', text = 'refused', since = now()",
    );
    const told = async (doesParkedBlock: boolean) =>
      (await readAttention(pool, doesParkedBlock)).orders.map(({ kind, code, count, behind }) => [
        ...[code ?? kind, count, behind],
      ]);
    expect(await told(false)).toEqual([
      ["CONFIG_INVALID", 1, undefined],
      ["REQUEST_GONE", 1, undefined],
      ["waiting", 4, undefined],
    ]);
    // o2 waits behind o1, o4 and o5 behind o3.
    expect(await told(true)).toEqual([
      ["CONFIG_INVALID", 1, 1],
      ["REQUEST_GONE", 1, 2],
      ["waiting", 1, undefined],
    ]);
    await pool.query("update orders set changed_at = now() - interval '1 day' where position = 4");
    const oldest = async (doesParkedBlock: boolean) =>
      (await readPace(pool, ["received"], [], doesParkedBlock)).oldest[0]?.since.getTime() ?? 0;
    expect((await oldest(true)) - (await oldest(false))).toBeGreaterThan(3_600_000);
  }));

test("orders that stand still are named while they are few", () =>
  withLedger(async ({ pool }) => {
    await addOrders(pool, 11);
    await pool.query(
      "update orders set state = 'parked', failure_code = 'CONFIG_INVALID', failure_text = 'x'",
    );
    expect((await readAttention(pool)).orders).toMatchObject([{ count: 11, orderId: "o1", orderIds: [] }]);
    await pool.query("update orders set state = 'discarded' where id = 11");
    const [few] = (await readAttention(pool)).orders;
    expect(few?.orderIds).toHaveLength(10);
  }));

test("all orders that have not ended are counted, and those that ended within a day", () =>
  withLedger(async ({ pool }) => {
    await addOrders(pool, 8);
    const set = (state: string, hoursAgo: number, ...positions: number[]) =>
      pool.query(
        `update orders set state = $1, failure_code = 'CONFIG_INVALID', changed_at = now() - $2 * interval '1 hour'
          where position = any ($3)`,
        [state, hoursAgo, positions],
      );
    await set("parked", 100, 1);
    await set("parked", 10, 2);
    await set("completed", 23, 3, 4);
    await set("completed", 25, 5);
    await set("rejected", 1, 6);
    await set("failed", 50, 7);
    const counts = new Map((await countOrders(pool)).map(({ state, ...count }) => [state, count]));
    expect([...counts.keys()].sort()).toEqual(["completed", "parked", "received", "rejected"]);
    expect(counts.get("parked")).toEqual({ count: 2, oldestSeconds: expect.closeTo(360_000, -3) });
    expect(counts.get("completed")).toEqual({ count: 2 });
    expect(counts.get("rejected")).toEqual({ count: 1 });
    expect(counts.get("received")).toMatchObject({ count: 1 });
  }));

test("a paused queue is told with who paused it, and why", () =>
  withLedger(async ({ pool }) => {
    await pauseQueue(pool, "deliver", { actor: "kim", reason: "they move" });
    await pauseQueue(pool, "submit", { actor: "jo" });
    expect((await readAttention(pool)).pausedQueues).toMatchObject([
      { queue: "deliver", actor: "kim", reason: "they move" },
      { queue: "submit", actor: "jo" },
    ]);
  }));

test("a place that does not take what it is sent of alerts is named with how much waits, until it has it", () =>
  withLedger(async ({ pool }) => {
    await addAlert(pool, "tasksOpen", "");
    expect((await readAttention(pool)).alertPlaces).toMatchObject([
      { place: "hook", count: 1, failure: "status 500" },
    ]);
    const message = await beginAlertMessage(pool, "hook", [60_000]);
    await recordAlertSent(pool, message?.id ?? 0);
    expect((await readAttention(pool)).alertPlaces).toEqual([]);
  }));

const MESSAGES = `
insert into messages (connector, place, ordinal, verdict, sha256, format, raw, received_at)
select $1, jsonb_build_object('message', n), n, $2, decode(md5($1 || n), 'hex'), 'csv', 'x', $3
  from generate_series(1, $4::integer) n`;

test("refusals of the last day are counted among the last messages only", () =>
  withLedger(async ({ pool }) => {
    const now = new Date();
    const add = (connector: string, verdict: string, at: Date, count: number) =>
      pool.query(MESSAGES, [connector, verdict, at, count]);
    await add("early", "refused", now, 3);
    await add("old", "refused", new Date(now.getTime() - 90_000_000), 5);
    await add("lims", "accepted", now, MESSAGES_SEARCHED - 10);
    await add("bench", "refused", now, 2);
    const counted = (await readAttention(pool)).refusals.map(({ connector, count }) => [connector, count]);
    expect(counted).toEqual([
      ["bench", 2],
      ["early", 3],
    ]);
    await add("lims2", "accepted", now, MESSAGES_SEARCHED);
    expect((await readAttention(pool)).refusals).toEqual([]);
  }));

const FILES = `
insert into files (connector, file_name, sha256, size_bytes, status, received_at)
select $1, 'f' || n, decode(md5($1 || n), 'hex'), 1, $2, $3
  from generate_series(1, $4::integer) n
returning id`;

test("files that were refused whole are counted, but not those whose messages are", () =>
  withLedger(async ({ pool }) => {
    const now = new Date();
    await pool.query(FILES, ["old", "refused", new Date(now.getTime() - 90_000_000), 1]);
    await pool.query(FILES, ["lims", "taken", now, 2]);
    await pool.query(FILES, ["bench", "refused", now, 2]);
    const { rows } = await pool.query(FILES, ["rows", "refused", now, 1]);
    await pool.query(MESSAGES, ["rows", "refused", now, 1]);
    await pool.query("update messages set file_id = $1", [rows[0].id]);
    expect((await readAttention(pool)).refusals).toMatchObject([
      { kind: "file", connector: "bench", count: 2 },
      { kind: "message", connector: "rows", count: 1 },
    ]);
  }));

test("all are read from their indexes among many that need nobody", () =>
  withLedger(async ({ pool }) => {
    await pool.query(DELIVERIES);
    await pool.query(
      "insert into deliveries (connector, file_name, bytes, state) select 'lims', 'd' || n, 'x', 'delivered' from generate_series(1, 4000) n",
    );
    await pool.query(MESSAGES, ["lims", "accepted", new Date(), 4_000]);
    await addOrders(pool, 4_000);
    await pool.query("update orders set state = 'completed' where position > 2000");
    await pool.query("analyze orders");
    await pool.query(FILES, ["lims", "refused", new Date(), 4_000]);
    await pool.query("analyze files");
    await pool.query("analyze deliveries");
    await pool.query("analyze messages");
    const plan = async (sql: string, ...values: readonly (number | boolean)[]) =>
      JSON.stringify((await pool.query(`explain (format json) ${sql}`, [...values])).rows);
    expect(await plan(FAILING_DELIVERIES, 50)).not.toContain("Seq Scan");
    // Two thousand wait, and few stand still.
    expect(await plan(STILL_ORDERS, 50, true)).toContain("orders_still");
    expect(await plan(RECENT_REFUSALS, MESSAGES_SEARCHED)).not.toContain("Seq Scan");
    const { rows } = await pool.query(`explain (format json) ${COUNT_OPEN_DELIVERIES}`);
    expect(JSON.stringify(rows)).not.toContain("Seq Scan");
    expect(await countOpenDeliveries(pool)).toEqual({ pending: 3, parked: 2 });
  }));
