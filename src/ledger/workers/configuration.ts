import type pg from "pg";
import { inTransaction, run } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";

/** How the configuration of a worker stands. Settings are named by their keys; no values are in it. */
export interface ConfigurationState {
  /** The file, absolute. */
  readonly file: string;
  /** Since when it works by what it works by, ISO 8601. */
  readonly since: string;
  /** Settings that differ in the file, and that a reload takes over. */
  readonly changed: readonly string[];
  /** Settings that differ in the file, and that a restart takes over. */
  readonly restart: readonly string[];
  /** Mistakes of the file as it is now, a line each: what was read last without mistakes stays. */
  readonly problems: readonly string[];
  /** Settings that the last reload took over; absent before the first. */
  readonly takenOver?: readonly string[] | undefined;
  /** Which request to reload was done last; null before the first. */
  readonly answered: number | null;
}

const RECORD = `
update workers
   set configuration = $2
 where id = $1`;

/** Writes down how a worker's configuration stands. */
export async function recordConfiguration(
  pool: pg.Pool,
  worker: number,
  state: ConfigurationState,
): Promise<void> {
  await run(pool, RECORD, [worker, JSON.stringify(state)]);
}

/** Index: workers_alive. */
const ASK = `
update workers
   set reload_at = clock_timestamp()
 where ended_at is null
returning id`;

/**
 * Asks all workers to take over what was changed in their configuration.
 *
 * @returns their ids
 */
export async function askReload(pool: pg.Pool, by: Act): Promise<number[]> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: number }>(ASK);
    const targets = rows.map(({ id }) => ({ target: formatId("w", id), detail: { reason: by.reason } }));
    await recordAudit(client, by, "reload", targets);
    return rows.map(({ id }) => id);
  });
}
