import type pg from "pg";
import { describe, expect, test } from "vitest";
import { listOpenDeliveries } from "../../../src/ledger/operator/views.ts";
import { findDueConnectors, findProbe, listDueDeliveries } from "../../../src/ledger/results/deliveries.ts";
import { withLedger } from "../../support/with-ledger.ts";

const BACKLOG = 4_000;

/** Deliveries of three connectors, delivered long ago, of which the last ones become pending after the statistics were made. */
async function backlog(pool: pg.Pool, count: number): Promise<void> {
  await pool.query(
    `insert into deliveries (connector, file_name, bytes, state, order_ids)
     select 'c' || g % 3, 'r' || g, 'x', 'delivered', array[g, 10 * g] from generate_series(1, $1::integer) g`,
    [3 * BACKLOG],
  );
  await pool.query("vacuum analyze deliveries");
  await pool.query("update deliveries set state = 'pending' where id > $1", [3 * BACKLOG - count]);
}

/** Rows of deliveries that a search reads. */
async function rowsRead(pool: pg.Pool, search: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    // Statistics are told a while later, and only by the connection that made them.
    for (const client of await Promise.all(Array.from({ length: 8 }, () => pool.connect()))) {
      await client.query("select pg_stat_force_next_flush()");
      client.release();
    }
    const { rows } = await pool.query<{ count: number }>(
      "select (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as count from pg_stat_user_tables where relname = 'deliveries'",
    );
    return rows[0]?.count ?? 0;
  };
  const before = await read();
  await search();
  return (await read()) - before;
}

describe("the search for what is due", () => {
  test.each([0, BACKLOG])("reads a handful of deliveries while %i are pending", (count) =>
    withLedger(async ({ pool }) => {
      await backlog(pool, count);
      let due: string[] = [];
      const read = await rowsRead(pool, async () => {
        due = await findDueConnectors(pool, ["c0", "c1", "c2", "c3"]);
      });
      expect(due.sort()).toEqual(count === 0 ? [] : ["c0", "c1", "c2"]);
      expect(read).toBeLessThan(20);
    }),
  );

  test("reads of one connector's backlog what it takes of it", () =>
    withLedger(async ({ pool }) => {
      await backlog(pool, BACKLOG);
      let files: string[] = [];
      const read = await rowsRead(pool, async () => {
        files = (await listDueDeliveries(pool, "c1", 5)).map(({ fileName }) => fileName);
      });
      const first = 2 * BACKLOG + 1;
      const ofIt = Array.from({ length: 15 }, (_, index) => first + index).filter((id) => id % 3 === 1);
      expect(files).toEqual(ofIt.slice(0, 5).map((id) => `r${id}`));
      expect(read).toBeLessThan(20);
    }));
});

test("the list of what the lab doesn't have reads no more deliveries than it shows", () =>
  withLedger(async ({ pool }) => {
    await backlog(pool, BACKLOG);
    expect(await rowsRead(pool, () => listOpenDeliveries(pool, 5))).toBeLessThan(20);
  }));

test("a lab that takes none is tried by the result that was tried least, so that what fails by itself lets others through", () =>
  withLedger(async ({ pool }) => {
    await pool.query(
      `insert into deliveries (connector, file_name, bytes, order_ids, attempts)
       select 'c1', 'r' || g, 'x', array[g], case when g = 13 then 0 else 20 - g end from generate_series(1, 13) g`,
    );
    expect((await findProbe(pool, "c1"))?.fileName).toBe("r13");
    await pool.query("update deliveries set state = 'delivered' where file_name = 'r13'");
    expect((await findProbe(pool, "c1"))?.fileName).toBe("r12");
    expect(await findProbe(pool, "c2")).toBeUndefined();
  }));
