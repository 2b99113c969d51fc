import type pg from "pg";
import { run } from "./database.ts";
import { MAY_BE_CLAIMED } from "./orders/claiming.ts";
import { IS_LOOK_DUE } from "./orders/looks.ts";
import { DUE_FACILITIES } from "./orders/tracking.ts";

/** What a ledger has to do right now. What only waits for its lane or for its lab counts, too. */
export interface DueWork {
  /** Queues that an operator has paused: nothing new is handed to them; intake goes on. */
  readonly paused: readonly string[];
  /** An order may be claimed, unless it waits for its lane. */
  readonly isOrderWaiting: boolean;
  /** The service is to be looked at for what a call did, or to be called to cancel. */
  readonly isLookDue: boolean;
  /** Orders are in a worker's hands, or have a call that is looked for. */
  readonly isOrderInHand: boolean;
  /** Facilities with orders due for polling. */
  readonly facilities: readonly number[];
  /** Something is to be composed for the lab, or to be sent to it. */
  readonly isResultOpen: boolean;
}

export const NOTHING_DUE: DueWork = {
  paused: [],
  isOrderWaiting: false,
  isLookDue: false,
  isOrderInHand: false,
  facilities: [],
  isResultOpen: false,
};

/**
 * What there is to do; $1 text[] connectors. It is asked each second by each worker, so that nothing else has to be asked while there
 * is nothing: each part is a look for the first row of a partial index. Indexes: orders_waiting, orders_state, orders_tracked,
 * outcomes_open, deliveries_pending, calls_look.
 */
export const FIND_DUE = `
select array(select q.queue from paused_queues q) as paused,
       exists (
         select 1
           from orders o
          where ${MAY_BE_CLAIMED}) as "isOrderWaiting",
       ${IS_LOOK_DUE} as "isLookDue",
       exists (
         select 1
           from orders o
          where o.state = 'submitting') as "isOrderInHand",
       array(${DUE_FACILITIES}) as facilities,
       exists (
         select 1
           from outcomes t
          where not t.is_composed
            and t.connector = any ($1))
       or exists (
         select 1
           from unnest($1::text[]) c (name)
          cross join lateral (
                select 1
                  from deliveries d
                 where d.connector between c.name and c.name
                   and d.state = 'pending'
                   and d.next_at <= now()
                 order by d.connector, d.id
                 limit 1) due) as "isResultOpen"`;

/** What there is to do, for these connectors. @throws Failure LEDGER_… */
export async function findDue(pool: pg.Pool, connectors: readonly string[]): Promise<DueWork> {
  return (await run<DueWork & pg.QueryResultRow>(pool, FIND_DUE, [connectors]))[0] ?? NOTHING_DUE;
}

/** Open orders; $1 ms. Index: orders_state. */
const ORDERS = `
update orders
   set next_at = now()
 where state in ('received', 'submitting', 'submitted', 'accepted', 'in_progress')
   and next_at > now() + $1 * interval '1 millisecond'
returning id`;

/** Results that the lab doesn't have yet; $1 ms. Index: deliveries_pending. */
const DELIVERIES = `
update deliveries
   set next_at = now()
 where state = 'pending'
   and next_at > now() + $1 * interval '1 millisecond'
returning id`;

/** Looks for what calls did, and calls to cancel; $1 ms. Index: calls_look. */
const LOOKS = `
update calls
   set look_at = now()
 where look_at > now() + $1 * interval '1 millisecond'
returning id`;

/** Workers: one that died while the clock was ahead would count as silent only once that time comes; $1 ms. */
const HEARTBEATS = `
update workers
   set heartbeat_at = now()
 where ended_at is null
   and heartbeat_at > now() + $1 * interval '1 millisecond'
returning id`;

/** What keeps all calls from leaving; $1 ms. Index: none, it is one row. */
const PAUSES = `
update service_pause
   set asked_until = case when asked_until > now() + $1 * interval '1 millisecond' then now() else asked_until end,
       until_at = case when until_at > now() + $1 * interval '1 millisecond' then now() else until_at end
 where greatest(asked_until, until_at) > now() + $1 * interval '1 millisecond'
returning 1`;

/**
 * Makes due what is put off for longer than anything ever is: it was put off while the clock was far ahead, and would be
 * left alone until that time comes, which may be years.
 *
 * @param longestMs longer than any pause that the configuration leads to
 * @returns how much that was
 */
export async function clampSchedule(pool: pg.Pool, longestMs: number): Promise<number> {
  let count = 0;
  for (const statement of [ORDERS, DELIVERIES, LOOKS, HEARTBEATS, PAUSES])
    count += (await run(pool, statement, [longestMs])).length;
  return count;
}
