import type pg from "pg";
import { list } from "../database.ts";

/** A facility that orders name. */
interface FacilityInUse {
  readonly facilityCode: string;
  readonly facilityId: number;
  /** Orders that have not ended. */
  readonly open: number;
  /** Orders of the last 90 days. */
  readonly lately: number;
}

/** Index: none; for a copy of the ledger that nobody waits for. */
const FACILITIES = `
select o.facility_code as "facilityCode", o.facility_id as "facilityId",
       count(*) filter (where o.state not in ('completed', 'rejected', 'cancelled', 'failed', 'discarded'))::integer as open,
       count(*) filter (where o.received_at > now() - interval '90 days')::integer as lately
  from orders o
 group by o.facility_code, o.facility_id
 order by o.facility_code, o.facility_id`;

/** The facilities of all orders. */
export function listFacilitiesInUse(pool: pg.Pool): Promise<FacilityInUse[]> {
  return list<FacilityInUse>(pool, FACILITIES, []);
}
