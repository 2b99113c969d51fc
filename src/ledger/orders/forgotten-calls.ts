import type pg from "pg";
import { type Queryable, run } from "../database.ts";

/**
 * The ledger is an older copy of itself: a call for each of these orders may have left between what the copy knows last and now; $1
 * order ids, all of whose calls have ended. Indexes: the primary key of orders, calls_order.
 */
const PRESUME_CALLS = `
insert into calls (order_id, kind, is_presumed, surface, mark, subject_id, since, known_ids, left_by, look_at)
select o.id, 'request', true, f.surface, o.mark, f.subject_id, coalesce(f.since, l.forgotten_since),
       coalesce(f.known_ids, '{}'), l.restored_at, now()
  from orders o
 cross join ledger l
  left join lateral (
       select k.surface, k.subject_id, k.since, k.known_ids
         from calls k
        where k.order_id = o.id
          and k.kind = 'request'
          and k.mark = o.mark
          and k.outcome <> 'not_sent'
          and not k.is_presumed
        order by k.id
        limit 1) f on true
 where o.id = any ($1)`;

/** Presumes a call of each of these orders, within a transaction that has changed them or marked the ledger as restored. */
export async function presumeCalls(client: Queryable, orderIds: readonly number[]): Promise<void> {
  if (orderIds.length > 0) await client.query(PRESUME_CALLS, [orderIds]);
}

/**
 * Calls that a restored ledger presumes of orders of its copy: those of the copy itself, and those of this restore, which have its time.
 * What is presumed later keeps its own lane alone. Indexes: calls_look, the primary key of orders.
 */
const UNCOMPARED = `
  from ledger l
 cross join calls k
  join orders c on c.id = k.order_id
 where l.restored_at is not null
   and l.restore_lifted_at is null
   and c.id <= l.copy_order_id
   and (k.id <= l.copy_call_id or k.at <= l.restored_at)
   and k.look_at is not null
   and k.is_presumed
   and k.outcome is null`;

/** Whether a restored ledger has orders of its copy that are to be looked for at the service; and how many. */
export const IS_UNCOMPARED = `exists (select 1 ${UNCOMPARED})`;
export const COUNT_UNCOMPARED = `(select count(*)::integer ${UNCOMPARED})`;

/** For so long after a restore the lab may send again what the ledger has forgotten, days. */
export const WATCH_DAYS = 30;

/** Whether the restore of ledger l is seen to: it was not lifted, and its time is not over. */
export const IS_RESTORED = `(
       l.restored_at is not null
   and l.restore_lifted_at is null
   and (l.restored_at > now() - interval '${WATCH_DAYS} days' or ${IS_UNCOMPARED}))`;

/**
 * Whether a restored ledger may have forgotten a call for what order `o` asks for: none is known since the restore, and no look was
 * made. The lab may also have sent again what the ledger has forgotten as a whole. Index: calls_order.
 */
export const MAY_BE_FORGOTTEN = `
exists (select 1
          from ledger l
         where ${IS_RESTORED}
           and o.operation in ('STORE', 'RETRIEVAL')
           and o.state in ('received', 'submitting')
           and not exists (select 1
                             from calls k
                            where k.order_id = o.id
                              and k.kind = 'request'
                              and k.mark = o.mark
                              and k.id > l.copy_call_id
                              and k.outcome is distinct from 'not_sent'))`;

const IS_OF_COPY = "select $1 <= copy_order_id as is_of_copy from ledger";

/** Whether an order was in the copy that the ledger was restored from last; else it came since, or there was no restore. */
export async function isOfCopy(pool: pg.Pool, orderId: number): Promise<boolean> {
  const [row] = await run<{ is_of_copy: boolean | null }>(pool, IS_OF_COPY, [orderId]);
  return row?.is_of_copy === true;
}
