import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import { readPem } from "../core/given-file.ts";
import type { Logger } from "../core/logger.ts";
import type { QueueBackend } from "../jobs/queue-place.ts";
import type { BackupHead } from "../ledger/backup/file.ts";
import { loadBackup } from "../ledger/backup/restore.ts";
import {
  type DatabaseConnection,
  inTransaction,
  openPool,
  type PoolSettings,
  placeOf,
} from "../ledger/database.ts";
import { asRefusal } from "../ledger/database-failures.ts";
import { startEmbeddedPostgres } from "../ledger/embedded/embedded-postgres.ts";
import { migrateLedger } from "../ledger/migrate.ts";
import { assertFitSettings, assertOwnSessions } from "../ledger/sessions.ts";

const SCHEMA = "cryobridge";

/** The ledger, open for this process. */
export interface OpenLedger {
  readonly pool: pg.Pool;
  /** For what needs a session of its own. */
  readonly connection: DatabaseConnection;
  readonly isEmbedded: boolean;
  /** Ends the pool; the embedded server is stopped when nobody else uses it. */
  close(): Promise<void>;
}

interface OpenLedgerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The daemon keeps the embedded server alive; a command only joins it. */
  readonly isDaemon: boolean;
  /** How many connections the pool opens at most; 12 of a daemon and 4 of a command unless given. */
  readonly connections?: number | undefined;
  readonly observer?: PoolSettings["observer"];
  readonly mayTakeLong?: PoolSettings["mayTakeLong"];
}

/**
 * Opens the ledger that a configuration names, starting the embedded server where there is none, and brings its tables
 * up to date.
 *
 * @throws Failure LEDGER_… that says what is in the way.
 */
export async function openLedger(config: Config, options: OpenLedgerOptions): Promise<OpenLedger> {
  const { url } = config.database;
  const embedded = url
    ? undefined
    : await startEmbeddedPostgres({
        dataDir: config.dataDir,
        logger: options.logger,
        clock: options.clock,
        isOwner: options.isDaemon,
      });
  const connection: DatabaseConnection = embedded
    ? embedded.connection
    : {
        connectionString: (url as NonNullable<typeof url>).reveal(),
        // Other workers end all sessions of one that is frozen.
        ...(options.isDaemon && { application_name: `cryobridge-${randomUUID()}` }),
      };
  const pool = openPool(
    {
      connection,
      schema: SCHEMA,
      max: options.connections ?? (options.isDaemon ? 12 : 4),
      applicationName: "cryobridge-cli",
      observer: options.observer,
      mayTakeLong: options.mayTakeLong,
    },
    options.logger,
  );
  const close = async () => {
    const ended = pool.end();
    await (options.isDaemon ? ended : atMost(END_WITHIN_MS, ended, options.clock));
    await embedded?.stop();
  };
  try {
    if (!embedded) {
      await assertOwnSessions(pool, SCHEMA);
      await assertFitSettings(pool);
    }
    await migrateLedger(pool);
  } catch (error) {
    await close();
    throw asRefusal(error, placeOf(pool)) ?? error;
  }
  return { pool, connection, isEmbedded: embedded !== undefined, close };
}

/** A command that gave up on a database that hangs doesn't wait for its answer at the end either, ms. */
const END_WITHIN_MS = 2_000;

async function atMost(ms: number, work: Promise<void>, clock: Clock): Promise<void> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).catch(() => undefined);
  await Promise.race([work, late]).finally(() => done.abort());
}

/** BullMQ tries again at once, and this is what keeps that from taking a whole processor. */
const PAUSE_MS = 500;

interface OpenBackend {
  readonly backend: QueueBackend;
  readonly close: () => Promise<void>;
}

/** The place that a configuration gives BullMQ's jobs: the ledger's own server, or Redis. */
export function openQueueBackend(
  config: Config,
  connection: DatabaseConnection,
  options: {
    /** The ledger's, which keeps its jobs apart from those of other ledgers on the same Redis; undefined before it is made. */
    readonly instanceCode: string | undefined;
    readonly logger: Logger;
    readonly connections: number;
    readonly applicationName: string;
  },
): OpenBackend {
  if (config.queue.backend === "redis") {
    const { ca, ...settings } = config.queue;
    return {
      backend: {
        kind: "redis",
        prefix: `cryobridge-${options.instanceCode ?? "check"}`,
        isTrial: options.instanceCode === undefined,
        settings,
        ca: ca === undefined ? undefined : readPem("queue.ca", ca).toString("utf8"),
      },
      close: async () => {},
    };
  }
  const { connections: max, applicationName, logger } = options;
  const settings = { connection, schema: "bullmq", max, applicationName, pauseAfterFailureMs: PAUSE_MS };
  const pool: pg.Pool = openPool(settings, logger);
  return { backend: { kind: "postgres", pool }, close: () => pool.end() };
}

/** A backup that was read to its end. */
export interface ReadBackup {
  readonly file: string;
  readonly head: BackupHead;
}

/**
 * Opens a copy of a ledger by this release: starts the embedded server on a data folder of its own, puts a backup in, and
 * brings the tables up to date.
 *
 * @param dataDir is made
 * @throws Failure LEDGER_…, CLI_BACKUP_UNFIT when this release never had tables like the backup's
 */
export async function openRehearsal(
  dataDir: string,
  { file, head }: ReadBackup,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<OpenLedger> {
  const embedded = await startEmbeddedPostgres({ dataDir, clock, logger });
  const { connection } = embedded;
  const pool = openPool(
    { connection, schema: "cryobridge", max: 4, applicationName: "cryobridge-rehearsal", mayTakeLong: true },
    logger,
  );
  const close = async () => {
    await pool.end();
    await embedded.stop();
  };
  try {
    await migrateLedger(pool, undefined, new Set(Object.keys(head.migrations)));
    await inTransaction(pool, (client) => loadBackup(client, file, head));
    await migrateLedger(pool);
    return { pool, connection, isEmbedded: true, close };
  } catch (error) {
    await close();
    throw error;
  }
}
