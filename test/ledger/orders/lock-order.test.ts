import { expect, test } from "vitest";
import { openPool } from "../../../src/ledger/database.ts";
import { changeOrders, changeWithOthers, type OrderChange } from "../../../src/ledger/orders/change.ts";
import { LOCK_ORDERS } from "../../../src/ledger/orders/row.ts";
import { postponeTracked, postponeUnread } from "../../../src/ledger/orders/tracking.ts";
import { moveResults } from "../../../src/ledger/results/orphaned.ts";
import { isAwaited } from "../../support/cut-way.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { silent, withLedger } from "../../support/with-ledger.ts";

const changeOf = (orderId: number): OrderChange => ({ orderId, nextInMs: 1_000 });

const POSTPONED = "next_at > received_at + interval '0.5 s'";

test.each([
  ["changes", POSTPONED, (pool, [first, second]) => changeOrders(pool, [changeOf(second), changeOf(first)])],
  [
    "what follows from a change",
    POSTPONED,
    (pool, [first, second]) => changeWithOthers(pool, changeOf(second), [changeOf(first)]),
  ],
  [
    "polls without news",
    POSTPONED,
    (pool, ids) =>
      postponeTracked(
        pool,
        ids.toReversed().map((orderId) => ({ orderId, intervalMs: 60_000 })),
      ),
  ],
  ["polls that failed", POSTPONED, (pool, ids) => postponeUnread(pool, ids, 1_000)],
  [
    "a move to another connector",
    "connector = 'bench'",
    (pool) => moveResults(pool, { from: "lims", to: "bench" }, { actor: "kim", reason: "renamed" }),
  ],
] as const satisfies readonly (readonly [
  string,
  string,
  (pool: Parameters<typeof changeOrders>[0], ids: readonly [number, number]) => Promise<unknown>,
])[])(
  "whoever locks orders in ascending order and %s of the same never wait for each other",
  (_what, isMade, make) =>
    withLedger(async ({ pool, connection }) => {
      const ids = (await commit(pool, [aRecord(1, [anOrder(), anOrder({ placerOrderNumber: "A-2" })])])) as [
        number,
        number,
      ];
      await pool.query("update orders set state = 'submitted', request_id = id");
      // The first lies behind the second where a table is read page by page.
      await pool.query("update orders set changed_at = now() where id = $1", [ids[0]]);
      const paged = openPool({ connection, schema: "cryobridge", max: 1, applicationName: "test" }, silent);
      await paged.query("set enable_indexscan = off");
      const intake = await pool.connect();
      try {
        await intake.query("begin");
        await intake.query(LOCK_ORDERS, [[ids[0]]]);
        const changed = make(paged, ids);
        changed.catch(() => undefined);
        await isAwaited(pool);
        await intake.query(LOCK_ORDERS, [ids]);
        await intake.query("commit");
        await changed;
        expect((await pool.query(`select from orders where ${isMade}`)).rowCount).toBe(2);
      } finally {
        intake.release();
        await paged.end();
      }
    }),
);
