import { Client } from "pg";
import { expect, test } from "vitest";
import { withDatabase } from "./with-database.ts";

test("each test gets an empty database of its own", async () => {
  await withDatabase(async (first) => {
    await first.pool.query("CREATE TABLE mine ()");
    await withDatabase(async (second) => {
      await expect(second.pool.query("SELECT FROM mine")).rejects.toMatchObject({ code: "42P01" });
    });
  });
});

test("the URL leads to the same database", () =>
  withDatabase(async ({ url, connection }) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query("SELECT current_database() AS name");
    expect(rows).toEqual([{ name: connection.database }]);
    await client.end();
  }));

test("the database is removed although a client was left connected", async () => {
  let left: Client | undefined;
  const name = await withDatabase(async ({ connection }) => {
    left = new Client(connection);
    left.on("error", () => undefined);
    await left.connect();
    return connection.database;
  });
  await withDatabase(async ({ pool }) => {
    const { rows } = await pool.query("SELECT 1 FROM pg_database WHERE datname = $1", [name]);
    expect(rows).toEqual([]);
  });
  await left?.end().catch(() => undefined);
});
