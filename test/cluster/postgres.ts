import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import {
  type EmbeddedConnection,
  encodeConnection,
  knock,
  type LiveClient,
} from "../../src/ledger/embedded/client.ts";
import { CHILD_ENVIRONMENT, openDataDir, openHome } from "../../src/ledger/embedded/home.ts";
import {
  findPostgresPackage,
  openCluster,
  openPrograms,
  SUPERUSER,
} from "../../src/ledger/embedded/programs.ts";
import { openLink } from "../support/cuttable-link.ts";
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
  /** Makes a stand-by of it, which follows it from then on. It is stopped and started for that. */
  follow(): Promise<Standby>;
}

/** A server that follows another one and can take its place. */
export interface Standby {
  /** What the other one commits from now on doesn't come here any more. */
  cutOff(): void;
  /** Crashes the other one and takes its place, at its port, with what had come by then. */
  takeOver(): Promise<void>;
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
    unix_socket_directories: "",
    // Ten daemons.
    max_connections: 300,
    max_worker_processes: 2,
    log_min_messages: "fatal",
  };
  let { data } = home;
  let child: ChildProcess | undefined;
  let follower: ChildProcess | undefined;

  const run = async (from: string, given: Readonly<Record<string, string | number>>) => {
    const args = Object.entries({ ...settings, ...given }).flatMap(([name, v]) => ["-c", `${name}=${v}`]);
    const started = spawn(programs.postgres, ["-D", from, ...args], {
      ...home.account,
      cwd: home.path,
      env: CHILD_ENVIRONMENT,
      // Ctrl-C ends it when its daemons have ended.
      detached: true,
      stdio: "ignore",
    });
    const answered = await eventually<LiveClient | "ended">(
      async () => (hasEnded(started) ? "ended" : await knock({ ...connection, port: Number(given.port) })),
      { what: "the start of the database server" },
    );
    if (answered === "ended") throw new Error(`the database server in ${from} does not start`);
    await answered.client.end();
    return started;
  };
  const start = async () => {
    child = await run(data, { port });
  };
  const end = async (how: (running: ChildProcess) => unknown, running = child) => {
    if (!running || hasEnded(running)) return;
    const ended = once(running, "exit");
    await how(running);
    await ended;
  };
  const crash = () => end((running) => running.kill("SIGQUIT"));
  const stop = async () => {
    // Asked for a fast end.
    for (const each of [follower, child]) await end((running) => running.kill("SIGINT"), each);
  };

  const follow = async (): Promise<Standby> => {
    const copy = `${data}-follower`;
    await stop();
    await promisify(execFile)("cp", ["--archive", data, copy]);
    await writeFile(join(copy, "standby.signal"), "");
    await start();
    const link = await openLink(port);
    follower = await run(copy, {
      port: await findPort(),
      primary_conninfo: `host=127.0.0.1 port=${link.port} user=${SUPERUSER} password=${connection.password}`,
    });
    return {
      cutOff: () => link.cut(),
      takeOver: async () => {
        await crash();
        await link.close();
        await stop();
        await rm(join(copy, "standby.signal"));
        data = copy;
        await start();
      },
    };
  };
  await start();
  return {
    url: encodeUrl(connection),
    connection,
    get pid() {
      return child?.pid ?? 0;
    },
    ...{ stop, crash, follow },
    start,
    restart: async () => {
      await stop();
      await start();
    },
  };
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;
