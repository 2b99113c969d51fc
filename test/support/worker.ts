import type pg from "pg";
import { registerWorker, WORKER_LOCK } from "../../src/ledger/workers/roster.ts";

/** Someone who is there as a daemon with the role `worker` is, and does nothing. */
export async function standIn(pool: pg.Pool): Promise<{ readonly id: number; leave(): Promise<void> }> {
  const about = { name: "stand-in", host: "test", pid: 1, version: "1.0.0", connectors: [] };
  const id = await registerWorker(pool, { ...about, roles: ["worker"] });
  const session = await pool.connect();
  await session.query("select pg_advisory_lock($1, $2)", [WORKER_LOCK, id]);
  return { id, leave: async () => session.release(true) };
}
