import { randomBytes } from "node:crypto";
import { Client, Pool } from "pg";
import { inject } from "vitest";
import type { EmbeddedConnection } from "../../src/ledger/embedded/embedded-postgres.ts";
import { eventually } from "./eventually.ts";

/** A database of its own, empty, on the run's server. */
export interface TestDatabase {
  /** The same database as a URL, for what takes `database.url`. */
  readonly url: string;
  readonly connection: EmbeddedConnection;
  readonly pool: Pool;
}

/**
 * Gives a test a fresh, empty database and takes it away afterwards, whoever is still connected.
 * The pool is made and closed here; errors of idle clients (a server that the test stopped) are ignored.
 */
export async function withDatabase<T>(test: (database: TestDatabase) => Promise<T>): Promise<T> {
  const server = inject("postgres");
  const database = newName();
  await runOnServer(server, `CREATE DATABASE ${database} TEMPLATE template0`);
  const connection = { ...server, database };
  const pool = new Pool({ ...connection, max: 5 });
  pool.on("error", () => undefined);
  try {
    return await test({ url: encodeUrl(connection), connection, pool });
  } finally {
    await pool.end();
    await dropDatabase(server, database);
  }
}

/** A name that no other test of the run has. */
export const newName = () => `test_${process.pid}_${randomBytes(6).toString("hex")}`;

/**
 * The server's own autovacuum may be at work in the database. It runs as the superuser, whom FORCE may not end, so the
 * drop is refused for as long as it takes.
 */
export async function dropDatabase(server: EmbeddedConnection, database: string): Promise<void> {
  await eventually(
    () => runOnServer(server, `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`).then(() => true),
    { what: `the end of ${database}` },
  );
}

/** Runs a statement by a connection of its own. */
export async function runOnServer(connection: EmbeddedConnection, sql: string): Promise<void> {
  const client = new Client(connection);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A Unix socket's folder doesn't fit the host part of a URL; pg takes it as a parameter. */
export function encodeUrl({ host, port, user, password, database }: EmbeddedConnection): string {
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  return host.startsWith("/")
    ? `postgres://${login}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
    : `postgres://${login}@${host}:${port}/${database}`;
}
