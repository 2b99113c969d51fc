import { listRefills } from "../../ledger/refills.ts";
import { known, list, since } from "../listing.ts";
import { REFILL_COLUMNS } from "../refill-columns.ts";

/** What belongs to one facility; `what` does, such as `refills`. */
export const byFacility = (what: string) =>
  known(({ config }) => [...config.facilityIdByCode.keys()], {
    ...{ value: "name", label: "Facility" },
    help: `only ${what} of this facility, by its name in the configuration`,
  });

/** Refills of tanks. */
export const REFILL_LIST = list({
  key: "refills",
  help: "List refills, latest change first.",
  filters: {
    facility: byFacility("refills"),
    since: since("refills that changed "),
  },
  columns: REFILL_COLUMNS,
  nothing: () => "No refills.",
  read: async ({ pool, config }, { facility, since }, { limit, after: beforeId }) => {
    const facilityId = facility === undefined ? undefined : config.facilityIdByCode.get(facility);
    if (facility !== undefined && facilityId === undefined) return [];
    return listRefills(pool, { facilityId, since, beforeId, limit });
  },
  page: { of: ({ ledgerId }) => String(ledgerId) },
});
