import type pg from "pg";
import { run } from "../database.ts";

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

/** Calls to cancel; $1 ms. Index: control_requests_open. */
const CANCELS = `
update control_requests
   set next_at = now()
 where state = 'open'
   and next_at > now() + $1 * interval '1 millisecond'
returning id`;

/** Looks for what calls made; $1 ms. Index: calls_look. */
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
  for (const statement of [ORDERS, DELIVERIES, CANCELS, LOOKS, HEARTBEATS, PAUSES])
    count += (await run(pool, statement, [longestMs])).length;
  return count;
}
