import { expect, test } from "vitest";
import { changeOrders, changeWithOthers, type OrderChange } from "../../../src/ledger/orders/change.ts";
import { LOCK_ORDERS } from "../../../src/ledger/orders/row.ts";
import { isAwaited } from "../../support/cut-way.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

const changeOf = (orderId: number): OrderChange => ({ orderId, nextInMs: 1_000 });

test.each([
  ["changes", (pool, [first, second]) => changeOrders(pool, [changeOf(second), changeOf(first)])],
  [
    "what follows from a change",
    (pool, [first, second]) => changeWithOthers(pool, changeOf(second), [changeOf(first)]),
  ],
] as const satisfies readonly (readonly [
  string,
  (pool: Parameters<typeof changeOrders>[0], ids: readonly [number, number]) => Promise<unknown>,
])[])("whoever locks orders in ascending order and %s of the same never wait for each other", (_what, make) =>
  withLedger(async ({ pool }) => {
    const ids = (await commit(pool, [aRecord(1, [anOrder(), anOrder({ placerOrderNumber: "A-2" })])])) as [
      number,
      number,
    ];
    const intake = await pool.connect();
    try {
      await intake.query("begin");
      await intake.query(LOCK_ORDERS, [[ids[0]]]);
      const changed = make(pool, ids);
      changed.catch(() => undefined);
      await isAwaited(pool);
      await intake.query(LOCK_ORDERS, [ids]);
      await intake.query("commit");
      await changed;
      const { rowCount } = await pool.query(
        "select from orders where next_at > received_at + interval '0.5 s'",
      );
      expect(rowCount).toBe(2);
    } finally {
      intake.release();
    }
  }),
);
