import type pg from "pg";
import { type Config, wayOfFacility } from "../config/config.ts";
import type { RefillsConfig } from "../config/refills-schema.ts";
import type { RefillOverview } from "../console/deps.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { composeRefills } from "../jobs/compose-refills.ts";
import { type RefillWatch, watchRefills } from "../jobs/refill-watch.ts";
import { readTankAges } from "../jobs/tanks.ts";
import { type RefillFacility, subscribeRefills } from "../ledger/refill-subscriptions.ts";
import { countRefills } from "../ledger/refill-views.ts";
import type { RefillTelling } from "../ledger/refills.ts";
import type { Profile } from "../mapping/profile.ts";
import type { ServiceClient } from "../service/client.ts";
import { profileOf } from "./connectors.ts";

export interface RefillParts {
  readonly pool: pg.Pool;
  readonly service: ServiceClient;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether this process holds the submitter's lock and the service is in reach. */
  readonly mayRead: () => boolean;
}

/**
 * Begins to follow the refills that the configuration subscribes to; without any, what was subscribed ends here.
 * @throws Failure LEDGER_…
 */
export async function startRefills(config: Config, parts: RefillParts): Promise<RefillWatch> {
  const facilities = refillFacilities(config);
  await subscribeRefills(parts.pool, facilities);
  const { refills } = config;
  return watchRefills(refills ? facilities.map(({ facilityId }) => facilityId) : [], {
    ...parts,
    everyMs: refills?.everyMs ?? 0,
    random: Math.random,
    telling: tellingOf(config, parts.profiles),
    statuses: new Set(refills?.statuses),
    keptMs: config.retention.ordersMs,
    mayListTanks: (facilityId) => {
      const { surface, subjects } = wayOfFacility(config, facilityId);
      // Subjects belong to the request surface too: where they may not be asked for, nothing of it may.
      return surface === "request" || subjects !== "none";
    },
  });
}

/** The facilities that the configuration subscribes to, each with the surface that it is reached by. */
export function refillFacilities(config: Config): RefillFacility[] {
  return (config.refills?.facilities ?? []).flatMap((facilityCode) => {
    const facilityId = config.facilityIdByCode.get(facilityCode);
    if (facilityId === undefined) return [];
    return [{ facilityId, facilityCode, surface: wayOfFacility(config, facilityId).surface }];
  });
}

/** What the console shows of refills; undefined when none are followed. */
export function refillOverviewOf(
  pool: pg.Pool,
  refills: RefillsConfig | undefined,
  clock: Clock,
): (() => Promise<RefillOverview>) | undefined {
  if (!refills) return undefined;
  return async () => {
    const [counts, tanks] = await Promise.all([countRefills(pool), readTankAges(pool, refills, clock.now())]);
    return { counts, tanks };
  };
}

function tellingOf(config: Config, profiles: ReadonlyMap<string, Profile>): RefillTelling | undefined {
  const connector = config.connectors.find(({ name }) => name === config.refills?.tellConnector);
  if (!connector) return undefined;
  return {
    connector: connector.name,
    compose: composeRefills(profileOf(connector, profiles), config.processingId),
  };
}
