/** What is not over yet. */
export const OPEN = `
select (select count(*)::integer
          from orders o
         where o.state not in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')) as orders,
       (select count(*)::integer from outcomes t where not t.is_composed)
       + (select count(*)::integer from deliveries d where d.state = 'pending') as results,
       (select count(*)::integer from calls k where k.outcome is not null and k.look_at is not null)
       + (select count(*)::integer from control_requests r where r.state = 'open') as calls`;

/** The same in words. */
export const OPEN_IN_WORDS = `
select concat_ws(' ', o.placer_order_number, o.state, o.failure_code, 'due in', extract(epoch from o.next_at - now())::integer, 's') as what
  from orders o
 where o.state not in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
union all
select concat_ws(' ', 'result', d.state, d.failure_code, 'due in', extract(epoch from d.next_at - now())::integer, 's')
  from deliveries d
 where d.state = 'pending'
union all
select 'outcome ' || t.kind from outcomes t where not t.is_composed
union all
select concat_ws(' ', 'look for', k.kind, k.outcome, 'in', extract(epoch from k.look_at - now())::integer, 's')
  from calls k
 where k.look_at is not null
union all
select concat_ws(' ', 'control', r.control)
  from control_requests r
 where r.state = 'open'`;

/** What the ledger knows of each order, for whoever looks into what went wrong. */
export const LIVES_IN_WORDS = `
select x.what
  from (select o.id, 0 as part, e.id as nth,
               concat_ws(' ', o.placer_order_number, e.at::time(3), e.kind, '> ' || e.to_state, nullif(e.detail, '{}')) as what
          from order_events e
          join orders o on o.id = e.order_id
        union all
        select o.id, 1, k.id,
               concat_ws(' ', o.placer_order_number, k.at::time(3), 'call', k.kind, case when k.is_presumed then 'presumed' end,
                         k.mark, 'since ' || k.since::time(3), 'left by ' || k.left_by::time(3), k.answer, k.failure_code,
                         coalesce(k.outcome, 'open'), k.service_id)
          from calls k
          join orders o on o.id = k.order_id) x
 order by x.id, x.part, x.nth`;

/** What came of each order, in the order in which they came. */
export const LIVES = `
select o.placer_order_number as number,
       array_agg(e.kind order by e.id) as kinds,
       coalesce(array_agg(e.detail ->> 'code' order by e.id) filter (where e.to_state = 'parked'), '{}') as parked
  from orders o
  join order_events e on e.order_id = o.id
 group by o.id
 order by o.id`;

/** Which moves, calls and refusals there were. */
export const COVERED = `
select 'move: ' || coalesce(e.former, '-') || ' > ' || e.to_state as what, count(*) as times
  from (select e.to_state, lag(e.to_state) over (partition by e.order_id order by e.id) as former
          from order_events e
         where e.to_state is not null) e
 group by 1
union all
select 'event: ' || e.kind, count(*) from order_events e group by 1
union all
select 'call: ' || k.kind || case when k.is_presumed then ' presumed' else '' end || ' ' || coalesce(k.outcome, 'open')
       || coalesce(', answered ' || k.answer, ''), count(*)
  from calls k group by 1
union all
select 'parked: ' || (e.detail ->> 'code'), count(*) from order_events e where e.kind = 'parked' group by 1
union all
select 'task: ' || t.kind, count(*) from tasks t group by 1
union all
select 'end: ' || o.operation || ' ' || o.state, count(*) from orders o group by 1`;
