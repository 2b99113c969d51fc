import type pg from "pg";
import type { FailureCode } from "../core/failures.ts";
import { run } from "./database.ts";

/** Something composed that the lab does not have yet. */
export interface PendingDelivery {
  readonly id: number;
  readonly fileName: string;
  readonly bytes: Buffer;
  readonly attempts: number;
  /** Tries that the lab answered with an error. */
  readonly errorAnswers: number;
}

/** Connectors whose oldest pending delivery is due. Index: deliveries_pending. */
const DUE_CONNECTORS = `
select d.connector
  from (select distinct connector from deliveries where state = 'pending') c
 cross join lateral (select p.connector, p.next_at
                       from deliveries p
                      where p.connector = c.connector
                        and p.state = 'pending'
                      order by p.id
                      limit 1) d
 where d.next_at <= now()`;

/**
 * A connector's oldest pending deliveries, due or not: what an order went through is told in order, so the first that
 * isn't due holds up those behind it. $1 connector, $2 how many. Index: deliveries_pending.
 */
const PENDING = `
select d.id, d.file_name, d.bytes, d.attempts, d.error_answers, d.next_at <= now() as is_due
  from deliveries d
 where d.connector = $1
   and d.state = 'pending'
 order by d.id
 limit $2`;

/** The lab has it, and the timelines say so; $1 bigint[]. Index: the primary key, outcomes_delivery. */
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
select t.order_id, 'told', jsonb_build_object('deliveryId', 'd' || done.id, 'file', done.file_name)
  from done
  join outcomes t on t.delivery_id = done.id
 where t.order_id is not null
 order by t.id`;

/** Not yet; $1 id, $2 ms until the next try, $3 code, $4 text, $5 1 for an answer, else 0. Index: the primary key. */
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

/** Connectors that have a delivery due now. */
export async function findDueDeliveries(pool: pg.Pool): Promise<string[]> {
  return (await run<{ connector: string }>(pool, DUE_CONNECTORS)).map((row) => row.connector);
}

/** The next deliveries of a connector that are due, in the order in which they were composed. */
export async function listDueDeliveries(
  pool: pg.Pool,
  connector: string,
  limit: number,
): Promise<PendingDelivery[]> {
  const rows = await run<{
    id: number;
    file_name: string;
    bytes: Buffer;
    attempts: number;
    error_answers: number;
    is_due: boolean;
  }>(pool, PENDING, [connector, limit]);
  const held = rows.findIndex((row) => !row.is_due);
  const due = held === -1 ? rows : rows.slice(0, held);
  return due.map((row) => ({
    id: row.id,
    fileName: row.file_name,
    bytes: row.bytes,
    attempts: row.attempts,
    errorAnswers: row.error_answers,
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
    /** Whether the lab answered, with an error. */
    readonly isAnswer: boolean;
    readonly code: FailureCode;
    readonly text: string;
  },
): Promise<void> {
  await run(pool, POSTPONE, [failed.id, failed.nextInMs, failed.code, failed.text, failed.isAnswer ? 1 : 0]);
}

/** Records a delivery that needs a person. */
export async function parkDelivery(
  pool: pg.Pool,
  delivery: { readonly id: number; readonly code: FailureCode; readonly text: string },
): Promise<void> {
  await run(pool, PARK, [delivery.id, delivery.code, delivery.text]);
}
