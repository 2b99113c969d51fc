/**
 * The ids of the orders that an outcome of that alias, with `id` and `order_id`, is about: one, several or none. As a query
 * whose column is `order_id`. Index: the primary key of outcome_orders.
 */
export const ordersOf = (alias: string): string =>
  `select ${alias}.order_id where ${alias}.order_id is not null
          union all
         select s.order_id from outcome_orders s where s.outcome_id = ${alias}.id`;

/**
 * The deliveries of the outcomes that are about an order, as a query whose column is `delivery_id`. Fenced off from the
 * planner, see {@link HELD_DELIVERIES}. Indexes: outcomes_order, outcome_orders_order, the primary key.
 */
export const tellingOf = (orderId: string): string =>
  `select o.delivery_id
           from outcomes o
          where o.order_id = ${orderId}
          union all
         select o.delivery_id
           from outcome_orders s
          cross join lateral (
                select several.delivery_id
                  from outcomes several
                 where several.id = s.outcome_id
                offset 0) o
          where s.order_id = ${orderId}`;

/**
 * Whether an outcome of that alias, which is in a delivery, is an answer to a message as a whole in a delivery of its own: that
 * it came, or waits. A lab system that takes no such answers still gets its results, so they hold back none; and an answer
 * that the lab has been told more than since is not sent any more (`overtaken.ts`). Index: outcomes_delivery.
 */
export const isAnswerAlone = (alias: string): string =>
  `(${alias}.kind in ('acknowledged', 'waiting')
            and not exists (select from outcomes other
                             where other.delivery_id = ${alias}.delivery_id
                               and other.id <> ${alias}.id))`;

/**
 * Whether the delivery of that alias waits to be tried again after it failed for a reason of its own: the lab answered with
 * an error, or others get through. Index: deliveries_refused.
 */
export const failedByItself = (alias: string): string =>
  `${alias}.state = 'pending'
     and ${alias}.error_answers > 0
     and ${alias}.failure_code in ('MLLP_RESULT_ERROR', 'DELIVERY_FAILS_ALONE')`;

/**
 * What is told of an order is told in the order in which it happened, so a result that is parked, or that failed for a
 * reason of its own (an error that the lab answered, or others get through) and that isn't due again yet, holds back the
 * later ones of its order, and one about several orders those of each of them, such as a file of results or an answer to
 * wishes. The acknowledgement of a message waits behind what was told before of its orders, and holds back nothing; what
 * belongs to no order, such as a refusal, does neither.
 *
 * For `with recursive`: `held(delivery_id, behind)`, each pending delivery with those that it waits behind, and each of
 * those with itself. Begins at them, so it costs nothing as long as there are none. Each step is fenced off from the
 * planner (`offset 0`, a subquery for the state): it asks the indexes in just this order, also while the statistics know
 * nothing yet of a backlog. Indexes: deliveries_parked, deliveries_refused, outcomes_delivery, outcomes_order,
 * outcome_orders_order, the primary keys.
 */
export const HELD_DELIVERIES = heldDeliveries();

/** The same, and what would wait behind the delivery of that id as well, if it held back anything. */
export function heldDeliveries(alsoHeld?: string): string {
  return `
held(delivery_id, behind) as (
  select k.id, k.id
    from deliveries k
   where k.state = 'parked'${alsoHeld === undefined ? "" : ` or k.id = ${alsoHeld}`}
   union
  select k.id, k.id
    from deliveries k
   where ${failedByItself("k")}
     and k.next_at > now()
   union
  select later.delivery_id, h.behind
    from held h
   cross join lateral (
         select t.id, t.order_id
           from outcomes t
          where t.delivery_id = h.delivery_id
            and not ${isAnswerAlone("t")}
         offset 0) fact
   cross join lateral (
         ${ordersOf("fact")}
         offset 0) told
   cross join lateral (
         ${tellingOf("told.order_id")}
         offset 0) later
   where later.delivery_id > h.delivery_id
     and (select p.state from deliveries p where p.id = later.delivery_id) = 'pending')`;
}

/**
 * Whether the pending delivery of that alias waits behind none, nor for its own time after an error; needs
 * {@link HELD_DELIVERIES}. By way of an array, which is taken for a short list whatever is in it: so it is hashed, and
 * not gone through for each delivery.
 */
export const isNotHeld = (alias: string): string =>
  `${alias}.id not in (select unnest(array(select h.delivery_id from held h)))`;

/** The first other delivery that delivery `d` waits behind, or null; needs {@link HELD_DELIVERIES}. */
export const WAITS_BEHIND =
  "(select min(h.behind) from held h where h.delivery_id = d.id and h.behind <> d.id and d.state = 'pending') as waits_behind";
