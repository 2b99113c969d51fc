/**
 * What is told of an order is told in the order in which it happened, so a result that is parked, or that the lab answered
 * with an error and that isn't due again yet, holds back the later ones of its order, and a file with results of several
 * orders those of each of them. Answers to a message as a whole belong to no order: they hold back nothing and wait for
 * nothing.
 *
 * For `with recursive`: `held(delivery_id, behind)`, each pending delivery with those that it waits behind, and each of
 * those with itself. Begins at them, so it costs nothing as long as there are none. Each step is fenced off from the
 * planner (`offset 0`, a subquery for the state): it asks the indexes in just this order, also while the statistics know
 * nothing yet of a backlog. Indexes: deliveries_parked, deliveries_refused, outcomes_delivery, outcomes_order, the
 * primary key.
 */
export const HELD_DELIVERIES = `
held(delivery_id, behind) as (
  select k.id, k.id
    from deliveries k
   where k.state = 'parked'
   union
  select k.id, k.id
    from deliveries k
   where k.state = 'pending'
     and k.error_answers > 0
     and k.failure_code = 'MLLP_RESULT_ERROR'
     and k.next_at > now()
   union
  select later.delivery_id, h.behind
    from held h
   cross join lateral (
         select t.order_id
           from outcomes t
          where t.delivery_id = h.delivery_id
            and t.order_id is not null
         offset 0) told
   cross join lateral (
         select o.delivery_id
           from outcomes o
          where o.order_id = told.order_id
            and o.delivery_id > h.delivery_id
         offset 0) later
   where (select p.state from deliveries p where p.id = later.delivery_id) = 'pending')`;

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
