/**
 * When the next thing is due, as ms since the epoch. What waits behind a parked order is not due, nor is a result, or what waits to be
 * composed, behind one that the lab has not taken, nor what needs a call while none may leave; what is in a daemon's hands is, unless the ledger's clock has gone back and the daemon, which
 * may be dead, was last heard of in what is the future now.
 */
export const QUIET_UNTIL = `
select extract(epoch from min(d.at))::float8 * 1000 as ms
  from (select greatest(o.next_at, p.asked_until, p.until_at) as at
          from orders o
         cross join service_pause p
         where o.state in ('received', 'submitted', 'accepted', 'in_progress')
           and (o.state <> 'received' or o.held_at is null)
           and (o.state <> 'received'
                or not exists (select 1
                                 from orders e
                                where e.facility_id = o.facility_id
                                  and e.subject_code = o.subject_code
                                  and e.id < o.id
                                  and e.state in ('received', 'submitting', 'parked')))
        union all
        select greatest(now(), w.heartbeat_at)
          from orders o
          join workers w on w.id = o.owner
         where o.state = 'submitting'
        union all
        select greatest(k.look_at, p.asked_until, p.until_at)
          from calls k
          join orders o on o.id = k.order_id
         cross join service_pause p
         where k.look_at is not null
           and (k.kind <> 'cancel' or o.state in ('submitted', 'accepted', 'in_progress'))
        union all
        select d.next_at
          from deliveries d
         where d.state = 'pending'
           and not exists (select 1
                             from deliveries e
                            where e.order_ids && d.order_ids
                              and e.id < d.id
                              and e.state in ('pending', 'parked')
                              and not (e.state = 'parked' and e.is_answer))
        union all
        select coalesce((select min(d.next_at)
                           from deliveries d
                          where d.connector = t.connector
                            and d.state = 'pending'), now())
          from outcomes t
         where not t.is_composed) d`;

/** $1 ms, $2 text[] names of sessions. */
export const LEAP_WORKERS = `
update workers
   set heartbeat_at = heartbeat_at + $1 * interval '1 millisecond'
 where sessions = any ($2)
   and ended_at is null`;
