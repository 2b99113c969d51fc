import { expect, test } from "vitest";
import { GO_BY_INDEX, inTransaction } from "../../src/ledger/database.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { BEGIN_CLAIM, CLAIM_DUE, LANE_HOLDERS } from "../../src/ledger/orders/claiming.ts";
import { A_REQUEST, claimNext, recordCall } from "../support/hand-over.ts";
import { withLedger } from "../support/with-ledger.ts";
import { commitOrders, only } from "./submitted-orders.ts";

test("a few orders are taken without going through all that wait", () =>
  withLedger(async ({ pool }) => {
    const [id] = await commitOrders(pool, ["S"]);
    await pool.query(
      `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                           sources, content_digest, state, request_id)
       select message_id, n + 1, connector, operation, facility_code, facility_id, 'S' || n, '{}', '{}', '',
              case when n <= 10000 then 'completed' when n % 2 = 0 then 'accepted' else 'received' end,
              case when n % 2 = 0 then n end
         from orders, generate_series(1, 15000) n
        where id = $1`,
      [id],
    );
    await pool.query("analyze orders");
    const values = [1, 64, ["received", "submitting"]];
    const { rows } = await pool.query(`explain (analyze, buffers, format json) ${CLAIM_DUE}`, values);
    const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
    expect(plan["Actual Rows"]).toBe(64);
    expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(4_000);
  }));

test("a few orders are taken without going through all that wait, where the server counted them when none did", () =>
  withLedger(async ({ pool }) => {
    const [id] = await commitOrders(pool, ["S"]);
    await pool.query(
      `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                           sources, content_digest, state)
       select message_id, n + 1, connector, operation, facility_code, facility_id, 'S' || n, '{}', '{}', '', 'completed'
         from orders, generate_series(1, 5000) n
        where id = $1`,
      [id],
    );
    await pool.query("update orders set state = 'completed'");
    await pool.query("analyze orders");
    await pool.query("update orders set state = 'received'");
    await inTransaction(pool, async (client) => {
      await client.query(BEGIN_CLAIM);
      const values = [1, 64, ["received", "submitting"]];
      const { rows } = await client.query(`explain (analyze, buffers, format json) ${CLAIM_DUE}`, values);
      const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
      expect(plan["Actual Rows"]).toBe(64);
      expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(4_000);
    });
  }));

test("a claim is answered from its indexes among many ended orders", () =>
  withLedger(async ({ pool }) => {
    const [id] = await commitOrders(pool, ["S"]);
    await pool.query(
      `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                           sources, content_digest, state)
       select message_id, n + 1, connector, operation, facility_code, facility_id, 'S' || n, '{}', '{}', '', 'completed'
         from orders, generate_series(1, 2000) n
        where id = $1`,
      [id],
    );
    await pool.query("analyze orders");
    const question = CLAIM_DUE.replace("$1", "1")
      .replace("$2", "1000")
      .replaceAll("$3", "'{received,submitting}'");
    const { rows } = await pool.query(`explain ${question}`);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).not.toMatch(/Seq Scan on (orders|calls)/);
  }));

test("a call that is made again is looked for from its first one on, and by what was there before that", () =>
  withLedger(async ({ pool }) => {
    await commitOrders(pool, ["S-1"]);
    const ends = [
      { end: "not_sent", knownIds: [1] },
      { end: "nothing", knownIds: [2] },
      { end: "nothing", knownIds: [2, 3] },
    ] as const;
    for (const { end, knownIds } of ends) {
      const { id: orderId, fence } = await claimNext(pool);
      await recordCall(pool, { ...A_REQUEST, orderId, fence, knownIds });
      await changeOrders(pool, [
        { orderId, fence, to: "received", call: { end }, isReleased: true, nextInMs: 0 },
      ]);
    }
    const [, first, again] = (await only(pool)).calls;
    expect(first?.knownIds).toEqual([2]);
    expect(again?.knownIds).toEqual(first?.knownIds);
    expect(again?.since).toEqual(first?.since);
    expect(again?.at).not.toEqual(first?.at);
  }));

test.each([
  ["when it had its orders", true],
  ["when it was empty", false],
])(
  "a lane of many orders costs a claim, and whoever says what they wait for, no more than many lanes, where the server counted %s",
  (_when, isCountedLate) =>
    withLedger(async ({ pool }) => {
      const [id] = (await commitOrders(pool, ["S"])) as [number];
      if (!isCountedLate) await pool.query("analyze orders");
      await pool.query(
        `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                           sources, content_digest)
       select message_id, n + 1, connector, operation, facility_code, facility_id, subject_code, '{}', '{}', ''
         from orders, generate_series(1, 3000) n
        where id = $1`,
        [id],
      );
      if (isCountedLate) await pool.query("analyze orders");
      const ids = Array.from({ length: 3_000 }, (_, n) => id + 1 + n);
      const states = ["received", "submitting"];
      await inTransaction(pool, async (client) => {
        const costOf = async (statement: string, values: readonly unknown[]) => {
          const { rows } = await client.query(`explain (analyze, buffers, format json) ${statement}`, [
            ...values,
          ]);
          const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
          return {
            rows: plan["Actual Rows"],
            isDear: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] > 60_000,
          };
        };
        await client.query(GO_BY_INDEX);
        expect(await costOf(LANE_HOLDERS, [ids, states])).toEqual({ rows: 3_000, isDear: false });
        await client.query(BEGIN_CLAIM);
        expect(await costOf(CLAIM_DUE, [1, 1_000, states])).toEqual({ rows: 1, isDear: false });
      });
    }),
);
