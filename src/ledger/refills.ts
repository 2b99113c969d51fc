import type pg from "pg";
import type { Refill, Tank } from "../core/refill.ts";
import { serviceTimeMs } from "../core/service-time.ts";
import type { Surface } from "../core/surface.ts";
import { inTransaction, narrowed, run } from "./database.ts";

/** A facility whose refills are followed. */
export interface RefillFacility {
  readonly facilityId: number;
  /** The lab's name for it. */
  readonly facilityCode: string;
  readonly surface: Surface;
}

/** A facility that is followed, and since when. */
export interface RefillSubscription extends RefillFacility {
  readonly subscribedAt: Date;
}

/** A refill as the ledger has it. */
export interface LedgerRefill {
  readonly ledgerId: number;
  readonly facilityId: number;
  /** The lab's name for the facility, as it was when the refill was first seen. */
  readonly facilityCode: string;
  readonly surface: Surface;
  readonly refill: Refill;
  /** How far it has come; see `rankOf`. 3 is an end. */
  readonly reached: number;
  /** The last word of the service. */
  readonly remoteStatus: string;
  /** Words of the service that were not believed, in their order. */
  readonly flagged: readonly string[];
  readonly firstSeenAt: Date;
  readonly changedAt: Date;
  /** Since when the service doesn't know it any more. */
  readonly missingSince: Date | null;
}

/** A refill as it is to be kept. */
export interface RefillChange {
  /** As the ledger had it when the change was decided; undefined for a new one. */
  readonly known: LedgerRefill | undefined;
  readonly refill: Refill;
  readonly reached: number;
  readonly remoteStatus: string;
  readonly flagged: readonly string[];
  /** Whether its status is another one, or was not believed; else only parts of it were added. */
  readonly hasNews: boolean;
  /** The status that counts as reached by this change. */
  readonly counted: string | undefined;
}

/** Which refills to list; all conditions hold together. */
interface RefillFilter {
  readonly facilityId?: number | undefined;
  /** Changed since. */
  readonly since?: Date | undefined;
  /** Refills after this one in the list, for the next page. */
  readonly beforeId?: number | undefined;
  readonly limit: number;
}

/** The last completed refill of a tank. */
export interface TankRefill {
  readonly facilityId: number;
  readonly storageId: number | null;
  readonly storageName: string | null;
  /** By the service's clock where it showed a time that has come, else when it was seen. */
  readonly completedAt: Date;
}

/** A storage solution as it was listed. */
export interface ListedTank {
  readonly facilityId: number;
  readonly storageId: number;
  readonly name: string | null;
  readonly firstSeenAt: Date;
  readonly listedAt: Date;
}

/** $1 bigint[] of the facilities that are followed. */
const UNSUBSCRIBE = "delete from refill_subscriptions where facility_id <> all ($1)";

/**
 * A facility that changes its surface begins again, and a subscription never lies in the future, which a clock that was
 * wrong can have left. $1 facility, $2 name, $3 surface.
 */
const SUBSCRIBE = `
insert into refill_subscriptions as s (facility_id, facility_code, surface)
values ($1, $2, $3)
on conflict (facility_id) do update
   set facility_code = excluded.facility_code,
       surface = excluded.surface,
       subscribed_at = case when s.surface = excluded.surface then least(now(), s.subscribed_at) else now() end`;

const SUBSCRIPTIONS = `
select s.facility_id as "facilityId", s.facility_code as "facilityCode", s.surface, s.subscribed_at as "subscribedAt"
  from refill_subscriptions s
 order by s.facility_id`;

/** $1 facility, $2 JSON array of {storageId, name}. */
const KEEP_TANKS = `
insert into tanks as t (facility_id, storage_id, name)
select $1, x."storageId", x.name
  from jsonb_to_recordset($2::jsonb) as x("storageId" bigint, name text)
on conflict (facility_id, storage_id) do update
   set name = coalesce(excluded.name, t.name),
       listed_at = now()`;

const TANKS = `
select t.facility_id as "facilityId", t.storage_id as "storageId", t.name, t.first_seen_at as "firstSeenAt",
       t.listed_at as "listedAt"
  from tanks t
 order by t.facility_id, t.storage_id`;

/** Columns of a {@link LedgerRefill} of a row r. */
const REFILL = `
       r.id as "ledgerId", r.facility_id as "facilityId", r.facility_code as "facilityCode", r.surface, r.reached,
       r.remote_status as "remoteStatus", r.flagged, r.first_seen_at as "firstSeenAt", r.changed_at as "changedAt",
       r.missing_since as "missingSince",
       json_strip_nulls(json_build_object(
         'id', r.procedure_id, 'code', r.code, 'status', r.status, 'storageId', r.storage_id,
         'storageName', r.storage_name, 'createdAt', r.created_at, 'startedAt', r.started_at,
         'completedAt', r.completed_at, 'error', r.error)) as refill`;

/** $1 surface, $2 bigint[] of procedures. Index: unique (surface, procedure_id). */
const REFILLS_BY_PROCEDURE = `
select ${REFILL}
  from refills r
 where r.surface = $1
   and r.procedure_id = any ($2)`;

