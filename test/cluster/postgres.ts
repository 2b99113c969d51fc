import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { pino } from "pino";
import {
  type EmbeddedConnection,
  encodeConnection,
  knock,
  type LiveClient,
} from "../../src/ledger/embedded/client.ts";
import { CHILD_ENVIRONMENT, openDataDir, openHome } from "../../src/ledger/embedded/home.ts";
import { findPostgresPackage, openCluster, openPrograms } from "../../src/ledger/embedded/programs.ts";
import { stopServer } from "../../src/ledger/embedded/server.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { layDatabase } from "../support/test-server.ts";
import { encodeUrl } from "../support/with-database.ts";

/** A database server on a TCP port, which no daemon starts or stops. */
export interface ClusterPostgres {
  /** What `database.url` takes; the same after each start. */
  readonly url: string;
  readonly connection: EmbeddedConnection;
  /** Of the one that was started last; its sessions are its children. */
  readonly pid: number;
  /** Stops it as an administrator does: sessions are ended, and what was committed is on disk. */
  stop(): Promise<void>;
  /** Ends it at once, as a crash does; the next start recovers. */
  crash(): Promise<void>;
  /** Resolves once it answers. */
  start(): Promise<void>;
  /** Stops and starts it. */
  restart(): Promise<void>;
}

/** Starts the server that the program brings along, on a data folder of its own. */
export async function startPostgres(dataDir: string): Promise<ClusterPostgres> {
  const silent = pino({ level: "silent" });
  await layDatabase(dataDir);
  const from = await findPostgresPackage();
  const home = await openHome(await openDataDir(dataDir));
  const programs = await openPrograms(from, home, silent);
  const password = await openCluster(home, programs, from, silent);
  const port = await findPort();
  const connection = encodeConnection({ host: "127.0.0.1", port }, password, `cluster-${process.pid}`);
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    // Ten daemons.
    max_connections: 300,
    max_worker_processes: 2,
    log_min_messages: "fatal",
  };
  const args = ["-D", home.data, ...Object.entries(settings).flatMap(([name, v]) => ["-c", `${name}=${v}`])];
  let child: ChildProcess | undefined;

  const start = async () => {
    const started = spawn(programs.postgres, args, {
      ...home.account,
      cwd: home.path,
      env: CHILD_ENVIRONMENT,
      // Ctrl-C ends it when its daemons have ended.
      detached: true,
      stdio: "ignore",
    });
    child = started;
    const answered = await eventually<LiveClient | "ended">(
      async () => (hasEnded(started) ? "ended" : await knock(connection)),
      { what: "the start of the database server" },
    );
    if (answered === "ended") throw new Error(`the database server in ${home.data} does not start`);
    await answered.client.end();
  };
  const end = async (how: (running: ChildProcess) => unknown) => {
    if (!child || hasEnded(child)) return;
    const ended = once(child, "exit");
    await how(child);
    await ended;
  };
  const stop = () => end(() => stopServer(home, programs));
  await start();
  return {
    url: encodeUrl(connection),
    connection,
    get pid() {
      return child?.pid ?? 0;
    },
    stop,
    crash: () => end((running) => running.kill("SIGQUIT")),
    start,
    restart: async () => {
      await stop();
      await start();
    },
  };
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;
