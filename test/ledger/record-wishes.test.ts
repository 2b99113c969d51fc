import { expect, test } from "vitest";
import { changeOrders } from "../../src/ledger/change-orders.ts";
import { findOrders } from "../../src/ledger/views.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { aCancel } from "../support/wishes.ts";
import { withLedger } from "../support/with-ledger.ts";

test("a number of ours for a procedure names an order of the external surface, whatever else has a procedure of that number", () =>
  withLedger(async ({ pool }) => {
    const [first, second] = (await commit(pool, [
      aRecord(1, [anOrder({ placerOrderNumber: "A-1", code: "S-1" })]),
      aRecord(2, [anOrder({ placerOrderNumber: "A-2", code: "S-2" })]),
    ])) as [number, number];
    const common = { from: ["received"], to: "submitted" } as const;
    await changeOrders(pool, [
      { ...common, orderId: first, request: { surface: "request", requestId: 1 }, procedureId: 8 },
      { ...common, orderId: second, request: { surface: "external", procedureId: 8 } },
    ]);
    await commit(pool, [aCancel(3, [{ fillerNumber: { kind: "procedure", id: 8 } }])]);
    const { rows } = await pool.query("select order_id from wishes");
    expect(rows).toEqual([{ order_id: second }]);
    expect((await findOrders(pool, "A-1"))[0]?.state).toBe("submitted");
  }));
