import { readTankAges } from "../../jobs/refills/tanks.ts";
import { list } from "../listing.ts";
import { TANK_COLUMNS } from "../refill-columns.ts";
import { byFacility } from "./refills.ts";

/** Tanks with their last refill. */
export const TANK_LIST = list({
  key: "tanks",
  help: "List tanks with their last completed refill, those without one for longest first.",
  filters: { facility: byFacility("tanks") },
  columns: TANK_COLUMNS,
  nothing: () => "No tanks.",
  read: async ({ pool, config, nowMs }, { facility }, { limit }) => {
    const all = await readTankAges(pool, config.refills ?? { tanks: new Map() }, nowMs);
    return all
      .filter(({ facilityCode }) => facility === undefined || facilityCode === facility)
      .slice(0, limit);
  },
});
