import { randomBytes } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { EmbeddedConnection } from "./client.ts";
import { type EnterOptions, enterServer, leaveServer, type Presence } from "./enter-server.ts";
import { openDataDir } from "./home.ts";
import { withStartLock } from "./start-lock.ts";

export type { EmbeddedConnection } from "./client.ts";

export interface EmbeddedOptions {
  /** The server lives in `<dataDir>/postgres`. Made if missing. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The daemon: it starts the server again whenever that is gone. Others (a command that runs for a moment) don't. */
  readonly isOwner?: boolean;
}

/** What a use of the server ended with: it was the last one, or others still work with it. */
export type Departure = "stopped" | "left-running";

/** A running PostgreSQL server of our own. */
export interface EmbeddedPostgres {
  /** For `pg.Pool` and `pg.Client`. Stays the same when the server is restarted. */
  readonly connection: EmbeddedConnection;
  /** Calls the listener each time the server was lost; returns a function that ends that. Pools get errors of their own. */
  onExit(listener: () => void): () => void;
  /**
   * Ends our use of the server. Close the pools first. The server is stopped, unless another process of ours still
   * uses it: who leaves last stops it. Never throws; a second call changes nothing.
   */
  stop(): Promise<Departure>;
}

const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 10_000;
/** A server that lived this long did not die of its start. */
const STABLE_AFTER_MS = 30_000;
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
  const entering: EnterOptions = {
    dataDir: await openDataDir(options.dataDir),
    instance: `${process.pid}-${randomBytes(3).toString("hex")}`,
    logger,
    clock,
    signal: stopping.signal,
  };
  const enter = async (lastPort?: number): Promise<Presence> =>
    await withStartLock(entering.dataDir, clock, stopping.signal, () => enterServer(entering, lastPort));

  let presence = await enter();
  const { connection } = presence;
  let enteredAt = clock.monotonic();
  let restart: Promise<void> = Promise.resolve();
  const listeners = new Set<() => void>();

  const watch = (): void => {
    void presence.lost.then(() => {
      if (stopping.signal.aborted) return;
      for (const listener of listeners) listener();
      if (options.isOwner) restart = restartServer();
    });
  };
  const restartServer = async (): Promise<void> => {
    logger.warn("the embedded database server is gone; starting it again");
    let delayMs = clock.monotonic() - enteredAt < STABLE_AFTER_MS ? FIRST_BACKOFF_MS : 0;
    while (!stopping.signal.aborted) {
      try {
        await clock.sleep(delayMs, stopping.signal);
        presence = await enter(connection.port);
        enteredAt = clock.monotonic();
        watch();
        logger.info("the embedded database server runs again");
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        logger.error({ err: error }, "the embedded database server could not be started; trying on");
        delayMs = Math.min(Math.max(FIRST_BACKOFF_MS, delayMs * 2), LONGEST_BACKOFF_MS);
      }
    }
  };
  const leave = async (): Promise<Departure> => {
    stopping.abort();
    await restart;
    const signal = AbortSignal.timeout(LEAVE_PATIENCE_MS);
    try {
      return await withStartLock(entering.dataDir, clock, signal, () =>
        leaveServer(presence, { clock, signal }),
      );
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
    onExit: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop: () => {
      departure ??= leave();
      return departure;
    },
  };
}
