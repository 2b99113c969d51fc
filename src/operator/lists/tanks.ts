import { readTankAges, type TankAge, tankName } from "../../jobs/refills/tanks.ts";
import { ageColumn, type Column } from "../column.ts";
import { list } from "../list.ts";
import { roundToUnit } from "../times.ts";
import { byFacility } from "./refills.ts";

/** A tank with its last refill. */
const TANK_COLUMNS: readonly Column<TankAge>[] = [
  { key: "facilityCode", title: "facility", isFlexible: true },
  { key: "storageName", title: "tank", isFlexible: true, show: tankName },
  { key: "storageId", title: "id", isRight: true },
  { key: "lastRefillAt", title: "last refill", show: ({ lastRefillAt }) => lastRefillAt ?? "none seen" },
  { key: "since" },
  ageColumn(({ since }) => since),
  {
    key: "alertAfterSeconds",
    title: "alert after",
    isRight: true,
    value: ({ limitMs }) => limitMs && limitMs / 1_000,
    show: ({ limitMs }) => (limitMs === undefined ? "never" : roundToUnit(limitMs)),
  },
  {
    key: "isOverdue",
    title: "",
    show: ({ isOverdue }) => (isOverdue ? "overdue" : ""),
    paint: () => "red",
  },
];

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
