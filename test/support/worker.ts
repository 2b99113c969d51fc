import type pg from "pg";
import { WORKER_LOCK } from "../../src/ledger/locks.ts";
import { registerWorker } from "../../src/ledger/workers/roster.ts";
import { eventually } from "./eventually.ts";

/** Someone who is there as a daemon with the role `worker` is, and does nothing. */
export async function standIn(
  pool: pg.Pool,
): Promise<{ readonly id: number; readonly isSure: boolean; leave(): Promise<void> }> {
  const about = { name: "stand-in", host: "test", pid: 1, version: "1.0.0", connectors: [] };
  const id = await registerWorker(pool, { ...about, roles: ["worker"] });
  const session = await pool.connect();
  // The end of the test's ledger may come first.
  session.on("error", () => undefined);
  await session.query("select pg_advisory_lock($1, $2)", [WORKER_LOCK, id]);
  const isThere = async () =>
    (
      await pool.query("select 1 from pg_locks where locktype = 'advisory' and classid = $1 and objid = $2", [
        WORKER_LOCK,
        id,
      ])
    ).rowCount === 1;
  return {
    id,
    isSure: true,
    leave: async () => {
      session.release(true);
      await eventually(async () => !(await isThere()), { what: "the end of the session" });
    },
  };
}
