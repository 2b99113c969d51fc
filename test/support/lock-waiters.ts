import type pg from "pg";
import { eventually } from "./eventually.ts";

/** The server is the whole run's: other tests' sessions wait for their own locks. */
const WAITERS = `
select from pg_stat_activity
 where datname = current_database() and wait_event_type = 'Lock' and query ilike '%' || $1 || '%'`;

/** How many sessions of this ledger wait for a lock right now, with a statement that has these words. */
export async function countLockWaiters(pool: pg.Pool, words = ""): Promise<number> {
  return (await pool.query(WAITERS, [words])).rowCount ?? 0;
}

/** Waits until one of them does, or more. */
export async function waitForLockWaiter(pool: pg.Pool, words = ""): Promise<void> {
  await eventually(async () => (await countLockWaiters(pool, words)) > 0, {
    what: `a statement ${words} that waits`,
  });
}
