import type pg from "pg";
import { expect, test } from "vitest";
import { overrideOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import {
  FIND_MATCHES,
  findMatches,
  findMovers,
  type Matches,
  MOVERS,
} from "../../src/ledger/orders/same-containers.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

async function matchesOf(pool: pg.Pool, orderId: number): Promise<Matches> {
  const matches = (await findMatches(pool, [orderId])).get(orderId);
  if (!matches) throw new Error(`no order ${orderId}`);
  return matches;
}

const store = (n: number, parts: Parameters<typeof anOrder>[0] = {}) =>
  aRecord(n, [anOrder({ placerOrderNumber: `A-${n}`, ...parts })]);

test("finds the orders of the same facility and subject that name the same label, whatever connector they came through", () =>
  withLedger(async ({ pool }) => {
    const [first] = await commit(pool, [store(1)], "lims");
    await commit(pool, [
      store(2, { code: "OTHER" }),
      store(3, { facilityId: 13 }),
      store(4, { containers: [{ label: "V-9", description: "" }] }),
    ]);
    const [mine] = await commit(pool, [store(5)], "bench");
    const { sameContainers } = await matchesOf(pool, mine as number);
    expect(sameContainers).toEqual([
      {
        position: 1,
        label: "V-1",
        otherId: first,
        hasSameNumber: false,
        otherName: "order A-1",
        operation: "STORE",
        state: "received",
        isAtService: false,
        containerId: undefined,
      },
    ]);
  }));

test("leaves out orders that ended without effect, and puts completed ones first, in the order in which they ended", () =>
  withLedger(async ({ pool }) => {
    const states = ["completed", "rejected", "cancelled", "failed", "discarded", "completed", "received"];
    const ids = await commit(pool, [...states.map((_, n) => store(n + 1)), store(99)]);
    for (const [n, state] of states.entries()) {
      const ago = n === 0 ? "1 hour" : "2 hours";
      await pool.query("update orders set state = $2, changed_at = now() - $3::interval where id = $1", [
        ids[n],
        state,
        ago,
      ]);
    }
    const { sameContainers } = await matchesOf(pool, ids.at(-1) as number);
    expect(sameContainers.map(({ otherId }) => otherId)).toEqual([ids[5], ids[0], ids[6]]);
  }));

test("leaves out an order that was refused for its number until a person has it done", () =>
  withLedger(async ({ pool }) => {
    const vial = { containers: [{ label: "V-2", description: "" }] };
    const [, refused] = await commit(pool, [store(1), store(2, { ...vial, placerOrderNumber: "A-1" })]);
    const [anew] = (await commit(pool, [store(3, vial)])) as [number];
    const others = async () => (await matchesOf(pool, anew)).sameContainers.map(({ otherId }) => otherId);
    expect(await others()).toEqual([]);
    await overrideOrder(pool, { id: refused as number }, { actor: "kim", reason: "two vials" });
    expect(await others()).toEqual([refused]);
  }));

test.each([
  ["who else moves its containers", FIND_MATCHES],
  ["what it was put off for", MOVERS],
])(
  "finds %s from its indexes among many orders of one label, and many labels of one subject",
  (_what, statement) =>
    withLedger(async ({ pool }) => {
      const [id] = await commit(pool, [store(1)]);
      await pool.query(
        `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                           sources, content_digest, state)
       select message_id, n + 1, connector, operation, facility_code, facility_id,
              case when n % 2 = 0 then subject_code else 'S' || n end, '{}', '{}', '', 'completed'
         from orders, generate_series(1, 5000) n
        where id = $1`,
        [id],
      );
      await pool.query(
        `insert into order_containers (order_id, position, lane, label, description)
       select o.id, 1, o.facility_id || '/' || o.subject_code, case when o.position % 2 = 0 then 'V-1' else 'L-' || o.id end, ''
         from orders o
        where o.id <> $1`,
        [id],
      );
      await pool.query("analyze orders, order_containers");
      const { rows } = await pool.query(
        `explain (analyze, format json) ${statement.replace("$1", `'{${id}}'`).replace("$2", "900000")}`,
      );
      const plan = JSON.stringify(rows[0]["QUERY PLAN"]);
      expect(plan).not.toMatch(/"Seq Scan"[^{}]*"Relation Name":"(orders|order_containers)"/);
      const read = [...plan.matchAll(/"Actual Rows":([\d.]+)/g)].map((match) => Number(match[1]));
      expect(Math.max(...read)).toBeLessThan(100);
    }),
);

test("names what an order was put off for as it stands now, and lets it go on at once when that has ended", () =>
  withLedger(async ({ pool }) => {
    const [first] = (await commit(pool, [store(1)])) as [number];
    const [second] = (await commit(pool, [store(2, { operation: "RETRIEVAL" })])) as [number];
    const [other] = (await commit(pool, [store(3, { operation: "RETRIEVAL", code: "OTHER" })])) as [number];
    await pool.query("update orders set state = 'in_progress', request_id = 7 where id = $1", [first]);
    await pool.query("update orders set next_at = now() + interval '15 minutes' where id = any ($1)", [
      [second, other],
    ]);
    expect((await findMovers(pool, [second])).get(second)).toMatchObject({
      orderId: `o${first}`,
      state: "in_progress",
    });
    expect(await findMovers(pool, [other])).toEqual(new Map());
    await changeOrders(pool, [{ orderId: first, to: "completed", isReported: true }]);
    const due = await pool.query("select id from orders where state = 'received' and next_at <= now()");
    expect(due.rows).toEqual([{ id: second }]);
    expect((await findMovers(pool, [second])).get(second)).toMatchObject({
      orderId: `o${first}`,
      state: "completed",
    });
    await pool.query("update orders set changed_at = now() - interval '16 minutes' where id = $1", [first]);
    expect(await findMovers(pool, [second])).toEqual(new Map());
  }));
