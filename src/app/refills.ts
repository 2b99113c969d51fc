import type pg from "pg";
import { type Config, wayOfFacility } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import { hasPath } from "../core/service-catalogue.ts";
import { type RefillWatch, type RefillWatchDeps, watchRefills } from "../jobs/refills/refills.ts";
import { readTankAges } from "../jobs/refills/tanks.ts";
import { countRefills, listSubscriptions, subscribeRefills } from "../ledger/refills.ts";
import type { RefillOverview } from "../standing/facts.ts";

/**
 * Begins to follow the refills of the facilities that the configuration names; without any, the following ends here.
 * @throws Failure LEDGER_…
 */
export async function startRefills(
  config: Config,
  parts: Pick<RefillWatchDeps, "pool" | "service" | "clock" | "logger" | "mayRead">,
): Promise<RefillWatch> {
  const { refills } = config;
  const facilities = (refills?.facilities ?? []).flatMap((facilityCode) => {
    const facilityId = config.facilityIdByCode.get(facilityCode);
    if (facilityId === undefined) return [];
    return [{ facilityId, facilityCode, surface: wayOfFacility(config, facilityId).surface }];
  });
  await subscribeRefills(parts.pool, facilities);
  return watchRefills(await listSubscriptions(parts.pool), {
    ...parts,
    everyMs: refills?.everyMs ?? 0,
    keptMs: config.retention.ordersMs,
    mayListTanks: (facilityId) => {
      const { surface, subjects } = wayOfFacility(config, facilityId);
      // Subjects belong to the request surface too: where they may not be asked for, nothing of it may.
      const isReached = surface === "request" || subjects !== "none";
      return isReached && hasPath(config.service.paths, "storage");
    },
  });
}

/** What the console shows of refills; undefined when none are followed. */
export function refillOverviewOf(
  pool: pg.Pool,
  refills: Config["refills"],
  clock: Clock,
): (() => Promise<RefillOverview>) | undefined {
  if (!refills) return undefined;
  return async () => {
    const [counts, tanks] = await Promise.all([countRefills(pool), readTankAges(pool, refills, clock.now())]);
    return { counts, tanks };
  };
}
