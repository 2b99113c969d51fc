import type { Refill } from "../core/refill.ts";
import type { Surface } from "../core/surface.ts";

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
  readonly firstSeenAt: Date;
  readonly changedAt: Date;
  readonly missingSince: Date | undefined;
}

export const REFILL_COLUMNS = `
       r.id, r.facility_id, r.facility_code, r.surface, r.procedure_id, r.code, r.storage_id, r.storage_name, r.status,
       r.reached, r.remote_status, r.created_at, r.started_at, r.completed_at, r.error, r.first_seen_at, r.changed_at,
       r.missing_since`;

export interface RefillRow {
  id: number;
  facility_id: number;
  facility_code: string;
  surface: Surface;
  procedure_id: number;
  code: string | null;
  storage_id: number | null;
  storage_name: string | null;
  status: string;
  reached: number;
  remote_status: string;
  created_at: string | null;
  started_at: string | null;
  completed_at: string | null;
  error: string | null;
  first_seen_at: Date;
  changed_at: Date;
  missing_since: Date | null;
}

/** A row as the rest of the program sees it. */
export function fromRefillRow(row: RefillRow): LedgerRefill {
  return {
    ledgerId: row.id,
    facilityId: row.facility_id,
    facilityCode: row.facility_code,
    surface: row.surface,
    refill: {
      id: row.procedure_id,
      code: row.code ?? undefined,
      status: row.status,
      storageId: row.storage_id ?? undefined,
      storageName: row.storage_name ?? undefined,
      createdAt: row.created_at ?? undefined,
      startedAt: row.started_at ?? undefined,
      completedAt: row.completed_at ?? undefined,
      error: row.error ?? undefined,
    },
    reached: row.reached,
    remoteStatus: row.remote_status,
    firstSeenAt: row.first_seen_at,
    changedAt: row.changed_at,
    missingSince: row.missing_since ?? undefined,
  };
}
