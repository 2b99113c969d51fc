import type pg from "pg";
import type { FailureCode } from "../core/failures.ts";
import { run } from "./database.ts";
import { HELD_DELIVERIES, heldDeliveries, isAnswerAlone, isNotHeld, ordersOf } from "./held-deliveries.ts";

/** Something composed that the lab does not have yet. */
export interface PendingDelivery {
  readonly id: number;
  readonly fileName: string;
  readonly bytes: Buffer;
  readonly attempts: number;
  /** Tries that failed for a reason of its own: the lab answered with an error, or took others meanwhile. */
  readonly ownFailures: number;
  /** Whether it is set aside because it alone fails. */
  readonly isAside: boolean;
  /** The orders that it tells about. */
  readonly orderIds: readonly number[];
  /** Says no more than that a message came, or waits: it holds back nothing, and goes out behind nothing later. */
  readonly isAnswer: boolean;
}

/**
 * Connectors whose oldest pending delivery that no other one holds back is due. Goes from one connector to the next, so
 * that a long backlog costs no more than a short one. The order by connector and id, with `between` for equality, is that of
 * one index alone: after the end of a backlog, whose statistics stay, the planner took to walk through all deliveries by id.
 * Index: deliveries_pending.
 */
const DUE_CONNECTORS = `
with recursive ${HELD_DELIVERIES},
connectors(name) as (
  (select p.connector
     from deliveries p
    where p.state = 'pending'
    order by p.connector, p.id
    limit 1)
   union all
  select (select p.connector
            from deliveries p
           where p.state = 'pending'
             and p.connector > c.name
           order by p.connector, p.id
           limit 1)
    from connectors c
   where c.name is not null)
select c.name as connector
  from connectors c
 cross join lateral (
       select p.next_at
         from deliveries p
        where p.connector between c.name and c.name
          and p.state = 'pending'
          and ${isNotHeld("p")}
        order by p.connector, p.id
        limit 1) n
 where n.next_at <= now()`;

/**
 * A connector's oldest pending deliveries, due or not: what an order went through is told in order, so the first that
 * isn't due holds up those behind it. Those that are held back are left out. $1 connector, $2 how many.
 * Indexes: deliveries_pending, outcomes_delivery, the primary key of outcome_orders.
 */
const pending = (held: string): string => `
with recursive ${held}
select d.id, d.file_name, d.bytes, d.attempts, d.error_answers, d.next_at <= now() as is_due,
       d.error_answers > 0 and d.failure_code is not distinct from 'DELIVERY_FAILS_ALONE' as is_aside,
       (select coalesce(array_agg(distinct told.order_id), '{}')
          from outcomes t
         cross join lateral (${ordersOf("t")}) told
         where t.delivery_id = d.id) as order_ids,
       exists (select from outcomes t where t.delivery_id = d.id and ${isAnswerAlone("t")}) as is_answer
  from deliveries d
 where d.connector between $1 and $1
   and d.state = 'pending'
   and ${isNotHeld("d")}
 order by d.connector, d.id
 limit $2`;

const PENDING = pending(HELD_DELIVERIES);
/** The same without a delivery and what waits behind it; $3 its id. */
const PENDING_BESIDE = pending(heldDeliveries("$3"));

/**
 * The lab has it, and the timelines say so, but for answers to a message as a whole; $1 bigint[]. Indexes: the primary key,
 * outcomes_delivery, the primary key of outcome_orders.
 */
const DELIVERED = `
with done as (
  update deliveries
     set state = 'delivered',
         attempts = attempts + 1,
         delivered_at = now(),
         failure_code = null,
         failure_text = null
   where id = any ($1)
     and state = 'pending'
  returning id, file_name)
insert into order_events (order_id, kind, detail)
select told.order_id, 'told', jsonb_build_object('deliveryId', 'd' || done.id, 'file', done.file_name)
  from done
  join outcomes t on t.delivery_id = done.id
 cross join lateral (${ordersOf("t")}) told
 where t.kind in ('changed', 'wishes')
 order by t.id`;

/** Not yet; $1 id, $2 ms until the next try, $3 code, $4 text, $5 1 for an error of its own, else 0. Index: the primary key. */
const POSTPONE = `
update deliveries
   set attempts = attempts + 1,
       error_answers = error_answers + $5,
       next_at = now() + $2 * interval '1 millisecond',
       failure_code = $3,
       failure_text = $4
 where id = $1
   and state = 'pending'`;

