import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type DatabaseConnection, openPool } from "../../src/ledger/database.ts";
import { assertOwnSessions } from "../../src/ledger/sessions.ts";
import { startPostgres } from "../cluster/postgres.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { findProgram, machineHas } from "../support/needs.ts";
import { withDatabase } from "../support/with-database.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";

async function assertOn(connection: DatabaseConnection): Promise<void> {
  const pool = openPool({ connection, schema: "cryobridge", max: 4, applicationName: "test" }, silent);
  try {
    await assertOwnSessions(pool, "cryobridge");
    // They are fit for use, and given back.
    await Promise.all([1, 2, 3, 4].map(() => pool.query("select 1")));
  } finally {
    await pool.end();
  }
}

/** Gives a test a connection to the server by way of PgBouncer with these settings. */
async function withPgBouncer(
  server: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly database: string;
  },
  settings: Readonly<Record<string, string>>,
  run: (connection: DatabaseConnection) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const { host, port, user, password, database } = server;
    const own = {
      listen_addr: "127.0.0.1",
      listen_port: await findPort(),
      unix_socket_dir: "",
      auth_type: "any",
    };
    const lines = [
      "[databases]",
      `${database} = host=${host} port=${port} user=${user} password=${password}`,
      "[pgbouncer]",
      ...Object.entries({ ...own, ...settings }).map(([name, value]) => `${name} = ${value}`),
    ];
    const file = join(folder, "pgbouncer.ini");
    await writeFile(file, lines.join("\n"), { mode: 0o644 });
    // It refuses to run as root.
    const account = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
    const child = spawn(findProgram("pgbouncer") ?? "pgbouncer", [...account, file], { stdio: "ignore" });
    const ended = once(child, "exit");
    const connection = { host: "127.0.0.1", port: own.listen_port, user, database };
    try {
      const answers = () =>
        assertOn(connection).then(
          () => true,
          (error: unknown) => (error as { code?: string }).code !== "LEDGER_UNAVAILABLE",
        );
      await eventually(answers, { what: "PgBouncer" });
      await run(connection);
    } finally {
      child.kill("SIGKILL");
      await ended;
    }
  });
}

test("takes a server that gives each connection a session of its own", () =>
  withDatabase(({ connection }) => assertOn(connection)));

describe.runIf(machineHas("pgbouncer"))("refuses PgBouncer", () => {
  const ignoring = { ignore_startup_parameters: "options,extra_float_digits" };
  const modes = [
    [
      "that lends sessions for a transaction",
      { pool_mode: "transaction", ...ignoring },
      "lends out sessions",
    ],
    [
      "that lends them by turns",
      { pool_mode: "transaction", server_round_robin: "1", ...ignoring },
      "lends out sessions",
    ],
    ["that lends them for a statement", { pool_mode: "statement", ...ignoring }, "lends out sessions"],
    ["that keeps sessions and drops options", { pool_mode: "session", ...ignoring }, "drops the options"],
    ["that refuses options", { pool_mode: "session" }, "refuses the options"],
  ] as const;
  test("in each way of lending sessions", () =>
    withFolder(async (folder) => {
      const server = await startPostgres(join(folder, "server"));
      try {
        for (const [which, settings, words] of modes) {
          await withPgBouncer(server.connection, settings, async (connection) => {
            const found = await assertOn(connection).then(
              () => "",
              (error: unknown) => (error as Error).message,
            );
            expect([which, found]).toEqual([which, expect.stringContaining(words)]);
          });
        }
      } finally {
        await server.stop();
      }
    }));
});