/** Those that were looked at longest ago; $1 facility, $2 surface, $3 procedures that were just seen, $4 limit. Index: refills_open. */
const OPEN_REFILLS = `
select ${REFILL}
  from refills r
 where r.facility_id = $1
   and r.surface = $2
   and r.reached < 3
   and r.procedure_id <> all ($3)
   and (r.missing_since is null or r.missing_since > now() - interval '7 days')
 order by r.checked_at
 limit $4`;

/** A creation in the future was dated by a clock that is wrong. $1 facility, $2 surface. Index: refills_newest. */
const NEWEST_REFILL = `
select r.created_time as "createdTime"
  from refills r
 where r.facility_id = $1
   and r.surface = $2
   and r.missing_since is null
   and r.created_time <= now() + interval '10 minutes'
 order by r.created_time desc nulls last, r.id desc
 limit 1`;

/**
 * Keeps changes and counts the statuses that were reached; $1 JSON array, $2 facility, $3 its name, $4 surface. A row that
 * another process has changed meanwhile is left as it is.
 */
const RECORD_REFILLS = `
with given as (
  select *
    from jsonb_to_recordset($1::jsonb) as x(
         ledger_id bigint, known_status text, known_remote_status text, has_news boolean,
         counted text, procedure_id bigint, code text, storage_id bigint, storage_name text, status text,
         reached smallint, remote_status text, flagged text[], created_at text, started_at text, completed_at text,
         created_time timestamptz, completed_time timestamptz, error text)),
updated as (
  update refills r
     set facility_id = $2, code = x.code, storage_id = x.storage_id, storage_name = x.storage_name, status = x.status,
         reached = x.reached, remote_status = x.remote_status, flagged = x.flagged, created_at = x.created_at,
         started_at = x.started_at, completed_at = x.completed_at, created_time = x.created_time,
         completed_time = x.completed_time, error = x.error,
         changed_at = case when x.has_news then now() else r.changed_at end,
         checked_at = now(), missing_since = null
    from given x
   where r.id = x.ledger_id
     and r.status = x.known_status
     and r.remote_status = x.known_remote_status
  returning r.procedure_id),
added as (
  insert into refills (facility_id, facility_code, surface, procedure_id, code, storage_id, storage_name, status, reached,
                       remote_status, flagged, created_at, started_at, completed_at, created_time, completed_time, error)
  select $2, $3, $4, x.procedure_id, x.code, x.storage_id, x.storage_name, x.status, x.reached,
         x.remote_status, x.flagged, x.created_at, x.started_at, x.completed_at, x.created_time, x.completed_time, x.error
    from given x
   where x.ledger_id is null
  on conflict (surface, procedure_id) do nothing
  returning procedure_id)
insert into refill_counts as c (facility_id, status, count)
select $2, x.counted, count(*)
  from given x
 where x.counted is not null
   and x.procedure_id in (select procedure_id from updated union all select procedure_id from added)
 group by x.counted
on conflict (facility_id, status) do update set count = c.count + excluded.count`;

/** Refills that were asked for by their ids; $1 bigint[] of ledger ids, $2 those of them that the service doesn't know. */
const CHECKED_AT = `
update refills
   set checked_at = now(),
       changed_at = case when id = any ($2) and missing_since is null then now() else changed_at end,
       missing_since = case when id = any ($2) then coalesce(missing_since, now()) else missing_since end
 where id = any ($1)`;

/** Latest change first; $1 facility, $2 since, $3 limit, $4 the last refill of the page before; null for any. */
const LIST_REFILLS = `
select ${REFILL}
  from refills r
 where ($1::bigint is null or r.facility_id = $1)
   and ($2::timestamptz is null or r.changed_at >= $2)
   and ($4::bigint is null or (r.changed_at, r.id) < (select b.changed_at, b.id from refills b where b.id = $4))
 order by r.changed_at desc, r.id desc
 limit $3`;

/** None was completed after the ledger learned of it: else a clock that runs ahead would put off an alert. Index: refills_completed. */
const LAST_COMPLETED = `
select distinct on (r.facility_id, r.storage_id, r.storage_name)
       r.facility_id as "facilityId", r.storage_id as "storageId", r.storage_name as "storageName",
       least(r.completed_time, r.changed_at) as "completedAt"
  from refills r
 where r.status = 'COMPLETED'
 order by r.facility_id, r.storage_id, r.storage_name, least(r.completed_time, r.changed_at) desc`;

const COUNTS = `
select s.facility_code as "facilityCode", c.status, c.count
  from refill_counts c
  join refill_subscriptions s on s.facility_id = c.facility_id
 order by s.facility_code, c.status`;

/**
 * Refills that were over long ago, but never the last completed one of a tank. One without any time stays: the service may
 * list it again, and nothing would say that it is old. $1 ms, $2 how many. Index: refills_changed.
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

/** Follows these facilities from now on, and no others. Those that were followed before go on where they stood. */
export async function subscribeRefills(pool: pg.Pool, facilities: readonly RefillFacility[]): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(UNSUBSCRIBE, [facilities.map(({ facilityId }) => facilityId)]);
    for (const { facilityId, facilityCode, surface } of facilities)
      await client.query(SUBSCRIBE, [facilityId, facilityCode, surface]);
  });
}

