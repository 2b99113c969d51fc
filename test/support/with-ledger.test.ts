import pg from "pg";
import { expect, test } from "vitest";
import { copyLedger } from "./ledger-copy.ts";
import { anOrder, aRecord, commit } from "./orders.ts";
import { type TestLedger, withLedger } from "./with-ledger.ts";

/** Everything that a ledger holds, and the names and kinds of what is in its database. */
const look = ({ pool }: TestLedger) =>
  Promise.all([
    copyLedger(pool),
    pool.query("select * from bullmq.migration order by 1").then(({ rows }) => rows),
    pool
      .query(
        `select relnamespace::regnamespace::text, relname, relkind, case relkind when 'r' then reltuples end
           from pg_class
          where oid >= 16384
          order by 1, 2`,
      )
      .then(({ rows }) => rows.filter(({ relkind }) => relkind !== "t")),
    pool
      .query(
        "select tgrelid::regclass::text, tgname, tgenabled from pg_trigger where not tgisinternal order by 1, 2",
      )
      .then(({ rows }) => rows),
  ]);

/** What a test may leave behind; a ledger that was handed on shows none of it. */
const USES: readonly (readonly [string, (ledger: TestLedger) => Promise<unknown>])[] = [
  ["orders", ({ pool }) => commit(pool, [aRecord(1, [anOrder({})]), aRecord(2, [anOrder({})])])],
  ["more rows than are deleted one by one", ({ pool }) => fill(pool)],
  [
    "a changed ledger row",
    ({ pool }) => pool.query("update ledger set instance_code = reverse(instance_code)"),
  ],
  [
    "a number drawn by a statement that failed",
    ({ pool }) => pool.query("select nextval('messages_id_seq')"),
  ],
  ["an emptied table of the queue", ({ pool }) => pool.query("delete from bullmq.migration")],
  ["a table", ({ pool }) => pool.query("create table mine ()")],
  ["a column", ({ pool }) => pool.query("alter table orders add column mine text")],
  ["a missing trigger", ({ pool }) => pool.query("drop trigger audit_append_only on audit")],
  ["a missing queue", ({ pool }) => pool.query("drop schema bullmq cascade")],
  ["statistics", ({ pool }) => fill(pool).then(() => pool.query("analyze messages"))],
];

const fill = (pool: pg.Pool) =>
  commit(
    pool,
    Array.from({ length: 300 }, (_, n) => aRecord(n, [anOrder({ placerOrderNumber: `${n}` })])),
  );

test.each(USES)("a ledger is as fresh as the first one after a test has left %s", async (_what, use) => {
  const before = await withLedger(look);
  await withLedger(use);
  expect(await withLedger(look)).toEqual(before);
});

test("whoever is still connected to a ledger is put out, and doesn't find the next test's by its name", async () => {
  let left: pg.Client | undefined;
  const connection = await withLedger(async ({ connection }) => {
    left = new pg.Client(connection);
    left.on("error", () => undefined);
    await left.connect();
    return connection;
  });
  await expect(left?.query("select 1")).rejects.toThrow();
  await withLedger(async () => {
    await expect(new pg.Client(connection).connect()).rejects.toMatchObject({ code: "3D000" });
  });
});
