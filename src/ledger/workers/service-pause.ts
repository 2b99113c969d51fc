import type pg from "pg";
import type { Logger } from "../../core/logger.ts";
import type { OtherWorkers } from "../../core/service-outage.ts";
import { run } from "../database.ts";

/** $1 cause, $2 text, $3 since, $4 ms since the first failure, $5 ms from now on. */
const OUTAGE = `
update service_pause
   set cause = $1,
       text = $2,
       since = $3,
       failing_since = now() - $4 * interval '1 millisecond',
       until_at = greatest(until_at, now() + $5 * interval '1 millisecond')`;

const RECOVERY = `
update service_pause
   set cause = null,
       text = null,
       since = null,
       failing_since = null,
       until_at = '-infinity'`;

/** $1 ms. */
const ASKED = `
update service_pause
   set asked_until = greatest(asked_until, now() + $1 * interval '1 millisecond')`;

/** Reports to the other workers of a ledger what this one finds of the service, one thing after the other. */
export function reportToOthers(pool: pg.Pool, logger: Logger): OtherWorkers {
  let last: Promise<unknown> = Promise.resolve();
  const write = (sql: string, values: readonly unknown[]) => {
    last = last
      .then(() => run(pool, sql, values))
      .catch((error: unknown) =>
        logger.warn({ err: error }, "how the service is could not be reported to the other workers"),
      );
  };
  return {
    reportOutage: ({ cause, text, since, failingMs, leftMs }) =>
      write(OUTAGE, [cause, text, since, failingMs, leftMs]),
    reportRecovery: () => write(RECOVERY, []),
    reportPause: (ms) => write(ASKED, [ms]),
  };
}
