import type pg from "pg";
import type { Surface } from "../core/surface.ts";
import { run } from "./database.ts";
import { fromRefillRow, type LedgerRefill, REFILL_COLUMNS, type RefillRow } from "./refill-row.ts";
import type { RefillFacility } from "./refill-subscriptions.ts";

/** $1 surface, $2 bigint[] of procedures. Index: unique (surface, procedure_id). */
const REFILLS_BY_PROCEDURE = `
select ${REFILL_COLUMNS}
  from refills r
 where r.surface = $1
   and r.procedure_id = any ($2)`;

/** Those that were looked at longest ago; $1 facility, $2 surface, $3 procedures that were seen just now, $4 limit. Index: refills_open. */
const OPEN_REFILLS = `
select ${REFILL_COLUMNS}
  from refills r
 where r.facility_id = $1
   and r.surface = $2
   and r.reached < 3
   and r.procedure_id <> all ($3)
   and (r.missing_since is null or r.missing_since > now() - interval '7 days')
 order by r.looked_at
 limit $4`;

/** $1 facility, $2 surface, $3 the latest time of creation that is believed. Index: refills_newest. */
const NEWEST_REFILL = `
select r.procedure_id, r.created_time
  from refills r
 where r.facility_id = $1
   and r.surface = $2
   and r.missing_since is null
   and (r.created_time is null or r.created_time <= $3)
 order by r.created_time desc nulls last, r.id desc
 limit 1`;

/** $1 bigint[] of ledger ids. */
const LOOKED_AT = "update refills set looked_at = now() where id = any ($1)";

/** Refills of a surface by the ids of their procedures. */
export async function findRefills(
  pool: pg.Pool,
  surface: Surface,
  procedureIds: readonly number[],
): Promise<ReadonlyMap<number, LedgerRefill>> {
  const rows = await run<RefillRow>(pool, REFILLS_BY_PROCEDURE, [surface, procedureIds]);
  return new Map(rows.map((row) => [row.procedure_id, fromRefillRow(row)]));
}

/** Refills that are not over and were not among those just seen, the longest unseen first. */
export async function listOpenRefills(
  pool: pg.Pool,
  facility: RefillFacility,
  seenIds: readonly number[],
  limit: number,
): Promise<LedgerRefill[]> {
  const values = [facility.facilityId, facility.surface, seenIds, limit];
  return (await run<RefillRow>(pool, OPEN_REFILLS, values)).map(fromRefillRow);
}

/**
 * The refill that was created last, as far as the ledger knows. One whose creation lies behind `notAfter` was dated by a
 * clock that is wrong, and says nothing of which were created before it.
 */
export async function findNewestRefill(
  pool: pg.Pool,
  facility: RefillFacility,
  notAfter: Date,
): Promise<{ readonly procedureId: number; readonly createdTime: Date | undefined } | undefined> {
  const [row] = await run<{ procedure_id: number; created_time: Date | null }>(pool, NEWEST_REFILL, [
    facility.facilityId,
    facility.surface,
    notAfter,
  ]);
  return row && { procedureId: row.procedure_id, createdTime: row.created_time ?? undefined };
}

/** Records that refills were asked about, without news or without an answer. */
export async function touchRefills(pool: pg.Pool, ledgerIds: readonly number[]): Promise<void> {
  if (ledgerIds.length > 0) await run(pool, LOOKED_AT, [ledgerIds]);
}
