import type pg from "pg";
import { run } from "./database.ts";

/**
 * Refills that were over long ago, with their steps, but never the last completed one of a tank. One without any time
 * stays: the service may list it again, and nothing would tell that it is old. $1 ms, $2 how many. Index: refills_changed.
 */
const FORGET_REFILLS = `
delete from refills
 where id in (select r.id
                from refills r
               where r.reached = 3
                 and r.changed_at < now() - $1 * interval '1 millisecond'
                 and coalesce(r.completed_time, r.created_time) < now() - $1 * interval '1 millisecond'
                 and (r.status <> 'COMPLETED'
                      or exists (select 1
                                   from refills later
                                  where later.facility_id = r.facility_id
                                    and later.storage_id is not distinct from r.storage_id
                                    and later.storage_name is not distinct from r.storage_name
                                    and later.status = 'COMPLETED'
                                    and (least(later.completed_time, later.changed_at), later.id)
                                        > (least(r.completed_time, r.changed_at), r.id)))
               order by r.changed_at
               limit $2)
returning id`;

/** Forgets a batch of refills that retention allows; gives how many. */
export async function forgetRefills(pool: pg.Pool, olderThanMs: number, limit: number): Promise<number> {
  return (await run(pool, FORGET_REFILLS, [olderThanMs, limit])).length;
}
