import { expect, test } from "vitest";
import { findRush } from "../../../src/ledger/workers/service-pause.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

const A_MINUTE = [{ calls: 60, windowMs: 60_000 }];
const AN_HOUR = [{ calls: 600, windowMs: 3_600_000 }];

test("is there where a quota is known: the tightest, with the orders that could be sent now", () =>
  withLedger(async ({ pool }) => {
    const orders = ["A-1", "A-2", "A-3"].map((placerOrderNumber) => anOrder({ placerOrderNumber }));
    const [, held, later] = await commit(pool, [aRecord(1, orders)]);
    await pool.query("update orders set held_at = now() where id = $1", [held]);
    await pool.query("update orders set next_at = now() + interval '1 hour' where id = $1", [later]);
    expect(await findRush(pool)).toBeUndefined();
    await pool.query(
      "update service_pause set header_quotas = $1, header_at = now(), learned_quotas = $2, learned_at = now()",
      [JSON.stringify(A_MINUTE), JSON.stringify(AN_HOUR)],
    );
    expect(await findRush(pool)).toEqual({ dueOrders: 1, quota: AN_HOUR[0] });
    await pool.query("update service_pause set learned_at = now() - interval '11 hours'");
    expect(await findRush(pool)).toEqual({ dueOrders: 1, quota: A_MINUTE[0] });
    await pool.query("update service_pause set header_at = now() - interval '2 hours'");
    expect(await findRush(pool)).toBeUndefined();
  }));
