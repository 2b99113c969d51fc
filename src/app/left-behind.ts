import type pg from "pg";
import type { Config } from "../config/config.ts";
import { hintLeftBehind, needsPerson, tellLeftBehind } from "../console/tell-left-behind.ts";
import type { Logger } from "../core/logger.ts";
import { type LeftBehind, listLeftBehind } from "../ledger/left-behind.ts";
import { forgetMoves } from "../ledger/move-results.ts";

const namesOf = (config: Config) => config.connectors.map(({ name }) => name);

/** What waits of connectors that the configuration doesn't name. */
export async function readLeftBehind(pool: pg.Pool, config: Config): Promise<LeftBehind[]> {
  return listLeftBehind(pool, namesOf(config));
}

/** Says at the start what waits of connectors that are gone, and forgets moves of those that are there again. */
export async function noteLeftBehind(pool: pg.Pool, config: Config, logger: Logger): Promise<void> {
  await forgetMoves(pool, namesOf(config));
  for (const left of (await readLeftBehind(pool, config)).filter(needsPerson)) {
    const { connector, results, orders, messages } = left;
    logger.warn({ connector, results, orders, messages, hint: hintLeftBehind(left) }, tellLeftBehind(left));
  }
}
