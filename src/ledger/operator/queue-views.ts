import type pg from "pg";
import { run } from "../database.ts";
import { formatId } from "../ids.ts";
import { fromOrderRow, type LedgerOrder, ORDER_COLUMNS, type OrderRow } from "../orders/row.ts";
import { WAITS_BEHIND } from "../results/deliveries.ts";
import type { DeliveryView } from "./views.ts";

/** How much of a queue's work stands where, by the ledger. */
export interface QueueWork {
  /** Due now, and not in anybody's hands. */
  readonly waiting: number;
  /** Due later: after a failure, or at the next planned look at the service. */
  readonly backingOff: number;
  /** With the queue or a worker. */
  readonly inHand: number;
  /** Needs a person. */
  readonly parked: number;
}

/**
 * Orders before their submission. Orders in a lane behind another one count as waiting.
 * Indexes: orders_waiting, orders_in_hand, orders_state.
 */
const SUBMIT_WORK = `
select count(*) filter (where (o.state = 'received' or (o.state = 'submitting' and o.owner is null))
                          and o.next_at <= now())::integer as waiting,
       count(*) filter (where (o.state = 'received' or (o.state = 'submitting' and o.owner is null))
                          and o.next_at > now())::integer as backing_off,
       count(*) filter (where o.state = 'queued' or (o.state = 'submitting' and o.owner is not null))::integer as in_hand,
       count(*) filter (where o.state = 'parked')::integer as parked
  from orders o
 where o.state in ('received', 'queued', 'submitting', 'parked')`;

/** Orders that the service has. Index: orders_tracked. */
const TRACK_WORK = `
select count(*) filter (where o.next_at <= now())::integer as waiting,
       count(*) filter (where o.next_at > now())::integer as backing_off,
       0 as in_hand,
       0 as parked
  from orders o
 where o.state in ('submitted', 'accepted', 'in_progress')`;

/** Results: facts that no file was made of yet count as waiting. Indexes: outcomes_open, deliveries_pending. */
const DELIVER_WORK = `
select (select count(*) from outcomes t where not t.is_composed)::integer
       + count(*) filter (where d.state = 'pending' and d.next_at <= now())::integer as waiting,
       count(*) filter (where d.state = 'pending' and d.next_at > now())::integer as backing_off,
       0 as in_hand,
       count(*) filter (where d.state = 'parked')::integer as parked
  from deliveries d
 where (d.state = 'pending' or d.state = 'parked')`;

/** Orders whose last step failed and that are tried again, next one first; $1 how many. Indexes: orders_waiting, orders_in_hand. */
const RETRYING_ORDERS = `
select ${ORDER_COLUMNS}
  from orders o
 where o.state in ('received', 'submitting')
   and o.failure_code is not null
 order by o.next_at, o.id
 limit $1`;

/** $1 id. Indexes: the primary key, deliveries_lanes. */
const DELIVERY_BY_ID = `
select d.id, d.connector, d.file_name, d.state, d.attempts, d.failure_code, d.failure_text, d.created_at, d.delivered_at,
       d.next_at, octet_length(d.bytes) as size_bytes, d.order_ids,
       ${WAITS_BEHIND}
  from deliveries d
 where d.id = $1`;

interface WorkRow {
  waiting: number;
  backing_off: number;
  in_hand: number;
  parked: number;
}

/** Where the work of each queue stands, by the ledger. */
export async function countQueueWork(
  pool: pg.Pool,
): Promise<Record<"submit" | "track" | "deliver", QueueWork>> {
  const count = async (sql: string): Promise<QueueWork> => {
    const [row] = await run<WorkRow>(pool, sql);
    return {
      waiting: row?.waiting ?? 0,
      backingOff: row?.backing_off ?? 0,
      inHand: row?.in_hand ?? 0,
      parked: row?.parked ?? 0,
    };
  };
  return {
    submit: await count(SUBMIT_WORK),
    track: await count(TRACK_WORK),
    deliver: await count(DELIVER_WORK),
  };
}

/** Orders whose last step failed and that will be tried again, soonest first. */
export async function listRetryingOrders(pool: pg.Pool, limit: number): Promise<LedgerOrder[]> {
  return (await run<OrderRow>(pool, RETRYING_ORDERS, [limit])).map(fromOrderRow);
}

/** A delivery with what it tells about. */
export interface DeliveryDetails extends DeliveryView {
  /** Undefined once retention has pruned the bytes. */
  readonly sizeBytes: number | undefined;
  readonly orderIds: readonly string[];
}

/** One delivery; undefined when there is none with this id. */
export async function findDelivery(pool: pg.Pool, deliveryId: number): Promise<DeliveryDetails | undefined> {
  const [row] = await run<{
    id: number;
    connector: string;
    file_name: string;
    state: DeliveryView["state"];
    attempts: number;
    failure_code: string | null;
    failure_text: string | null;
    created_at: Date;
    delivered_at: Date | null;
    next_at: Date;
    size_bytes: number | null;
    order_ids: number[];
    waits_behind: number | null;
  }>(pool, DELIVERY_BY_ID, [deliveryId]);
  return (
    row && {
      deliveryId: formatId("d", row.id),
      connector: row.connector,
      fileName: row.file_name,
      state: row.state,
      attempts: row.attempts,
      failure:
        row.failure_code === null ? undefined : { code: row.failure_code, text: row.failure_text ?? "" },
      createdAt: row.created_at,
      deliveredAt: row.delivered_at ?? undefined,
      nextAt: row.next_at,
      waitsBehind: row.waits_behind === null ? undefined : formatId("d", row.waits_behind),
      sizeBytes: row.size_bytes ?? undefined,
      orderIds: row.order_ids.map((id) => formatId("o", id)),
    }
  );
}
