import { expect, test } from "vitest";
import { phi } from "../../../src/core/phi.ts";
import { openPool } from "../../../src/ledger/database.ts";
import { listEvents } from "../../../src/ledger/operator/views.ts";
import { insertOrderOutcomes } from "../../../src/ledger/orders/change.ts";
import { findOrders } from "../../../src/ledger/orders/controlled-orders.ts";
import { listDueDeliveries, recordDelivered } from "../../../src/ledger/results/deliveries.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { silent, withLedger } from "../../support/with-ledger.ts";

test("what the lab has got is recorded while a message about the same orders is taken in, so that neither waits for the other", () =>
  withLedger(async ({ pool, connection }) => {
    const [id = 0] = await commit(pool, [aRecord(1, [anOrder({ placerOrderNumber: "A" })])]);
    const client = await pool.connect();
    await insertOrderOutcomes(client, [id]);
    await client.query(
      "insert into deliveries (connector, file_name, bytes, order_ids) values ('lims', 'a', 'x', '{1}')",
    );
    await client.query("update outcomes set is_composed = true, delivery_id = 1 where kind = 'changed'");
    const due = await listDueDeliveries(pool, "lims", 1);
    const impatient = openPool({ connection, schema: "cryobridge", max: 1, applicationName: "test" }, silent);
    try {
      await impatient.query("set lock_timeout = '5s'");
      await client.query("begin");
      const request = { control: "cancel", placerOrderNumber: "A", subjectCode: phi("S-A") } as const;
      const found = await findOrders(client, "lims", [{ request, messageId: 2, position: 1 }]);
      expect(found.get(0)?.map((order) => order.id)).toEqual([id]);
      await recordDelivered(impatient, due, { areFiles: true });
    } finally {
      await client.query("rollback");
      client.release();
      await impatient.end();
    }
    expect((await listEvents(pool, id)).map(({ kind }) => kind)).toContain("result_sent");
  }));
