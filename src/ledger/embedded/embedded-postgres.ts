import { randomBytes } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { countOthers, type EmbeddedConnection, encodeConnection, knock, type LiveClient } from "./client.ts";
import { type Home, openDataDir, openHome } from "./home.ts";
import { withStartLock } from "./lock.ts";
import { findPostgresPackage, openCluster, openPrograms, type Programs } from "./programs.ts";
import {
  isServing,
  launchServer,
  readPostmaster,
  removeStalePostmaster,
  type ServerPlace,
  stopServer,
} from "./server.ts";

export type { EmbeddedConnection } from "./client.ts";

interface EmbeddedOptions {
  /** The server lives in `<dataDir>/postgres`. Made if missing. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The daemon: it starts the server again whenever that is gone. Others (a command that runs for a moment) don't. */
  readonly isOwner?: boolean;
}

/** What a use of the server ended with: it was the last one, or others still work with it. */
type Departure = "stopped" | "left-running";

/** A running PostgreSQL server of our own. */
export interface EmbeddedPostgres {
  /** For `pg.Pool` and `pg.Client`. Stays the same when the server is restarted. */
  readonly connection: EmbeddedConnection;
  /**
   * Ends our use of the server. Close the pools first. The server is stopped, unless another process of ours still
   * uses it: who leaves last stops it. Never throws; a second call changes nothing.
   */
  stop(): Promise<Departure>;
}

/** Our connection to a running server. While it is open, other processes of ours leave the server running. */
interface Presence extends LiveClient {
  readonly connection: EmbeddedConnection;
  readonly home: Home;
  readonly programs: Programs;
}

const POLL_MS = 20;
/** A person who waits for a server that recovers, or hangs, is told so after a while. */
const SAY_AFTER_MS = 10_000;
/** Recovery after a power cut reads up to `max_wal_size`, on a slow disk for minutes. */
const ANSWER_PATIENCE_MS = 900_000;
/** The processes of a server that was killed end within this. */
const LEFTOVER_PATIENCE_MS = 60_000;
const LEFTOVER_POLL_MS = 100;
const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 10_000;
/** A server that is neither gone nor answering does not hold up our own end for longer. */
const LEAVE_PATIENCE_MS = 60_000;

/**
 * Starts the embedded server of a data folder, or joins the one that runs already, whoever started it: another process,
 * or a daemon that was killed and left it behind. Of several processes that call this at once, one starts it.
 * Throws a Failure LEDGER_… that says what is in the way.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { clock, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const dataDir = await openDataDir(options.dataDir);
  const instance = `${process.pid}-${randomBytes(3).toString("hex")}`;
  const enter = (lastPort?: number): Promise<Presence> =>
    withStartLock(dataDir, clock, signal, () =>
      enterServer({ dataDir, instance, lastPort, logger, clock, signal }),
    );

  let presence = await enter();
  const { connection } = presence;
  let restart: Promise<void> = Promise.resolve();
  const watch = (): void => {
    if (!options.isOwner) return;
    void presence.lost.then(() => {
      if (!signal.aborted) restart = restartServer();
    });
  };
  const restartServer = async (): Promise<void> => {
    logger.warn("the embedded database server is gone; starting it again");
    for (let delayMs = FIRST_BACKOFF_MS; !signal.aborted; delayMs *= 2) {
      try {
        await clock.sleep(Math.min(delayMs, LONGEST_BACKOFF_MS), signal);
        presence = await enter(connection.port);
        watch();
        logger.info("the embedded database server runs again");
        return;
      } catch (error) {
        if (!signal.aborted)
          logger.error({ err: error }, "the embedded database server could not be started; trying on");
      }
    }
  };
  const leave = async (): Promise<Departure> => {
    stopping.abort();
    await restart;
    try {
      const patience = AbortSignal.timeout(LEAVE_PATIENCE_MS);
      return await withStartLock(dataDir, clock, patience, () => leaveServer(presence));
    } catch (error) {
      logger.warn({ err: error }, "the embedded database server was left running");
      return "left-running";
    } finally {
      await presence.client.end().catch(() => undefined);
    }
  };

  watch();
  let departure: Promise<Departure> | undefined;
  return {
    connection,
    stop: () => {
      departure ??= leave();
      return departure;
    },
  };
}

interface EnterOptions extends Pick<EmbeddedOptions, "logger" | "clock"> {
  /** A real path. */
  readonly dataDir: string;
  /** Names this process among those that use the server. */
  readonly instance: string;
  /** The port to take again, where the server listens on one. */
  readonly lastPort: number | undefined;
  /** Ends all waiting. */
  readonly signal: AbortSignal;
}

