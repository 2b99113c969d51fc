import type pg from "pg";
import type { FailureCode } from "../core/failures.ts";
import { run } from "./database.ts";

/** Something composed that the lab does not have yet. */
export interface PendingDelivery {
  readonly id: number;
  readonly fileName: string;
  readonly bytes: Buffer;
  readonly attempts: number;
}

/** Connectors with deliveries that are due. Index: deliveries_pending. */
const DUE_CONNECTORS = `
select distinct d.connector
  from deliveries d
 where d.state = 'pending'
   and d.next_at <= now()`;

/** A connector's oldest deliveries that are due; $1 connector, $2 how many. Index: deliveries_pending. */
const PENDING = `
select d.id, d.file_name, d.bytes, d.attempts
  from deliveries d
 where d.connector = $1
   and d.state = 'pending'
   and d.next_at <= now()
 order by d.id
 limit $2`;

/** The lab has it, and the timelines say so; $1 bigint[]. Index: the primary key, outcomes_order. */
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

/**
 * Not yet; $1 connector, $2 ms until the next try, $3 code, $4 text, $5 id of the one that was tried. The later ones wait
 * with it, since what an order went through is told in order. Index: deliveries_pending.
 */
const POSTPONE = `
update deliveries
   set attempts = attempts + case when id = $5 then 1 else 0 end,
       next_at = now() + $2 * interval '1 millisecond',
       failure_code = case when id = $5 then $3 else failure_code end,
       failure_text = case when id = $5 then $4 else failure_text end
 where connector = $1
   and state = 'pending'
   and id >= $5`;

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

/** The next deliveries of a connector, in the order in which they were composed. */
export async function listPendingDeliveries(
  pool: pg.Pool,
  connector: string,
  limit: number,
): Promise<PendingDelivery[]> {
  const rows = await run<{ id: number; file_name: string; bytes: Buffer; attempts: number }>(pool, PENDING, [
    connector,
    limit,
  ]);
  return rows.map((row) => ({
    id: row.id,
    fileName: row.file_name,
    bytes: row.bytes,
    attempts: row.attempts,
  }));
}

/** Records that the lab has these. */
export async function recordDelivered(pool: pg.Pool, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await run(pool, DELIVERED, [ids]);
}

/** Records a try that failed for now; the connector's later deliveries wait with it. */
export async function postponeDeliveries(
  pool: pg.Pool,
  failed: {
    readonly connector: string;
    readonly id: number;
    readonly nextInMs: number;
    readonly code: FailureCode;
    readonly text: string;
  },
): Promise<void> {
  await run(pool, POSTPONE, [failed.connector, failed.nextInMs, failed.code, failed.text, failed.id]);
}

/** Records a delivery that needs a person. */
export async function parkDelivery(
  pool: pg.Pool,
  delivery: { readonly id: number; readonly code: FailureCode; readonly text: string },
): Promise<void> {
  await run(pool, PARK, [delivery.id, delivery.code, delivery.text]);
}
