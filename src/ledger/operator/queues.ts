import type pg from "pg";
import { inTransaction, list } from "../database.ts";
import { type Act, recordAudit } from "./audit.ts";

/** $1 queue, $2 actor, $3 the reason that was given. Nothing is returned when it is paused already. */
const PAUSE = `
insert into paused_queues (queue, actor, reason)
values ($1, $2, $3)
on conflict (queue) do nothing
returning queue`;

/** $1 queue. */
const RESUME = "delete from paused_queues where queue = $1 returning queue";

/** Has nothing new handed to a queue until it is resumed; false when it is paused already. */
export function pauseQueue(pool: pg.Pool, queue: string, act: Act): Promise<boolean> {
  return change(pool, PAUSE, [queue, act.actor, act.reason], "pause", act);
}

/** Lets a paused queue go on; false when it wasn't paused. */
export function resumeQueue(pool: pg.Pool, queue: string, act: Act): Promise<boolean> {
  return change(pool, RESUME, [queue], "resume", act);
}

async function change(
  pool: pg.Pool,
  statement: string,
  values: readonly [queue: string, ...(string | undefined)[]],
  action: string,
  act: Act,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    if ((await client.query(statement, [...values])).rowCount !== 1) return false;
    await recordAudit(client, act, action, [{ target: values[0], detail: { reason: act.reason } }]);
    return true;
  });
}

/** A queue that a person has paused: nothing new is handed to it; intake goes on. */
export interface PausedQueue {
  readonly queue: string;
  readonly since: Date;
  readonly actor: string;
  /** As the person gave it. */
  readonly reason: string | undefined;
}

const PAUSED = "select queue, paused_at as since, actor, reason from paused_queues order by queue";

/** The queues that are paused. */
export function findPausedQueues(pool: pg.Pool): Promise<PausedQueue[]> {
  return list<PausedQueue>(pool, PAUSED);
}

/** How much of a queue's work stands where, by the ledger. */
export interface QueueWork {
  /** Due now, and not in anybody's hands. */
  readonly waiting: number;
  /** Due later: after a failure, or at the next planned check of the service. */
  readonly delayed: number;
  /** With the queue or a worker. */
  readonly inHand: number;
  /** Needs a person. */
  readonly parked: number;
}

/**
 * Orders before their submission. Orders in a lane behind another one count as waiting. Each part is counted in its index:
 * many may wait. Indexes: orders_waiting, orders_still (for what is on hold), orders_state, calls_order.
 */
const SUBMIT_WORK = `
select (w.waiting + h.waiting)::integer as waiting,
       (w.all_of_them - w.waiting + h."delayed")::integer as "delayed",
       h."inHand"::integer as "inHand",
       (select count(*) from orders o where o.state = 'parked')::integer as parked
  from (select count(*) as all_of_them, count(*) filter (where o.next_at <= now()) as waiting
          from (select next_at from orders where state = 'received' and held_at is null
                union all
                select next_at from orders where state = 'received' and held_at is not null) o) w
 cross join (
       select count(*) filter (where o.owner is null and k.look_at <= now()) as waiting,
              count(*) filter (where o.owner is null and k.look_at > now()) as "delayed",
              count(*) filter (where o.owner is not null) as "inHand"
         from orders o
         left join calls k on k.order_id = o.id
          and o.owner is null
          and k.kind <> 'cancel'
          and k.outcome is null
        where o.state = 'submitting') h`;

/** Orders that the service has. Index: orders_tracked. */
const TRACK_WORK = `
select count(*) filter (where o.next_at <= now())::integer as waiting,
       count(*) filter (where o.next_at > now())::integer as "delayed",
       0 as "inHand",
       0 as parked
  from orders o
 where o.state in ('submitted', 'accepted', 'in_progress')`;

/** Results: facts that no file was made of yet count as waiting. Indexes: outcomes_open, deliveries_pending. */
const DELIVER_WORK = `
select (select count(*) from outcomes t where not t.is_composed)::integer
       + count(*) filter (where d.state = 'pending' and d.next_at <= now())::integer as waiting,
       count(*) filter (where d.state = 'pending' and d.next_at > now())::integer as "delayed",
       0 as "inHand",
       count(*) filter (where d.state = 'parked')::integer as parked
  from deliveries d
 where (d.state = 'pending' or d.state = 'parked')`;

/** Where the work of each queue stands, by the ledger. */
export async function countQueueWork(
  pool: pg.Pool,
): Promise<Record<"submit" | "track" | "deliver", QueueWork>> {
  const count = async (statement: string) => (await list<QueueWork>(pool, statement))[0] as QueueWork;
  return {
    submit: await count(SUBMIT_WORK),
    track: await count(TRACK_WORK),
    deliver: await count(DELIVER_WORK),
  };
}

/** An order that a worker has in hand. */
export interface OrderInHand {
  readonly workerId: number;
  /** Such as `o17`. */
  readonly orderId: string;
  readonly placerOrderNumber: string | undefined;
}

/** $1 how many. Index: orders_state. */
const IN_HAND = `
select o.owner as "workerId", 'o' || o.id as "orderId", o.placer_order_number as "placerOrderNumber"
  from orders o
 where o.state = 'submitting'
   and o.owner is not null
 order by o.id
 limit $1`;

/** The orders that workers have in hand, the oldest first. */
export function listInHand(pool: pg.Pool, limit: number): Promise<OrderInHand[]> {
  return list<OrderInHand>(pool, IN_HAND, [limit]);
}