/** It will not go without a person; $1 id, $2 code, $3 text. */
const PARK = `
update deliveries
   set state = 'parked',
       attempts = attempts + 1,
       failure_code = $2,
       failure_text = $3
 where id = $1
   and state = 'pending'`;

/** $1 id. Indexes: the primary key, deliveries_refused. */
const REFUSED_ALONE = `
select exists (select 1
                 from deliveries later
                where later.connector = d.connector
                  and later.id > d.id
                  and later.state = 'delivered')
       or not exists (select 1
                        from deliveries other
                       where other.connector = d.connector
                         and other.id <> d.id
                         and other.state = 'pending'
                         and other.error_answers > 0) as is_alone
  from deliveries d
 where d.id = $1`;

/**
 * Whether the lab's errors are about this delivery: it took a later one, or gave an error to no other that waits. A lab
 * system that answers each with an error is in trouble itself, and then none is to be parked for it.
 */
export async function isRefusedAlone(pool: pg.Pool, deliveryId: number): Promise<boolean> {
  const [row] = await run<{ is_alone: boolean }>(pool, REFUSED_ALONE, [deliveryId]);
  return row?.is_alone === true;
}

/** $1 id, $2 connector. Index: the primary key. */
const IS_PENDING = `
select exists (select 1
                 from deliveries d
                where d.id = $1
                  and d.connector = $2
                  and d.state = 'pending') as is_pending`;

/**
 * Whether the lab is still to be told through this connector: a person may have given it up, or moved it to another
 * one, since it was listed, or another process told it.
 */
export async function isStillPending(pool: pg.Pool, deliveryId: number, connector: string): Promise<boolean> {
  const [row] = await run<{ is_pending: boolean }>(pool, IS_PENDING, [deliveryId, connector]);
  return row?.is_pending === true;
}

/** Connectors that have a delivery due now. */
export async function findDueDeliveries(pool: pg.Pool): Promise<string[]> {
  return (await run<{ connector: string }>(pool, DUE_CONNECTORS)).map((row) => row.connector);
}

/** The next deliveries of a connector that are due and wait behind no other one, in the order in which they were composed. */
export async function listDueDeliveries(
  pool: pg.Pool,
  connector: string,
  limit: number,
): Promise<PendingDelivery[]> {
  return listDue(pool, PENDING, [connector, limit]);
}

/** The same, but as if everything later about the orders of one delivery waited behind that. */
export async function listDueBeside(
  pool: pg.Pool,
  connector: string,
  limit: number,
  deliveryId: number,
): Promise<PendingDelivery[]> {
  return listDue(pool, PENDING_BESIDE, [connector, limit, deliveryId]);
}

async function listDue(pool: pg.Pool, query: string, values: unknown[]): Promise<PendingDelivery[]> {
  const rows = await run<{
    id: number;
    file_name: string;
    bytes: Buffer;
    attempts: number;
    error_answers: number;
    is_due: boolean;
    is_aside: boolean;
    order_ids: number[];
    is_answer: boolean;
  }>(pool, query, values);
  const held = rows.findIndex((row) => !row.is_due);
  const due = held === -1 ? rows : rows.slice(0, held);
  return due.map((row) => ({
    id: row.id,
    fileName: row.file_name,
    bytes: row.bytes,
    attempts: row.attempts,
    ownFailures: row.error_answers,
    isAside: row.is_aside,
    orderIds: row.order_ids,
    isAnswer: row.is_answer,
  }));
}

/** Records that the lab has these. */
export async function recordDelivered(pool: pg.Pool, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await run(pool, DELIVERED, [ids]);
}

/** Records a try that failed for now. */
export async function postponeDelivery(
  pool: pg.Pool,
  failed: {
    readonly id: number;
    readonly nextInMs: number;
    /** Whether it failed for a reason of its own: others go on meanwhile. */
    readonly isItsOwn: boolean;
    readonly code: FailureCode;
    readonly text: string;
  },
): Promise<void> {
  await run(pool, POSTPONE, [failed.id, failed.nextInMs, failed.code, failed.text, failed.isItsOwn ? 1 : 0]);
}

/** Records a delivery that needs a person. */
export async function parkDelivery(
  pool: pg.Pool,
  delivery: { readonly id: number; readonly code: FailureCode; readonly text: string },
): Promise<void> {
  await run(pool, PARK, [delivery.id, delivery.code, delivery.text]);
}
