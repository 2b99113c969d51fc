import type pg from "pg";
import { run } from "./database.ts";
import { IS_LOOK_DUE } from "./orders/due-looks.ts";
import { IS_UNCOMPARED } from "./orders/forgotten-calls.ts";
import { DUE_FACILITIES } from "./orders/tracking.ts";

/** What a ledger has to do right now. What only waits for its lane or for its lab counts, too. */
export interface DueWork {
  /** Queues that an operator has paused: nothing new is handed to them; intake goes on. */
  readonly paused: readonly string[];
  /** An order's turn to be submitted may have come. */
  readonly isOrderWaiting: boolean;
  /** The service is to be looked at for what a call made. */
  readonly isLookDue: boolean;
  /** Orders are in a worker's hands, or have a call that is looked for. */
  readonly isOrderInHand: boolean;
  /** Facilities with orders due for polling. */
  readonly facilities: readonly number[];
  /** Something is to be composed for the lab, or to be sent to it. */
  readonly isResultOpen: boolean;
  /** The service is to be asked to cancel an order, or about that. */
  readonly isCancelDue: boolean;
  /** Orders of a restored ledger are still to be looked for at the service. */
  readonly isUncompared: boolean;
}

export const NOTHING_DUE: DueWork = {
  paused: [],
  isOrderWaiting: false,
  isLookDue: false,
  isOrderInHand: false,
  facilities: [],
  isResultOpen: false,
  isCancelDue: false,
  isUncompared: false,
};

/**
 * What there is to do; $1 text[] connectors. It is asked each second by each worker, so that nothing else has to be asked while there
 * is nothing: each part is a look for the first row of a partial index. Indexes: orders_waiting, orders_state, orders_tracked,
 * outcomes_open, deliveries_pending, control_requests_open, calls_look.
 */
export const FIND_DUE = `
select array(select q.queue from paused_queues q) as paused,
       exists (
         select 1
           from orders o
          where o.state = 'received'
            and o.held_at is null
            and o.next_at <= now()) as "isOrderWaiting",
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
                 limit 1) due) as "isResultOpen",
       exists (
         select 1
           from control_requests r
          where r.state = 'open'
            and r.next_at <= now()) as "isCancelDue",
       ${IS_UNCOMPARED} as "isUncompared"`;

/** What there is to do, for these connectors. @throws Failure LEDGER_… */
export async function findDue(pool: pg.Pool, connectors: readonly string[]): Promise<DueWork> {
  return (await run<DueWork & pg.QueryResultRow>(pool, FIND_DUE, [connectors]))[0] ?? NOTHING_DUE;
}
