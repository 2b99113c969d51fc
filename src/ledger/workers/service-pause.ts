import type pg from "pg";
import type { Logger } from "../../core/logger.ts";
import type { OtherWorkers } from "../../core/service-outage.ts";
import type { Quota } from "../../core/service-quota.ts";
import { list, run } from "../database.ts";

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

/** $1 quotas as JSON. */
const QUOTAS = {
  header: `
update service_pause
   set header_quotas = $1,
       header_at = now()`,
  learned: `
update service_pause
   set learned_quotas = $1,
       learned_at = now()`,
};

/** That no call leaves, or that the last ones failed. Indexes: none, it is one row. */
const CURRENT_PAUSE = `
select p.text,
       greatest(p.until_at, p.asked_until) as "until"
  from service_pause p
 where p.cause is not null
    or p.asked_until > now()`;

/** Why no call leaves to the service, or why the last ones failed, and until when none leaves. */
export interface ServicePause {
  /** Why; undefined where the service asked for the pause. */
  readonly text: string | undefined;
  readonly until: Date;
}

/** What keeps all workers from calling the service right now; undefined while nothing does. */
export async function findServicePause(pool: pg.Pool): Promise<ServicePause | undefined> {
  return (await list<ServicePause>(pool, CURRENT_PAUSE, []))[0];
}

/**
 * The quota of calls that holds back the most of those that the service stated within the hour, or that was learned of refusals within the
 * last ten of its windows, which it holds for at least; and how many orders could be sent now, counted no further than $1. No row where
 * no quota is known. Index: orders_waiting.
 */
const RUSH = `
select q.quota,
       (select count(*)::integer
          from (select
                  from orders o
                 where o.state = 'received'
                   and o.held_at is null
                   and o.next_at <= now()
                 limit $1) due) as "dueOrders"
  from service_pause p
 cross join lateral (
       select h.quota
         from jsonb_array_elements(p.header_quotas) h (quota)
        where p.header_at > now() - interval '1 hour'
        union all
       select l.quota
         from jsonb_array_elements(p.learned_quotas) l (quota)
        where p.learned_at > now() - 10 * (l.quota ->> 'windowMs')::double precision * interval '1 millisecond') q
 order by (q.quota ->> 'calls')::double precision / (q.quota ->> 'windowMs')::double precision
 limit 1`;

/** Orders are counted so far, for whom it is a rush anyway. */
const MOST_DUE = 10_000;

/** How many calls the service takes, and for how many orders. */
export interface Rush {
  /** Those that could be sent now; 10,000 stands for more. */
  readonly dueOrders: number;
  readonly quota: Quota;
}

/** How many orders could be sent now, where it is known how many calls the service takes; the configuration may allow fewer. */
export async function findRush(pool: pg.Pool): Promise<Rush | undefined> {
  return (await list<Rush>(pool, RUSH, [MOST_DUE]))[0];
}

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
    reportQuotas: (source, quotas) => write(QUOTAS[source], [JSON.stringify(quotas)]),
  };
}
