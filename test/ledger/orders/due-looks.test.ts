import { expect, test } from "vitest";
import { GO_BY_INDEX, inTransaction } from "../../../src/ledger/database.ts";
import { DUE_LOOKS, findDueLooks } from "../../../src/ledger/orders/looks.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

test("a few looks are taken without going through all that are due, whichever of calls to cancel and others are due for longer", () =>
  withLedger(async ({ pool }) => {
    const [id] = await commit(pool, [aRecord(1, [anOrder()])]);
    const { rows: orders } = await pool.query(
      `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                           sources, content_digest, state, request_id)
       select message_id, n + 1, connector, operation, facility_code, facility_id, 'S' || n, '{}', '{}', '',
              case when n % 2 = 0 then 'submitting' else 'submitted' end, case when n % 2 = 1 then n end
         from orders, generate_series(1, 6000) n
        where id = $1
       returning id, state`,
      [id],
    );
    await pool.query(
      `insert into calls (order_id, kind, surface, mark, look_at)
       select id, case when state = 'submitting' then 'request' else 'cancel' end, 'request', mark,
              -- Those to cancel are due for longer.
              now() - case when state = 'submitting' then interval '1 minute' else interval '1 hour' end
         from orders
        where id <> $1`,
      [id],
    );
    const inHand = new Set(orders.filter(({ state }) => state === "submitting").map((order) => order.id));
    for (const kind of ["others", "cancels"] as const) {
      const { rows } = await inTransaction(pool, async (client) => {
        await client.query(GO_BY_INDEX);
        const values = [64, kind === "cancels"];
        return client.query(`explain (analyze, buffers, format json) ${DUE_LOOKS}`, values);
      });
      const [{ Plan: plan }] = rows[0]["QUERY PLAN"];
      expect(plan["Actual Rows"]).toBe(64);
      expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(2_000);
      const due = await findDueLooks(pool, 64, kind);
      expect(due.filter(({ orderId }) => inHand.has(orderId) !== (kind === "others"))).toEqual([]);
    }
  }));