/** Joins the running server of a data folder, or starts one. Call it with the start lock held. */
async function enterServer(options: EnterOptions): Promise<Presence> {
  const { dataDir, instance, logger } = options;
  const from = await findPostgresPackage();
  const home = await openHome(dataDir);
  const programs = await openPrograms(from, home, logger);
  const password = await openCluster(home, programs, from, logger);
  const connectionTo = (place: ServerPlace) => encodeConnection(place, password, instance);
  const server =
    (await joinServer(home, connectionTo, options)) ??
    (await startServer(home, programs, connectionTo, options));
  return { ...server, home, programs };
}

type Answered = LiveClient & { readonly connection: EmbeddedConnection };
type ConnectionTo = (place: ServerPlace) => EmbeddedConnection;

/** Waits for a server that is there, be it starting, recovering or stopping. Undefined when there is none. */
async function joinServer(
  home: Home,
  connectionTo: ConnectionTo,
  waiting: EnterOptions,
): Promise<Answered | undefined> {
  const postmaster = await readPostmaster(home.data);
  if (!postmaster) return undefined;
  const { clock, logger } = waiting;
  const { pid } = postmaster;
  let sayAtMs = clock.monotonic() + SAY_AFTER_MS;
  const answer = await awaitAnswer(connectionTo(postmaster), waiting, async () => {
    if (clock.monotonic() > sayAtMs) {
      logger.warn(
        { process: pid },
        "waiting for the database server that is there: it starts, recovers or stops",
      );
      sayAtMs = Number.POSITIVE_INFINITY;
    }
    return (await isServing(postmaster, home.data)) ? undefined : "it is gone";
  });
  if (typeof answer !== "string") return answer;
  await removeStalePostmaster(postmaster, home.data);
  return undefined;
}

const LEFT_PROCESSES =
  "Processes of the last database server are still there, stopped or waiting for a disk: `ps -fC postgres` shows them. End them (`kill -9`) and start again; what was committed is on disk.";

/**
 * Starts the server, again if need be: children of a killed server take a moment to notice, and until they are gone
 * PostgreSQL refuses to start on their data.
 */
async function startServer(
  home: Home,
  programs: Programs,
  connectionTo: ConnectionTo,
  waiting: EnterOptions,
): Promise<Answered> {
  const { clock, signal, logger } = waiting;
  const startedAt = clock.monotonic();
  for (;;) {
    const launch = await launchServer(home, programs, waiting.lastPort);
    const answer = await awaitAnswer(connectionTo(launch), waiting, launch.findEnd);
    if (typeof answer !== "string") return answer;
    const isWaitingForOthers = /shared memory block|lock file/.test(answer);
    if (!isWaitingForOthers || clock.monotonic() - startedAt > LEFTOVER_PATIENCE_MS) {
      const message = `the database server did not start: ${answer}`;
      const hint = isWaitingForOthers ? LEFT_PROCESSES : undefined;
      throw new Failure("LEDGER_START_FAILED", { message, hint });
    }
    logger.debug("processes of the last database server are still there; waiting for them");
    await clock.sleep(LEFTOVER_POLL_MS, signal);
  }
}

/** A connection to the server once it answers, or why it ended. */
async function awaitAnswer(
  connection: EmbeddedConnection,
  { clock, signal }: Pick<EnterOptions, "clock" | "signal">,
  findEnd: () => Promise<string | undefined>,
): Promise<Answered | string> {
  const startedAt = clock.monotonic();
  for (;;) {
    const live = await knock(connection);
    if (live) return { ...live, connection };
    const end = await findEnd();
    if (end !== undefined) return end;
    if (clock.monotonic() - startedAt > ANSWER_PATIENCE_MS) {
      throw new Failure("LEDGER_START_FAILED", "the database server does not answer");
    }
    await clock.sleep(POLL_MS, signal);
  }
}

/** Ends our presence and stops the server, unless another process of ours uses it. Call it with the start lock held. */
async function leaveServer({ client, connection, home, programs }: Presence): Promise<Departure> {
  const others = await countOthers(client, connection).catch(() => undefined);
  await client.end().catch(() => undefined);
  const isThere = async () => {
    const postmaster = await readPostmaster(home.data);
    return postmaster !== undefined && (await isServing(postmaster, home.data));
  };
  // Our connection is dead. Either the server is too, or its owner has started it again.
  if (others === undefined) return (await isThere()) ? "left-running" : "stopped";
  if (others > 0) return "left-running";
  // A server that was just killed can't be stopped, though its last connections may have answered.
  if ((await stopServer(home, programs)) || !(await isThere())) return "stopped";
  const { pid } = (await readPostmaster(home.data)) ?? {};
  throw new Failure(
    "LEDGER_STOP_FAILED",
    `the database server of ${home.data}, process ${pid}, does not stop`,
  );
}
