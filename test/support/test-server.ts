import { execFile } from "node:child_process";
import { readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import { inject } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import {
  type EmbeddedConnection,
  startEmbeddedPostgres,
} from "../../src/ledger/embedded/embedded-postgres.ts";
import { eventually } from "./eventually.ts";
import { isAlive } from "./process.ts";

const silent = pino({ level: "silent" });

/** A database server of a test's own, external to the daemon, that the test may crash and start again. */
export interface TestServer {
  /** What `database.url` takes; the same after each start. */
  readonly url: string;
  readonly connection: EmbeddedConnection;
  /** Ends it at once, as a crash does: nothing is flushed or said goodbye to. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** Stops it, and removes its data. */
  remove(): Promise<void>;
}

/**
 * Lays a database that nobody has used yet below a data folder, so that the server's first start there need not make one,
 * which takes ten times as long as a start. Only for tests that are about something else.
 */
export async function layDatabase(dataDir: string): Promise<void> {
  // Benchmarks run outside of vitest: there the program makes its database itself.
  if (process.env.VITEST === undefined) return;
  await promisify(execFile)("cp", ["-a", inject("unusedDataDir"), dataDir]);
}

/** Starts such a server on a folder of its own; root's server runs under another account, which must get through to it. */
export async function startTestServer(dataDir: string): Promise<TestServer> {
  const launch = () => startEmbeddedPostgres({ dataDir, logger: silent, clock: systemClock });
  await layDatabase(dataDir);
  let running = await launch();
  const home = await realpath(join(dataDir, "postgres"));
  const { connection } = running;
  const { host, port, user, password, database } = connection;
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  const place = host.startsWith("/")
    ? `localhost:${port}/${database}?host=${encodeURIComponent(host)}`
    : `${host}:${port}/${database}`;
  return {
    url: `postgres://${login}@${place}`,
    connection,
    crash: async () => {
      const pid = Number((await readFile(join(home, "data/postmaster.pid"), "utf8")).split("\n")[0]);
      process.kill(pid, "SIGQUIT");
      await eventually(() => !isAlive(pid), { what: "the end of the database server" });
      await running.stop();
    },
    start: async () => {
      running = await launch();
    },
    remove: async () => {
      await running.stop();
      await rm(home, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
