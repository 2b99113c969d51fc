import pg from "pg";
import type { Clock } from "../core/clock.ts";
import { Failure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import { type DatabaseConnection, LIVENESS, run } from "./database.ts";
import { asLedgerFailure } from "./database-failures.ts";

/** The right to submit, of which each ledger has one. */
export interface SubmitterLock {
  /** Whether this process has it right now; it doesn't while the database is away. */
  readonly isHeld: boolean;
  release(): Promise<void>;
}

/** Key of the advisory lock; any number of our own, next to that of the migrations. */
export const SUBMITTER_LOCK = 7_264_002;
const RECONNECT_MS = 1_000;
/** Also names the session, so that it is known again when it lives on behind a broken connection; $1 key. */
const TRY_LOCK = `
select pg_try_advisory_lock($1) as is_ours, a.pid, a.backend_start::text as since
  from pg_stat_activity a
 where a.pid = pg_backend_pid()`;
/** $1 pid, $2 since when; a pid may be another session's by now. */
const END_SESSION = `
select pg_terminate_backend(a.pid)
  from pg_stat_activity a
 where a.pid = $1
   and a.backend_start = $2::timestamptz`;
const WHO_HOLDS_IT = `
select a.application_name, a.client_addr::text as address
  from pg_locks l
  join pg_stat_activity a on a.pid = l.pid
 where l.locktype = 'advisory'
   and l.objid = ${SUBMITTER_LOCK}
   and l.granted
   and l.database = (select oid from pg_database where datname = current_database())`;

/** A session of the database server's. */
interface Session {
  readonly pid: number;
  readonly since: string;
}

/**
 * Makes this process the ledger's one submitter, by a lock that lives as long as a session of its own: a process that is
 * stopped keeps it, one that dies loses it at once. After a restart of the database it is taken again, and so it is when
 * the connection broke and the server doesn't know: the session that has it then is ended.
 *
 * @param onLost called when another process took it meanwhile; then nothing may be submitted any more.
 * @throws Failure LEDGER_IN_USE when another process has it.
 */
export async function acquireSubmitterLock(
  connection: DatabaseConnection,
  deps: { readonly clock: Clock; readonly logger: Logger; readonly onLost: (failure: Failure) => void },
): Promise<SubmitterLock> {
  const stopping = new AbortController();
  let isHeld = false;
  let former: Session | undefined;

  const take = async (): Promise<pg.Client> => {
    const client = new pg.Client({
      ...connection,
      application_name: connection.application_name ?? "cryobridge-submitter",
      keepAlive: true,
      options: LIVENESS,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<Session & { is_ours: boolean }>(TRY_LOCK, [SUBMITTER_LOCK]);
      if (rows[0]?.is_ours) {
        former = rows[0];
        return client;
      }
      if (former !== undefined) {
        const ended = await client.query(END_SESSION, [former.pid, former.since]);
        if (ended.rowCount === 1)
          throw new Failure("LEDGER_UNAVAILABLE", "the session that broke still has the submitter's lock");
      }
      const holder = await client.query<{ application_name: string; address: string | null }>(WHO_HOLDS_IT);
      const who = holder.rows[0];
      throw new Failure(
        "LEDGER_IN_USE",
        `another daemon submits from this ledger (${who?.application_name ?? "unknown"} at ${who?.address ?? "this machine"})`,
      );
    } catch (error) {
      await client.end().catch(() => undefined);
      throw asLedgerFailure(error);
    }
  };

  const keep = async (first: pg.Client): Promise<void> => {
    let client = first;
    while (!stopping.signal.aborted) {
      const ended = new Promise<void>((resolve) => client.once("end", resolve));
      isHeld = true;
      await Promise.race([
        ended,
        new Promise<void>((resolve) =>
          stopping.signal.addEventListener("abort", () => resolve(), { once: true }),
        ),
      ]);
      isHeld = false;
      if (stopping.signal.aborted) return client.end().catch(() => undefined);
      deps.logger.warn(
        "the submitter's lock was lost with its database connection; nothing is submitted until it is back",
      );
      const again = await takeAgain();
      if (!again) return;
      client = again;
    }
  };

  const takeAgain = async (): Promise<pg.Client | undefined> => {
    while (!stopping.signal.aborted) {
      try {
        return await take();
      } catch (error) {
        if (error instanceof Failure && error.code === "LEDGER_IN_USE") {
          deps.onLost(error);
          return undefined;
        }
        await deps.clock.sleep(RECONNECT_MS, stopping.signal).catch(() => undefined);
      }
    }
    return undefined;
  };

  const keeping = keep(await take());
  return {
    get isHeld() {
      return isHeld;
    },
    release: async () => {
      stopping.abort();
      await keeping;
    },
  };
}

/** Whether a daemon holds this database's submitter lock; $1 its key. */
const IS_SUBMITTER_THERE = `
select exists (
  select 1
    from pg_locks l
   where l.locktype = 'advisory'
     and l.objid = $1
     and l.granted
     and l.database = (select oid from pg_database where datname = current_database())) as is_there`;

/** Whether a daemon works off this ledger's orders right now. */
export async function isSubmitterThere(pool: pg.Pool): Promise<boolean> {
  const [row] = await run<{ is_there: boolean }>(pool, IS_SUBMITTER_THERE, [SUBMITTER_LOCK]);
  return row?.is_there === true;
}
