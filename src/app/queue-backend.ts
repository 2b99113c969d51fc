import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Logger } from "../core/logger.ts";
import type { QueueBackend } from "../jobs/queues.ts";
import { type DatabaseConnection, openPool } from "../ledger/database.ts";

/** BullMQ tries again at once, and this is what keeps that from taking a whole processor. */
const PAUSE_MS = 500;

/** A queue backend and what has to be ended after the queues are closed. */
export interface OpenBackend {
  readonly backend: QueueBackend;
  readonly close: () => Promise<void>;
}

/** The place that a configuration gives BullMQ's jobs: the ledger's own server, or Redis. */
export function openQueueBackend(
  config: Config,
  connection: DatabaseConnection,
  options: {
    /** The ledger's, which keeps its jobs apart from those of other ledgers on the same Redis. */
    readonly instanceCode: string;
    readonly logger: Logger;
    readonly connections: number;
    readonly applicationName: string;
  },
): OpenBackend {
  if (config.queue.backend === "redis") {
    const { url, sentinels, cluster, username, password, tls } = config.queue;
    return {
      backend: {
        kind: "redis",
        prefix: `cryobridge-${options.instanceCode}`,
        url: url?.reveal(),
        sentinels: sentinels && { name: sentinels.master, nodes: sentinels.nodes },
        cluster,
        username,
        password: password?.reveal(),
        tls,
      },
      close: async () => {},
    };
  }
  const { connections: max, applicationName, logger } = options;
  const settings = { connection, schema: "bullmq", max, applicationName, pauseAfterFailureMs: PAUSE_MS };
  const pool: pg.Pool = openPool(settings, logger);
  return { backend: { kind: "postgres", pool }, close: () => pool.end() };
}
