import type pg from "pg";
import type { Condition } from "../../core/condition.ts";
import { run } from "../database.ts";

/** $1 the worker's id, $2 JSON array. Index: the primary key. */
const RECORD = "update workers set conditions = $2 where id = $1 and ended_at is null";

/** Notes what keeps a worker from its work, where the others see it. */
export async function recordConditions(
  pool: pg.Pool,
  self: number,
  conditions: readonly Condition[],
): Promise<void> {
  await run(pool, RECORD, [self, JSON.stringify(conditions)]);
}
