import { WORK_LOCK, WORKER_LOCK } from "../locks.ts";

/*
 * Who lives, and whose work is whose. A worker is a row with a number of its own and a session that holds a lock. What has its number
 * is its own until the number has ended; what one worker at a time does is a lock of that session. These are the only clocks of it.
 */

/**
 * For how long a heartbeat that was answered lets a worker act, ms since it was sent; and how long one whose session is gone has
 * been silent before others take over, so that it has stopped by then. A restart of the database ends all sessions at once.
 */
export const SURE_FOR_MS = 4_000;

/** A worker whose session is there but that was silent for longer than this is taken for dead: it is frozen, or cut off. */
export const LEASE_MS = 15_000;

/** A worker that was silent for this long may be dead or cut off, ms: heartbeats come each second. */
const DYING_MS = 2_000;

/** Sessions that hold an advisory lock of ours, by the expressions of its two keys. */
export const holdersOf = (lock: number, key: string): string => `
select l.pid
  from pg_locks l
 where l.locktype = 'advisory'
   and l.classid = ${lock}
   and l.objid = ${key}
   and l.granted
   and l.database = (select d.oid from pg_database d where d.datname = current_database())`;

/** Whether the session of worker w is there, which holds its lock. */
export const HAS_LOCK = `exists (${holdersOf(WORKER_LOCK, "w.id::oid")})`;

/** The keys of the lock on what one worker at a time does, by the expression of its name. */
export const workLock = (name: string): string => `${WORK_LOCK}, hashtext(${name})`;

/** The work of the leader. */
export const LEAD = "'lead'";

/** Whether worker w is the leader. */
export const LEADS = `exists (${holdersOf(WORKER_LOCK, "w.id::oid")}
intersect ${holdersOf(WORK_LOCK, `hashtext(${LEAD})::oid`)})`;

/** Whether worker w was silent for so long that it does not live, though its session may be there. */
export const IS_SILENT = `w.heartbeat_at < now() - ${LEASE_MS} * interval '1 millisecond'`;

/** Whether worker w may be at work. */
export const IS_AT_WORK = `w.ended_at is null and (${HAS_LOCK} or not (${IS_SILENT}))`;

/** When the server started; null where that is in the future, since its clock has gone back. */
const STARTED_AT = "case when pg_postmaster_start_time() <= now() then pg_postmaster_start_time() end";

/** Whether worker w is gone, of those whose numbers count. */
export const IS_GONE = `
      (${IS_SILENT} or not ${HAS_LOCK})
  and greatest(w.heartbeat_at, ${STARTED_AT}) < now() - ${SURE_FOR_MS} * interval '1 millisecond'`;

/** Whether worker w, whose number counts, was heard of a moment ago, but may be dead or cut off now: for as long as it takes to tell. */
export const MAY_BE_DYING = `
      (not ${HAS_LOCK} or w.heartbeat_at < now() - ${DYING_MS} * interval '1 millisecond')
  and w.heartbeat_at between now() - ${LEASE_MS + SURE_FOR_MS} * interval '1 millisecond'
                         and now() + ${LEASE_MS + SURE_FOR_MS} * interval '1 millisecond'`;

/**
 * Whether a worker's number, given as an expression, counts: nobody has ended it, and what it has in hand is its own. Asked as a value
 * and not as a join, so that an update which waited for a row asks it anew. Index: the primary key.
 */
export const counts = (id: string): string =>
  `coalesce((select w.ended_at is null from workers w where w.id = ${id}), false)`;
