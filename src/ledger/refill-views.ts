import type pg from "pg";
import { run } from "./database.ts";
import { fromRefillRow, type LedgerRefill, REFILL_COLUMNS, type RefillRow } from "./refill-row.ts";

/** Which refills to list; all conditions hold together. */
export interface RefillFilter {
  readonly facilityId?: number | undefined;
  /** Changed since. */
  readonly since?: Date | undefined;
  readonly limit: number;
}

/** A refill as an operator sees it. */
export interface RefillView extends LedgerRefill {
  /** Whether the lab was told of its last step that it is told of; undefined when it is told of none. */
  readonly telling: { readonly fileName: string; readonly state: string } | undefined;
  /** Words of the service that were not believed, in their order. */
  readonly flagged: readonly string[];
}

/** The last completed refill of a tank. */
export interface TankRefill {
  readonly facilityId: number;
  readonly storageId: number | undefined;
  readonly storageName: string | undefined;
  /** By the service's clock where it told a time that has come, else when it was seen. */
  readonly completedAt: Date;
}

/** A storage solution as it was listed. */
export interface ListedTank {
  readonly facilityId: number;
  readonly storageId: number;
  readonly name: string | undefined;
  readonly firstSeenAt: Date;
  readonly listedAt: Date;
}

/** Latest change first; $1 facility, $2 since, $3 limit; null for any. */
const LIST_REFILLS = `
select ${REFILL_COLUMNS}, told.file_name as told_file, told.state as told_state,
       (select coalesce(array_agg(e.status order by e.id), '{}')
          from refill_events e
         where e.refill_id = r.id
           and e.kind in ('backward', 'unknown_status')) as flagged
  from refills r
  left join lateral (select d.file_name, d.state
                       from refill_events e
                       join deliveries d on d.id = e.delivery_id
                      where e.refill_id = r.id
                      order by e.id desc
                      limit 1) told on true
 where ($1::bigint is null or r.facility_id = $1)
   and ($2::timestamptz is null or r.changed_at >= $2)
 order by r.changed_at desc, r.id desc
 limit $3`;

/** None was completed after the ledger learned of it: else a clock that runs ahead would put off an alert. Index: refills_completed. */
const LAST_COMPLETED = `
select distinct on (r.facility_id, r.storage_id, r.storage_name)
       r.facility_id, r.storage_id, r.storage_name, least(r.completed_time, r.changed_at) as completed_at
  from refills r
 where r.status = 'COMPLETED'
 order by r.facility_id, r.storage_id, r.storage_name, least(r.completed_time, r.changed_at) desc`;

const TANKS = `
select t.facility_id, t.storage_id, t.name, t.first_seen_at, t.listed_at
  from tanks t
 order by t.facility_id, t.storage_id`;

const COUNTS = `
select s.facility_code, c.status, c.count
  from refill_counts c
  join refill_subscriptions s on s.facility_id = c.facility_id
 order by s.facility_code, c.status`;

/** Refills, latest change first. */
export async function listRefills(pool: pg.Pool, filter: RefillFilter): Promise<RefillView[]> {
  type Row = RefillRow & { told_file: string | null; told_state: string | null; flagged: string[] };
  const values = [filter.facilityId ?? null, filter.since ?? null, filter.limit];
  return (await run<Row>(pool, LIST_REFILLS, values)).map((row) => ({
    ...fromRefillRow(row),
    telling:
      row.told_file === null ? undefined : { fileName: row.told_file, state: row.told_state ?? "pending" },
    flagged: row.flagged,
  }));
}

/** The last completed refill of each tank that one was told for; those without a tank count as one of each facility. */
export async function listLastRefills(pool: pg.Pool): Promise<TankRefill[]> {
  const rows = await run<{
    facility_id: number;
    storage_id: number | null;
    storage_name: string | null;
    completed_at: Date;
  }>(pool, LAST_COMPLETED);
  return rows.map((row) => ({
    facilityId: row.facility_id,
    storageId: row.storage_id ?? undefined,
    storageName: row.storage_name ?? undefined,
    completedAt: row.completed_at,
  }));
}

/** Every storage solution that was ever listed. */
export async function listListedTanks(pool: pg.Pool): Promise<ListedTank[]> {
  const rows = await run<{
    facility_id: number;
    storage_id: number;
    name: string | null;
    first_seen_at: Date;
    listed_at: Date;
  }>(pool, TANKS);
  return rows.map((row) => ({
    facilityId: row.facility_id,
    storageId: row.storage_id,
    name: row.name ?? undefined,
    firstSeenAt: row.first_seen_at,
    listedAt: row.listed_at,
  }));
}

/** How often refills of the facilities that are followed reached a status; `OTHER` for words nobody knows. */
export async function countRefills(
  pool: pg.Pool,
): Promise<{ facilityCode: string; status: string; count: number }[]> {
  const rows = await run<{ facility_code: string; status: string; count: number }>(pool, COUNTS);
  return rows.map((row) => ({ facilityCode: row.facility_code, status: row.status, count: row.count }));
}
