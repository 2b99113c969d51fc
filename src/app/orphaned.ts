import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Logger } from "../core/logger.ts";
import { describeOrphaned, hintForOrphaned, readOrphaned } from "../operator/things/orphaned.ts";

/** Logs at the start what waits of connectors that are gone. */
export async function noteOrphaned(pool: pg.Pool, config: Config, logger: Logger): Promise<void> {
  for (const orphaned of await readOrphaned({ pool, config })) {
    const { connector, results, orders, messages } = orphaned;
    logger.warn(
      { connector, results, orders, messages, hint: hintForOrphaned(orphaned) },
      describeOrphaned(orphaned),
    );
  }
}