/** The facilities that are followed. */
export function listSubscriptions(pool: pg.Pool): Promise<RefillSubscription[]> {
  return run<RefillSubscription>(pool, SUBSCRIPTIONS);
}

/** Records the storage solutions that the service lists for a facility just now. */
export async function keepTanks(pool: pg.Pool, facilityId: number, tanks: readonly Tank[]): Promise<void> {
  if (tanks.length === 0) return;
  // A page that shifts can show one of them twice, and a statement may change a row once only.
  const byId = new Map(tanks.map((tank) => [tank.storageId, tank]));
  await run(pool, KEEP_TANKS, [facilityId, JSON.stringify([...byId.values()])]);
}

/** Every storage solution that was ever listed. */
export function listListedTanks(pool: pg.Pool): Promise<ListedTank[]> {
  return run<ListedTank>(pool, TANKS);
}

/** Refills of a surface by the ids of their procedures. */
export async function findRefills(
  pool: pg.Pool,
  surface: Surface,
  procedureIds: readonly number[],
): Promise<ReadonlyMap<number, LedgerRefill>> {
  const found = await run<LedgerRefill>(pool, REFILLS_BY_PROCEDURE, [surface, procedureIds]);
  return new Map(found.map((each) => [each.refill.id, each]));
}

/** Refills that are not over and were not among those just seen, the longest unseen first. */
export function listOpenRefills(
  pool: pg.Pool,
  { facilityId, surface }: RefillFacility,
  seenIds: readonly number[],
  limit: number,
): Promise<LedgerRefill[]> {
  return run<LedgerRefill>(pool, OPEN_REFILLS, [facilityId, surface, seenIds, limit]);
}

/** When the newest refill was created, as far as the ledger knows when each was. */
export async function findNewestRefill(
  pool: pg.Pool,
  { facilityId, surface }: RefillFacility,
): Promise<Date | undefined> {
  return (await run<{ createdTime: Date }>(pool, NEWEST_REFILL, [facilityId, surface]))[0]?.createdTime;
}

/** Keeps what became of a facility's refills; what another process has recorded meanwhile stays for the next reading. */
export async function recordRefills(
  pool: pg.Pool,
  { facilityId, facilityCode, surface }: RefillFacility,
  changes: readonly RefillChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const given = JSON.stringify(changes.map(toRow));
  await run(pool, RECORD_REFILLS, [given, facilityId, facilityCode, surface]);
}

function toRow({ known, refill, reached, remoteStatus, flagged, ...change }: RefillChange) {
  return {
    ledger_id: known?.ledgerId,
    known_status: known?.refill.status,
    known_remote_status: known?.remoteStatus,
    has_news: change.hasNews,
    counted: change.counted,
    procedure_id: refill.id,
    code: refill.code,
    storage_id: refill.storageId,
    storage_name: refill.storageName,
    status: refill.status,
    reached,
    remote_status: remoteStatus,
    flagged,
    created_at: refill.createdAt,
    started_at: refill.startedAt,
    completed_at: refill.completedAt,
    created_time: timeOf(refill.createdAt),
    completed_time: timeOf(refill.completedAt),
    error: refill.error,
  };
}

function timeOf(text: string | undefined): Date | undefined {
  const ms = serviceTimeMs(text);
  return ms === undefined ? undefined : new Date(ms);
}

/** Records that refills were asked for by their ids, and which of them the service doesn't know any more. */
export async function recordChecks(
  pool: pg.Pool,
  looked: readonly LedgerRefill[],
  missing: readonly LedgerRefill[],
): Promise<void> {
  const ids = (some: readonly LedgerRefill[]) => some.map(({ ledgerId }) => ledgerId);
  if (looked.length > 0) await run(pool, CHECKED_AT, [ids(looked), ids(missing)]);
}

/** Refills, latest change first. */
export function listRefills(pool: pg.Pool, filter: RefillFilter): Promise<LedgerRefill[]> {
  const { facilityId, since, limit, beforeId } = filter;
  return narrowed<LedgerRefill>(pool, LIST_REFILLS, [facilityId, since, limit, beforeId]);
}

/** The last completed refill of each tank that has one; those without a tank count as one of each facility. */
export function listLastRefills(pool: pg.Pool): Promise<TankRefill[]> {
  return run<TankRefill>(pool, LAST_COMPLETED);
}

/** How often refills of the facilities that are followed reached a status. */
export function countRefills(
  pool: pg.Pool,
): Promise<{ facilityCode: string; status: string; count: number }[]> {
  return run(pool, COUNTS);
}

/** Forgets a batch of refills that retention allows; gives how many. */
export async function forgetRefills(pool: pg.Pool, olderThanMs: number, limit: number): Promise<number> {
  return (await run(pool, FORGET_REFILLS, [olderThanMs, limit])).length;
}
