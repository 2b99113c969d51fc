import { randomBytes } from "node:crypto";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { commitMessages } from "../../src/ledger/messages/commit.ts";
import { FIND_EARLIER } from "../../src/ledger/messages/earlier.ts";
import { FIND_BY_NUMBER } from "../../src/ledger/messages/known-orders.ts";
import { INSERT_CONTAINERS } from "../../src/ledger/orders/row.ts";
import { anOrder, aRecord } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

/** Messages with one order each, as many as a busy week brings; the server has not looked at the tables since. */
async function fill(pool: pg.Pool, count: number, controlId: string): Promise<void> {
  await pool.query(
    `insert into messages (connector, ordinal, place, message_control_id, sha256, format, verdict)
     select 'lims', n, '{"message": 1}', ${controlId}, sha256(n::text::bytea), 'hl7', 'accepted'
       from generate_series(1, $1) n`,
    [count],
  );
  await pool.query(
    `insert into orders (message_id, position, connector, placer_order_number, numbered_by, operation, facility_code,
                         facility_id, subject_code, subject, sources, content_digest)
     select m.id, 1, 'lims', m.id, 'lims', 'STORE', 'NORTH', 12, 'S', '{}', '{}', ''
       from messages m`,
  );
}

/** The plan of a statement that has its values written into it. */
async function explain(pool: pg.Pool, statement: string, values: readonly string[]): Promise<string> {
  const text = values.reduceRight((sql, value, n) => sql.replaceAll(`$${n + 1}`, value), statement);
  const { rows } = await pool.query<{ "QUERY PLAN": string }>(`explain (analyze) ${text}`);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

const array = (values: readonly string[], type: string) => `array[${values.join(",")}]::${type}[]`;
const hundred = Array.from({ length: 100 }, (_, n) => n + 1);

describe("what a message is compared with, among very many", () => {
  test("is found by index for each message of a group, before the server knows how large its tables are", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, 5_000, "'C' || n");
      const plan = await explain(pool, FIND_EARLIER, [
        "'lims'",
        array(
          hundred.map((n) => `'C${n}'`),
          "text",
        ),
        array(
          hundred.map((n) => `sha256('${n}'::bytea)`),
          "bytea",
        ),
        array(
          hundred.map(() => "true"),
          "boolean",
        ),
        array(
          hundred.map(() => "'LIMS^NORTH'"),
          "text",
        ),
      ]);
      expect(plan).not.toMatch(/Seq Scan on messages/);
      const byNumber = await explain(pool, FIND_BY_NUMBER, [
        "'lims'",
        array(
          hundred.map((n) => `'${n}'`),
          "text",
        ),
        array(
          hundred.map(() => "'ab'"),
          "text",
        ),
      ]);
      expect(byNumber).not.toMatch(/Seq Scan on orders/);
    }));

  test("costs no more when the sender gives all its messages one control id", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, 5_000, "'SAME'");
      await pool.query("analyze messages");
      const plan = await explain(pool, FIND_EARLIER, [
        "'lims'",
        array(["'SAME'"], "text"),
        array([`'\\x${randomBytes(32).toString("hex")}'`], "bytea"),
        array(["true"], "boolean"),
        array(["'LIMS^NORTH'"], "text"),
      ]);
      expect(plan).not.toMatch(/Seq Scan on messages|Sort/);
      for (const [, removed] of plan.matchAll(/Rows Removed by Filter: (\d+)/g)) {
        expect(Number(removed)).toBeLessThan(10);
      }
    }));

  test("and the orders that containers are written for, too", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, 5_000, "'C' || n");
      const { rows } = await pool.query<{ id: number }>("select id from orders order by id limit 100");
      const containers = rows.map(({ id }) => ({
        order_id: id,
        position: 1,
        label: `V-${id}`,
        description: "",
      }));
      const plan = await explain(pool, INSERT_CONTAINERS, [`'${JSON.stringify(containers)}'`]);
      expect(plan).not.toMatch(/Seq Scan on orders/);
      const lanes = await pool.query("select distinct lane from order_containers");
      expect(lanes.rows).toEqual([{ lane: "12/S" }]);
    }));
});

test("many groups at once, with repeats among them, make one order of each number", () =>
  withLedger(async ({ pool }) => {
    const groups = Array.from({ length: 8 }, (_, group) =>
      hundred.slice(0, 20).map((n) => {
        const number = `A-${((n + group) % 10) + 1}`;
        return aRecord(n, [anOrder({ placerOrderNumber: number })], { messageControlId: `C-${number}` });
      }),
    );
    const verdicts = await Promise.all(
      groups.map((records) => commitMessages(pool, { fileId: null, connector: "lims", records })),
    );
    const { rows } = await pool.query<{ orders: number; keys: number }>(
      "select count(*)::integer as orders, count(distinct placer_order_number)::integer as keys from orders",
    );
    expect(rows).toEqual([{ orders: 10, keys: 10 }]);
    expect(verdicts.flat().filter(({ verdict }) => verdict === "accepted")).toHaveLength(10);
    expect(verdicts.flat().filter(({ verdict }) => verdict === "duplicate")).toHaveLength(150);
  }));
