import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, test } from "vitest";
import type { Failure } from "../../src/core/failures.ts";
import { type DatabaseConnection, openPool } from "../../src/ledger/database.ts";
import { assertFitSettings, assertOwnSessions } from "../../src/ledger/sessions.ts";
import { startPostgres } from "../cluster/postgres.ts";
import { ALL_WELL } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { planLoad } from "../support/lab-load.ts";
import { findProgram, machineHas } from "../support/needs.ts";
import { withDatabase } from "../support/with-database.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";
import { withServerSite } from "../support/with-server-site.ts";

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

describe("a server, a database and a role with settings of their own", () => {
  const ODD = {
    datestyle: "German, DMY",
    intervalstyle: "iso_8601",
    timezone: "Pacific/Chatham",
    standard_conforming_strings: "off",
    backslash_quote: "off",
    bytea_output: "escape",
    extra_float_digits: "-15",
    array_nulls: "off",
    transform_null_equals: "on",
    row_security: "off",
    quote_all_identifiers: "on",
    default_transaction_isolation: "serializable",
    default_transaction_deferrable: "on",
    synchronous_commit: "off",
    search_path: "elsewhere",
    client_encoding: "LATIN1",
    statement_timeout: "1ms",
    lock_timeout: "1ms",
    idle_in_transaction_session_timeout: "1ms",
    enable_indexscan: "off",
    enable_nestloop: "off",
    jit: "on",
  };
  const setAll = async (pool: pg.Pool, settings: Readonly<Record<string, string>>) => {
    const { rows } = await pool.query<{ name: string }>("select current_database() as name");
    for (const [name, value] of Object.entries(settings)) {
      await pool.query(
        `alter database ${rows[0]?.name} set ${name} = ${value.includes(",") ? value : `'${value}'`}`,
      );
    }
  };

  test("change no session of ours, and a whole daemon works with them", () =>
    withServerSite({ simulator: { speed: 1_000 } }, async ({ server, lab, start, waitForEnd }) => {
      const pool = new pg.Pool(server.connection);
      await setAll(pool, ODD);
      await pool.end();
      const daemon = await start();
      try {
        for (const name of Object.keys(ODD)) {
          const { rows } = await daemon.pool.query<{ value: string; source: string }>(
            "select setting as value, source from pg_settings where lower(name) = $1",
            [name],
          );
          expect(`${name} from ${rows[0]?.source}`).toBe(`${name} from client`);
        }
        const load = planLoad(5, 10, 0);
        for (const { connector, name, content } of load.files) await lab.drop(connector, name, content);
        expect(await waitForEnd(load.orders, 240_000)).toEqual(ALL_WELL);
      } finally {
        await daemon.stop();
      }
    }));

  test.each([
    ["idle_session_timeout", "10s", "idle_session_timeout is 10s and has to be 0"],
    ["transaction_timeout", "10s", "transaction_timeout is 10s and has to be 0"],
    ["default_transaction_read_only", "on", "default_transaction_read_only is on and has to be off"],
  ])(
    "are refused in words where no session can change them, with the command that helps: %s",
    (name, value, words) =>
      withDatabase(async ({ connection, pool }) => {
        await setAll(pool, { [name]: value });
        const own = openPool({ connection, schema: "cryobridge", max: 1, applicationName: "test" }, silent);
        const failure = await assertFitSettings(own).catch((error: unknown) => error);
        expect(failure).toMatchObject({
          code: "LEDGER_SETTINGS_UNFIT",
          message: expect.stringContaining(words),
        });
        await own.end();
        for (const [, command = ""] of (failure as Failure).hint.matchAll(/`(ALTER [^`]*)`/g))
          await pool.query(`set default_transaction_read_only = off; ${command}`);
        const next = openPool({ connection, schema: "cryobridge", max: 1, applicationName: "test" }, silent);
        await assertFitSettings(next);
        await next.end();
      }),
  );
});
