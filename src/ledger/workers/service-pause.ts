import type pg from "pg";
import type { Logger } from "../../core/logger.ts";
import type { OtherWorkers } from "../../core/service-outage.ts";
import { run } from "../database.ts";

/** $1 cause, $2 text, $3 since, $4 ms since the first failure, $5 openings, $6 ms from now on. */
const OUTAGE = `
update service_pause
   set cause = $1,
       text = $2,
       since = $3,
       failing_since = now() - $4 * interval '1 millisecond',
       openings = $5,
       until_at = greatest(until_at, now() + $6 * interval '1 millisecond')`;

const RECOVERY = `
update service_pause
   set cause = null,
       text = null,
       since = null,
       failing_since = null,
       openings = 0,
       until_at = '-infinity'`;

/** $1 ms. */
const ASKED = `
update service_pause
   set asked_until = greatest(asked_until, now() + $1 * interval '1 millisecond')`;

/**
 * Of several workers that ask at once, the row's lock lets one through. Their own timers may be a little ahead. $1 ms, $2 whether
 * the time is not waited for.
 */
const PROBE = `
with mine as (
  update service_pause
     set until_at = now() + $1 * interval '1 millisecond'
   where cause is not null
     and (until_at < now() + interval '250 milliseconds' or $2)
  returning 1)
select exists (select 1 from mine) or cause is null as may
  from service_pause`;

const YIELD = `
update service_pause
   set until_at = now()
 where cause is not null`;

/** Reports to the other workers of a ledger what this one finds of the service, one thing after the other. */
export function tellOthers(pool: pg.Pool, logger: Logger): OtherWorkers {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(what: () => Promise<T>): Promise<T> => {
    const turn = last.then(what);
    last = turn.catch((error: unknown) =>
      logger.warn({ err: error }, "the other workers could not be told how the service is"),
    );
    return turn;
  };
  const write = (sql: string, values: readonly unknown[]) => {
    inTurn(() => run(pool, sql, values)).catch(() => undefined);
  };
  return {
    reportOutage: ({ cause, text, since, failingMs, openings, leftMs }) =>
      write(OUTAGE, [cause, text, since, failingMs, openings, leftMs]),
    reportRecovery: () => write(RECOVERY, []),
    reportPause: (ms) => write(ASKED, [ms]),
    mayProbe: async (withinMs, isForced) => {
      const rows = await inTurn(() => run<{ may: boolean }>(pool, PROBE, [withinMs, isForced])).catch(
        () => [],
      );
      return rows[0]?.may === true;
    },
    yieldProbe: () => write(YIELD, []),
  };
}
