import type { Operation } from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import { type Queryable, run } from "../database.ts";
import { nameOrder } from "../ids.ts";
import { LABEL_LOCK } from "../locks.ts";
import { MAY_BE_AT_SERVICE } from "./calls.ts";

/** An order of another subject of the same facility that has one of an order's labels, open or in storage. */
export interface LabelHolder {
  readonly label: string;
  /** Such as `order P-1001`. */
  readonly otherName: string;
  readonly operation: Operation;
  /** `completed` for what was stored and has not been retrieved since. */
  readonly state: OrderState;
}

/** Whether a container was retrieved under the same identifier after a STORE of it; aliases of its row and the order's. */
const isRetrievedSince = (container: string, order: string) => `exists (
                       select 1
                         from order_containers taken
                         join orders r on r.id = taken.order_id
                        where taken.lane = ${container}.lane
                          and taken.label = ${container}.label
                          and r.operation = 'RETRIEVAL'
                          and r.state = 'completed'
                          and (r.changed_at, r.id) > (${order}.changed_at, ${order}.id))`;

/**
 * The first order of another subject that has a label of this one; $1 order id. Of two open orders the one with the lower
 * id comes first, unless the service has, or may have, the other one already. An order that the service doesn't have holds
 * no label of which this order's subject has a container in storage, nor one for which it is parked itself: it is checked
 * again before it goes. Identifiers that the lab has merged are those of one subject. Indexes: the primary keys, order_containers (label; lane and label), orders_merged, orders_subject.
 */
export const FIND_LABEL_HOLDER = `
with recursive mine as (
       select o.id, o.facility_id, o.subject_code
         from orders o
        where o.id = $1),
     holders as materialized (
       select own.position, c.label, e.id, e.placer_order_number, e.subject_code, e.operation, e.state, e.changed_at
         from mine m
         join order_containers own on own.order_id = m.id
         join order_containers c on c.label = own.label and c.order_id <> m.id
         join orders e on e.id = c.order_id
        where e.facility_id = m.facility_id
          and e.subject_code <> m.subject_code
          and case
                when e.state = 'completed'
                then e.operation = 'STORE'
                     and not ${isRetrievedSince("c", "e")}
                when ${MAY_BE_AT_SERVICE}
                then e.state not in ('rejected', 'cancelled', 'failed', 'discarded')
                else e.state in ('received', 'submitting', 'parked')
                     and e.id < m.id
                     and (e.state <> 'parked' or e.failure_code <> 'ORDER_LABEL_OF_OTHER_SUBJECT')
                     and not exists (
                       select 1
                         from order_containers stored
                         join orders s on s.id = stored.order_id
                        where stored.lane = own.lane
                          and stored.label = own.label
                          and s.operation = 'STORE'
                          and s.state = 'completed'
                          and not ${isRetrievedSince("stored", "s")})
              end),
     same_subject (code, other) as (
       select s.code, s.code
         from (select subject_code from mine union select subject_code from holders) s (code)
        union
       select s.code, merged.code
         from same_subject s
        cross join lateral (
              select g.subject_code
                from orders g, mine m
               where g.prior_subject_code = s.other
                 and g.facility_id = m.facility_id
                 and g.operation = 'MERGE'
                 and g.state not in ('cancelled', 'discarded')
               union all
              select g.prior_subject_code
                from orders g, mine m
               where g.subject_code = s.other
                 and g.facility_id = m.facility_id
                 and g.operation = 'MERGE'
                 and g.state not in ('cancelled', 'discarded')) merged (code))
select h.label, h.placer_order_number, h.operation, h.state
  from holders h
 cross join mine m
 where not exists (
         select 1
           from same_subject s
          where s.code = h.subject_code
            and s.other = m.subject_code)
   -- Stored under one identifier and retrieved under the one that it was merged into.
   and not (h.state = 'completed' and exists (
         select 1
           from same_subject s
           join order_containers c on c.lane = m.facility_id::text || '/' || s.other and c.label = h.label
           join orders r on r.id = c.order_id
          where s.code = h.subject_code
            and r.operation = 'RETRIEVAL'
            and r.state = 'completed'
            and (r.changed_at, r.id) > (h.changed_at, h.id)))
 order by h.position, h.id
 limit 1`;

/**
 * Those of these orders of which a label is also in an order of another subject that did not end without effect, merged
 * identifiers or not; $1 order ids. Hardly any is, so the others need no closer look. Indexes: the primary keys,
 * order_containers_label.
 */
const SHARE_A_LABEL = `
select distinct own.order_id
  from order_containers own
  join orders m on m.id = own.order_id
  join order_containers c on c.label = own.label and c.order_id <> own.order_id
  join orders e on e.id = c.order_id
 where own.order_id = any ($1)
   and e.facility_id = m.facility_id
   and e.subject_code <> m.subject_code
   and e.state not in ('rejected', 'cancelled', 'failed', 'discarded')`;

/** For each of these orders of which a label is another subject's, an order that has it; by order id. */
export async function findLabelHolders(
  db: Queryable,
  orderIds: readonly number[],
): Promise<ReadonlyMap<number, LabelHolder>> {
  const holders = new Map<number, LabelHolder>();
  if (orderIds.length === 0) return holders;
  for (const { order_id: orderId } of await run<{ order_id: number }>(db, SHARE_A_LABEL, [orderIds])) {
    const holder = await findLabelHolder(db, orderId);
    if (holder) holders.set(orderId, holder);
  }
  return holders;
}

/**
 * Locks the labels of orders until the transaction ends: in 64 groups, since the server has room for a limited number of
 * locks and an order may have hundreds of labels. In order, so that two never wait for each other; $1 order ids. Index: the
 * primary key.
 */
const LOCK_LABELS = `
select pg_advisory_xact_lock(${LABEL_LOCK}, l.bucket)
  from (select distinct hashtext(c.label) & 63 as bucket
          from order_containers c
         where c.order_id = any ($1)
         order by bucket) l`;

/** Lets nobody else pass a guard for one of these orders' labels until the transaction ends. */
export async function lockLabels(client: Queryable, orderIds: readonly number[]): Promise<void> {
  if (orderIds.length > 0) await run(client, LOCK_LABELS, [orderIds]);
}

/** An order of another subject that has one of this order's labels; undefined when each label is free, or this subject's. */
async function findLabelHolder(db: Queryable, orderId: number): Promise<LabelHolder | undefined> {
  const [row] = await run<{
    label: string;
    placer_order_number: string | null;
    operation: Operation;
    state: OrderState;
  }>(db, FIND_LABEL_HOLDER, [orderId]);
  if (!row) return undefined;
  const { label, placer_order_number, operation, state } = row;
  return { label, otherName: nameOrder(placer_order_number), operation, state };
}
