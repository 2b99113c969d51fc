import type pg from "pg";
import { run } from "./database.ts";

/**
 * Text of messages whose orders, placed or changed, have all ended long ago, but of none that somebody may have go on at this moment; $1 ms,
 * $2 how many. Indexes: messages_with_raw, the primary key of orders.
 */
const FORGET_RAW = `
with old as materialized (
  select m.id
   from messages m
  where m.raw is not null
    and m.verdict <> 'waiting'
    and m.received_at < now() - $1 * interval '1 millisecond'
    and not exists (select 1
                      from orders o
                     where o.message_id = m.id
                       and (o.state not in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
                            or o.changed_at > now() - $1 * interval '1 millisecond'))
    and not exists (select 1 from outcomes t where t.message_id = m.id and not t.is_composed)
    and not exists (select 1
                      from control_requests c
                     where c.message_id = m.id
                       and c.state = 'open')
    and not exists (select 1
                      from control_requests c
                      join orders o on o.id = c.order_id
                     where c.message_id = m.id
                       and c.control in ('change', 'replace')
                       and c.state = 'done'
                       and (o.state not in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
                            or o.changed_at > now() - $1 * interval '1 millisecond'))
    and not exists (select 1
                      from corrections c
                      join orders o on o.id = c.order_id
                     where c.message_id = m.id
                       and (o.state not in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
                            or o.changed_at > now() - $1 * interval '1 millisecond'))
  order by m.received_at
   limit $2),
about as materialized (
  select m.id, x.order_id
    from old m
   cross join lateral (
         select o.id
           from orders o
          where o.message_id = m.id
          union
         select c.order_id
           from control_requests c
          where c.message_id = m.id
            and c.control in ('change', 'replace')
            and c.state = 'done'
          union
         select c.order_id
           from corrections c
          where c.message_id = m.id) x (order_id)),
ended as materialized (
  select o.id
    from orders o
   where o.id in (select a.order_id from about a)
     and o.state in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
     and o.changed_at <= now() - $1 * interval '1 millisecond'
     for share of o skip locked)
update messages m
   set raw = null,
       csv_rows = null,
       names = null,
       echo = null
  from old
 where m.id = old.id
   and not exists (select 1
                     from about a
                    where a.id = m.id
                      and not exists (select 1 from ended e where e.id = a.order_id))
returning m.id`;

/**
 * Bytes of results that the lab has had for long; $1 ms, $2 how many. The row is asked once more, since a person may have it go on at the moment
 * when it is found. Index: deliveries_with_bytes.
 */
const FORGET_BYTES = `
update deliveries
   set bytes = null
 where id in (select d.id
                from deliveries d
               where d.bytes is not null
                 and d.state in ('delivered', 'dropped')
                 and d.created_at < now() - $1 * interval '1 millisecond'
               order by d.created_at
               limit $2)
   and state in ('delivered', 'dropped')
returning id`;

/**
 * Personal data of orders that ended long ago, but of none that somebody may have go on at this moment; the order itself, its number and its
 * timeline stay. $1 ms, $2 how many. Indexes: orders_with_subject, the primary key.
 */
export const FORGET_SUBJECTS = `
with old as materialized (
  select o.id
    from orders o
   where o.state in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
     and o.changed_at < now() - $1 * interval '1 millisecond'
     and o.subject is not null
   order by o.changed_at
   limit $2
     for no key update skip locked)
update orders o
   set subject = null
  from old
 where o.id = old.id
returning o.id`;

/** What was sent of orders that ended long ago, but of none that somebody may have go on at this moment; $1 ms, $2 how many. Indexes: calls_with_body, the primary key of orders. */
const FORGET_BODIES = `
update calls
   set body = null
 where id in (select k.id
                from calls k
                join orders o on o.id = k.order_id
               where k.body is not null
                 and k.at < now() - $1 * interval '1 millisecond'
                 and o.state in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
                 and o.changed_at < now() - $1 * interval '1 millisecond'
               order by k.at
               limit $2
                 for share of o skip locked)
returning order_id`;

/** The service's answers to calls of orders that ended long ago, as above; $1 ms, $2 how many. Indexes: order_answers_order, the primary key of orders. */
const FORGET_ANSWERS = `
delete from order_answers
 where id in (select a.id
                from orders o
                join order_answers a on a.order_id = o.id
               where o.state in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
                 and o.changed_at < now() - $1 * interval '1 millisecond'
               order by o.changed_at
               limit $2
                 for share of o skip locked)
returning id`;

/** Workers that ended long ago; $1 ms, $2 how many. No index: there are few. */
const FORGET_WORKERS = `
delete from workers
 where id in (select w.id
                from workers w
               where w.ended_at < now() - $1 * interval '1 millisecond'
               limit $2)`;

/** What one round of forgetting did. */
interface Pruned {
  readonly messages: number;
  readonly deliveries: number;
  readonly orders: number;
  /** Calls whose bodies were forgotten. */
  readonly calls: number;
  /** Of the service. */
  readonly answers: number;
}

/**
 * Forgets a batch of what retention allows, never anything of an open order. Order numbers and digests stay for good:
 * an old message that comes again must still be recognised.
 */
export async function forgetOld(
  pool: pg.Pool,
  retention: { readonly messagesMs: number; readonly ordersMs: number },
  limit: number,
): Promise<Pruned> {
  const messages = await run(pool, FORGET_RAW, [retention.messagesMs, limit]);
  const deliveries = await run(pool, FORGET_BYTES, [retention.messagesMs, limit]);
  const orders = await run(pool, FORGET_SUBJECTS, [retention.ordersMs, limit]);
  const bodies = await run(pool, FORGET_BODIES, [retention.ordersMs, limit]);
  const answers = await run(pool, FORGET_ANSWERS, [retention.ordersMs, limit]);
  await run(pool, FORGET_WORKERS, [retention.messagesMs, limit]);
  return {
    messages: messages.length,
    deliveries: deliveries.length,
    orders: orders.length,
    calls: bodies.length,
    answers: answers.length,
  };
}
