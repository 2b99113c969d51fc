import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { findPostgresPackage, openPrograms, type PostgresPackage, type Programs } from "./binaries.ts";
import { countOthers, type EmbeddedConnection, encodeConnection, knock, type LiveClient } from "./client.ts";
import { openCluster } from "./cluster.ts";
import { type Home, openHome } from "./home.ts";
import { isServing, readPostmaster, removeStalePostmaster } from "./postmaster.ts";
import { launchServer, stopServer } from "./server.ts";

/** Our connection to a running server. While it is open, other processes of ours leave the server running. */
export interface Presence extends LiveClient {
  readonly connection: EmbeddedConnection;
  readonly home: Home;
  readonly programs: Programs;
}

export interface EnterOptions {
  /** A real path. */
  readonly dataDir: string;
  /** Names this process among those that use the server. */
  readonly instance: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Ends all waiting. */
  readonly signal: AbortSignal;
}

/** A server that answered. */
type Answered = LiveClient & { readonly connection: EmbeddedConnection; readonly serverVersion: string };
type ConnectionTo = (host: string, port: number) => EmbeddedConnection;
type Waiting = Pick<EnterOptions, "clock" | "signal">;

const POLL_MS = 20;
const ABSENT_PATIENCE_MS = 60_000;
/** Recovery after a power cut reads up to `max_wal_size`, on a slow disk for minutes. */
const BUSY_PATIENCE_MS = 900_000;
const LEFTOVER_POLL_MS = 100;

/**
 * Joins the running server of a data folder, or starts one. Call it with the start lock held.
 *
 * @param lastPort the port to take again, where the server listens on one
 */
export async function enterServer(options: EnterOptions, lastPort: number | undefined): Promise<Presence> {
  const { logger } = options;
  const from = await findPostgresPackage();
  const home = await openHome(options.dataDir);
  const programs = await openPrograms(from, home, logger);
  const password = await openCluster(home, programs, from, logger);
  const connectionTo = (host: string, port: number) =>
    encodeConnection(host, port, password, options.instance);

  const running = await findRunning(home, connectionTo, options);
  if (running && !(await isOutdated(running, from))) return { ...running, home, programs };
  if (running) {
    logger.info({ running: running.serverVersion, ours: from.serverVersion }, "replacing an older server");
    await running.client.end();
    await stopServer(home, programs);
  }
  return { ...(await launchUntilReady(home, programs, connectionTo, lastPort, options)), home, programs };
}

/** Ends our presence and stops the server, unless another process of ours uses it. Call it with the start lock held. */
export async function leaveServer(presence: Presence, waiting: Waiting): Promise<"stopped" | "left-running"> {
  const { home, connection } = presence;
  let client = presence.client;
  let others = await countOthers(client, connection).catch(() => undefined);
  if (others === undefined) {
    // Our connection is dead. Either the server is too, or another process has started it again.
    const running = await findRunning(home, (host, port) => ({ ...connection, host, port }), waiting);
    if (!running) return "stopped";
    client = running.client;
    others = await countOthers(client, connection);
  }
  await client.end().catch(() => undefined);
  if (others > 0) return "left-running";
  if (await stopServer(home, presence.programs)) return "stopped";
  throw new Failure("LEDGER_STOP_FAILED", `the database server of ${home.data} does not stop`);
}

/** An orphan of the last release is replaced, unless someone else works with it just now. */
async function isOutdated(running: Answered, from: PostgresPackage): Promise<boolean> {
  if (running.serverVersion === from.serverVersion) return false;
  return (await countOthers(running.client, running.connection)) === 0;
}

/** Waits out a server that is starting, recovering or stopping. Undefined when there is none. */
async function findRunning(
  home: Home,
  connectionTo: ConnectionTo,
  { clock, signal }: Waiting,
): Promise<Answered | undefined> {
  const startedAt = clock.monotonic();
  for (;;) {
    const postmaster = await readPostmaster(home.data);
    if (!postmaster) return undefined;
    const connection = connectionTo(postmaster.socketDir || "127.0.0.1", postmaster.port);
    const answer = await knock(connection);
    if (answer.state === "ready") return { ...answer, connection };
    if (answer.state === "absent" && !(await isServing(postmaster, home.data))) {
      await removeStalePostmaster(postmaster, home.data);
      return undefined;
    }
    if (clock.monotonic() - startedAt > patienceFor(answer.state)) {
      throw new Failure(
        "LEDGER_START_FAILED",
        `the database server, process ${postmaster.pid}, does not answer`,
      );
    }
    await clock.sleep(POLL_MS, signal);
  }
}

/**
 * Starts the server, again if need be: children of a killed server take a moment to notice, and until they are gone
 * PostgreSQL refuses to start on their data.
 */
async function launchUntilReady(
  home: Home,
  programs: Programs,
  connectionTo: ConnectionTo,
  lastPort: number | undefined,
  { clock, signal, logger }: EnterOptions,
): Promise<Answered> {
  const startedAt = clock.monotonic();
  for (;;) {
    const answer = await launchOnce(home, programs, connectionTo, lastPort, { clock, signal });
    if (typeof answer !== "string") return answer;
    const isWaitingForOthers = /shared memory block|lock file/.test(answer);
    if (!isWaitingForOthers || clock.monotonic() - startedAt > ABSENT_PATIENCE_MS) {
      throw new Failure("LEDGER_START_FAILED", `the database server did not start: ${answer}`);
    }
    logger.debug("processes of the last database server are still there; waiting for them");
    await clock.sleep(LEFTOVER_POLL_MS, signal);
  }
}

/** The server that was started, or why it is not there. */
async function launchOnce(
  home: Home,
  programs: Programs,
  connectionTo: ConnectionTo,
  lastPort: number | undefined,
  { clock, signal }: Waiting,
): Promise<Answered | string> {
  const launch = await launchServer(home, programs, lastPort);
  const connection = connectionTo(launch.host, launch.port);
  const startedAt = clock.monotonic();
  for (;;) {
    const answer = await knock(connection);
    if (answer.state === "ready") return { ...answer, connection };
    const end = await launch.findEnd();
    if (end !== undefined) return end;
    if (clock.monotonic() - startedAt > patienceFor(answer.state)) return "it does not answer";
    await clock.sleep(POLL_MS, signal);
  }
}

function patienceFor(state: "absent" | "busy"): number {
  return state === "busy" ? BUSY_PATIENCE_MS : ABSENT_PATIENCE_MS;
}
