import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Logger } from "../core/logger.ts";
import { listOrphaned, type Orphaned } from "../ledger/results/orphaned.ts";
import { describeOrphaned, hintForOrphaned } from "../operator/things/orphaned.ts";

/** What waits of connectors that the configuration doesn't name. */
export async function readOrphaned(pool: pg.Pool, config: Pick<Config, "connectors">): Promise<Orphaned[]> {
  return listOrphaned(
    pool,
    config.connectors.map(({ name }) => name),
  );
}

/** Logs at the start what waits of connectors that are gone. */
export async function noteOrphaned(pool: pg.Pool, config: Config, logger: Logger): Promise<void> {
  for (const orphaned of await readOrphaned(pool, config)) {
    const { connector, results, orders, messages } = orphaned;
    logger.warn(
      { connector, results, orders, messages, hint: hintForOrphaned(orphaned) },
      describeOrphaned(orphaned),
    );
  }
}
