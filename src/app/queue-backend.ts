import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Logger } from "../core/logger.ts";
import type { QueueBackend } from "../jobs/queues.ts";
import { type DatabaseConnection, openPool } from "../ledger/database.ts";

/** A queue backend and what has to be ended after the queues are closed. */
export interface OpenBackend {
  readonly backend: QueueBackend;
  readonly close: () => Promise<void>;
}

/** The place that a configuration gives BullMQ's jobs: the ledger's own server, or Redis. */
export function openQueueBackend(
  config: Config,
  connection: DatabaseConnection,
  options: { readonly logger: Logger; readonly connections: number; readonly applicationName: string },
): OpenBackend {
  if (config.queue.backend === "redis") {
    const { url, sentinels, cluster, username, password, tls } = config.queue;
    return {
      backend: {
        kind: "redis",
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
  const pool: pg.Pool = openPool({ connection, schema: "bullmq", max, applicationName }, logger);
  return { backend: { kind: "postgres", pool }, close: () => pool.end() };
}
