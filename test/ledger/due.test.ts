import type pg from "pg";
import { expect, test } from "vitest";
import { FIND_DUE, findDue, NOTHING_DUE } from "../../src/ledger/due.ts";
import { CLAIM_DUE, claimDue } from "../../src/ledger/orders/claiming.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

/** `count` orders that are in this state, and due an hour from now. */
async function orders(pool: pg.Pool, state: string, count = 1): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n);
  await commit(pool, [
    aRecord(
      1,
      numbers.map((n) => anOrder({ placerOrderNumber: `A-${n}` })),
    ),
  ]);
  await pool.query(
    `update orders
        set state = $1,
            next_at = now() + interval '1 hour',
            request_id = case when $1 in ('submitted', 'completed') then 7 + id end`,
    [state],
  );
  // The lab has its answer.
  await pool.query("update outcomes set is_composed = true");
}
const now = (column: string) => `update orders set ${column} = now()`;
const aLook = (outcome: string, endedAt: string) =>
  `insert into calls (order_id, kind, surface, mark, look_at, outcome, ended_at)
   select id, 'request', 'request', mark, now(), ${outcome}, ${endedAt} from orders`;
const find = (pool: pg.Pool) => findDue(pool, ["lims"]);
const RESULT = "insert into deliveries (connector, file_name, bytes, next_at) values";

test.each([
  ["an order whose turn has come", "received", now("next_at"), { isOrderWaiting: true }],
  ["a look for a lost call", "submitting", aLook("null", "null"), { isLookDue: true, isOrderInHand: true }],
  ["a facility that is due", "submitted", now("next_at"), { facilities: [12] }],
  ["a look for one sent again", "submitted", aLook("'nothing'", "now()"), { isLookDue: true }],
  [
    "a call to cancel",
    "submitted",
    "insert into calls (order_id, kind, surface, mark, service_id, look_at) values (1, 'cancel', 'request', 'M', 5, now())",
    { isLookDue: true },
  ],
  ["a result for the lab", "completed", `${RESULT} ('lims', 'a.hl7', 'x', now())`, { isResultOpen: true }],
  [
    "a paused queue",
    "completed",
    "insert into paused_queues (queue, actor) values ('track', 'a')",
    { paused: ["track"] },
  ],
])("%s is due, and nothing else", (_what, state, statement, expected) =>
  withLedger(async ({ pool }) => {
    await orders(pool, state);
    const before = await find(pool);
    await pool.query(statement);
    expect(before).toEqual({ ...NOTHING_DUE, isOrderInHand: state === "submitting" });
    expect(await find(pool)).toEqual({ ...NOTHING_DUE, ...expected });
  }),
);

test.each([
  ["whose turn has come", true, now("next_at")],
  ["whose time has not come", false, "select"],
  ["that is on hold", false, "update orders set next_at = now(), held_at = now()"],
  [
    "of a queue that is paused",
    false,
    `with due as (update orders set next_at = now()) insert into paused_queues (queue, actor) values ('submit', 'a')`,
  ],
  [
    "beside one of a restored ledger that was not looked for yet",
    false,
    `with due as (update orders set next_at = now()),
          restored as (update ledger set restored_at = now(), copy_order_id = 1)
     insert into calls (order_id, kind, is_presumed, mark, look_at)
     select id, 'request', true, mark, now() + interval '1 hour' from orders`,
  ],
])("a worker is woken for an order %s just when it would take it: %s", (_what, isTaken, statement) =>
  withLedger(async ({ pool }) => {
    await orders(pool, "received");
    await pool.query(statement);
    expect((await find(pool)).isOrderWaiting).toBe(isTaken);
    expect(await claimDue(pool, { workerId: 1, limit: 1, doesParkedBlock: false })).toHaveLength(
      isTaken ? 1 : 0,
    );
  }),
);

test("a result for a connector that this worker doesn't have, or whose time has not come, is not due", () =>
  withLedger(async ({ pool }) => {
    await pool.query(
      `${RESULT} ('other', 'a.hl7', 'x', now()), ('lims', 'b.hl7', 'x', now() + interval '1 hour')`,
    );
    expect(await find(pool)).toEqual(NOTHING_DUE);
  }));

test("two thousand orders on hold are read neither to know that nothing is due nor to be taken", () =>
  withLedger(async ({ pool }) => {
    await orders(pool, "received", 2_000);
    await pool.query("update orders set held_at = now(), next_at = now()");
    await pool.query("analyze orders");
    expect(await find(pool)).toEqual(NOTHING_DUE);
    for (const [statement, values] of [
      [FIND_DUE, [["lims"]]],
      [CLAIM_DUE, [1, 64, ["received", "submitting"]]],
    ] as const) {
      const { rows } = await pool.query(`explain (analyze, format json) ${statement}`, [...values]);
      const plan = JSON.stringify(rows[0]["QUERY PLAN"]);
      const read = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)":([\d.]+)/g)];
      expect(Math.max(...read.map((match) => Number(match[1])))).toBeLessThanOrEqual(10);
    }
  }));

test("two thousand orders and results that have ended are not read to know that nothing is due", () =>
  withLedger(async ({ pool }) => {
    await orders(pool, "completed", 2_000);
    await pool.query(
      `insert into deliveries (connector, file_name, bytes, state, delivered_at)
       select 'lims', n || '.hl7', 'x', 'delivered', now() from generate_series(1, 2000) n`,
    );
    await pool.query("analyze orders, deliveries, outcomes");
    expect(await find(pool)).toEqual(NOTHING_DUE);
    const { rows } = await pool.query(
      `explain (analyze, format json) ${FIND_DUE.replaceAll("$1", "'{lims}'")}`,
    );
    const plan = JSON.stringify(rows[0]["QUERY PLAN"]);
    const read = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)":([\d.]+)/g)].map((match) =>
      Number(match[1]),
    );
    expect(Math.max(...read)).toBeLessThanOrEqual(10);
  }));
