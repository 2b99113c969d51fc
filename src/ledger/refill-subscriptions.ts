import type pg from "pg";
import type { Tank } from "../core/refill.ts";
import type { Surface } from "../core/surface.ts";
import { inTransaction, run } from "./database.ts";

/** A facility whose refills are followed. */
export interface RefillFacility {
  readonly facilityId: number;
  /** The lab's name for it. */
  readonly facilityCode: string;
  readonly surface: Surface;
}

/** How far the following of a facility's refills has come. */
export interface RefillSubscription extends RefillFacility {
  readonly subscribedAt: Date;
  /** Undefined until the list was once read to its end. */
  readonly firstReadAt: Date | undefined;
  /** When the last reading that came to its end began. */
  readonly lastReadAt: Date | undefined;
  /** The last reading of the whole list is older than a day, or there was none. */
  readonly isFullReadingDue: boolean;
  readonly hints: Readonly<Record<string, unknown>>;
}

/** $1 bigint[] of the facilities that are followed. */
const UNSUBSCRIBE = "delete from refill_subscriptions where facility_id <> all ($1)";

/**
 * A facility that changes its surface is read anew, from where it was read to on the other one. A subscription never lies
 * in the future, which a clock that was wrong can have left: then nothing would ever be news. $1 facility, $2 name,
 * $3 surface.
 */
const SUBSCRIBE = `
insert into refill_subscriptions as s (facility_id, facility_code, surface)
values ($1, $2, $3)
on conflict (facility_id) do update
   set facility_code = excluded.facility_code,
       surface = excluded.surface,
       subscribed_at = least(now(), case when s.surface = excluded.surface then s.subscribed_at
                                         else coalesce(s.last_read_at, s.subscribed_at) end),
       first_read_at = case when s.surface = excluded.surface then s.first_read_at end,
       last_read_at = case when s.surface = excluded.surface then s.last_read_at end,
       full_read_at = case when s.surface = excluded.surface then s.full_read_at end,
       hints = case when s.surface = excluded.surface then s.hints else '{}' end`;

const SUBSCRIPTIONS = `
select s.facility_id, s.facility_code, s.surface, s.subscribed_at, s.first_read_at, s.last_read_at, s.hints,
       coalesce(s.full_read_at not between now() - interval '1 day' and now() + interval '1 hour', true) as is_full_due
  from refill_subscriptions s
 order by s.facility_id`;

/** A reading came to its end; $1 facility, $2 hints, $3 whether it was of the whole list, $4 how long it took, ms. */
const READ = `
update refill_subscriptions
   set first_read_at = coalesce(first_read_at, now()),
       last_read_at = now() - $4 * interval '1 millisecond',
       full_read_at = case when $3 then now() else full_read_at end,
       hints = $2
 where facility_id = $1`;

/** $1 facility. */
const REQUIRE_FULL = "update refill_subscriptions set full_read_at = null where facility_id = $1";

/** $1 facility, $2 JSON array of {storage_id, name}. */
const KEEP_TANKS = `
insert into tanks as t (facility_id, storage_id, name)
select $1, x.storage_id, x.name
  from jsonb_to_recordset($2::jsonb) as x(storage_id bigint, name text)
on conflict (facility_id, storage_id) do update
   set name = coalesce(excluded.name, t.name),
       listed_at = now()`;

/** Follows these facilities from now on, and no others. Those that were followed before go on where they stood. */
export async function subscribeRefills(pool: pg.Pool, facilities: readonly RefillFacility[]): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(UNSUBSCRIBE, [facilities.map(({ facilityId }) => facilityId)]);
    for (const { facilityId, facilityCode, surface } of facilities)
      await client.query(SUBSCRIBE, [facilityId, facilityCode, surface]);
  });
}

/** The facilities that are followed. */
export async function listSubscriptions(pool: pg.Pool): Promise<RefillSubscription[]> {
  const rows = await run<{
    facility_id: number;
    facility_code: string;
    surface: Surface;
    subscribed_at: Date;
    first_read_at: Date | null;
    last_read_at: Date | null;
    hints: Record<string, unknown>;
    is_full_due: boolean;
  }>(pool, SUBSCRIPTIONS);
  return rows.map((row) => ({
    facilityId: row.facility_id,
    facilityCode: row.facility_code,
    surface: row.surface,
    subscribedAt: row.subscribed_at,
    firstReadAt: row.first_read_at ?? undefined,
    lastReadAt: row.last_read_at ?? undefined,
    isFullReadingDue: row.is_full_due,
    hints: row.hints,
  }));
}

/** Records that a facility was read to the end: it is known as it was when the reading began, `tookMs` ago. */
export async function recordRefillReading(
  pool: pg.Pool,
  reading: {
    readonly facilityId: number;
    readonly hints: object;
    readonly isFull: boolean;
    readonly tookMs: number;
  },
): Promise<void> {
  const { facilityId, hints, isFull, tookMs } = reading;
  await run(pool, READ, [facilityId, JSON.stringify(hints), isFull, tookMs]);
}

/** Has the next reading go through the whole list: something of what was listed is still to be read. */
export async function requireFullReading(pool: pg.Pool, facilityId: number): Promise<void> {
  await run(pool, REQUIRE_FULL, [facilityId]);
}

/** Records the storage solutions that the service lists for a facility just now. */
export async function keepTanks(pool: pg.Pool, facilityId: number, tanks: readonly Tank[]): Promise<void> {
  if (tanks.length === 0) return;
  // A page that shifts can show one of them twice, and a statement may change a row once only.
  const byId = new Map(tanks.map((tank) => [tank.storageId, tank]));
  const rows = [...byId.values()].map(({ storageId, name }) => ({ storage_id: storageId, name }));
  await run(pool, KEEP_TANKS, [facilityId, JSON.stringify(rows)]);
}
