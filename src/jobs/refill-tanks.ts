import type pg from "pg";
import { asFailure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import type { Refill, Tank } from "../core/refill.ts";
import { keepTanks, type RefillFacility } from "../ledger/refill-subscriptions.ts";
import { listListedTanks } from "../ledger/refill-views.ts";
import type { ServiceClient } from "../service/client.ts";

/** What looking for tanks is given. */
export interface TankDeps {
  readonly pool: pg.Pool;
  readonly service: Pick<ServiceClient, "listTanks">;
  readonly logger: Logger;
  /**
   * Whether the credential reaches the list of storage solutions, which belongs to the request surface. Where it
   * doesn't, asking would be taken for a refused credential, and that holds up all calls.
   */
  readonly mayListTanks: (facilityId: number) => boolean;
}

/**
 * The tanks of a facility, listed anew with a full reading or when a refill names one that is not known. When the
 * list can't be read, what is known has to do.
 */
export async function knowTanks(
  facility: RefillFacility,
  refills: readonly Refill[],
  isFull: boolean,
  deps: TankDeps,
  signal: AbortSignal,
): Promise<readonly Tank[]> {
  const { facilityId, facilityCode } = facility;
  const own = async () => (await listListedTanks(deps.pool)).filter((tank) => tank.facilityId === facilityId);
  const known = await own();
  const knownIds = new Set(known.map(({ storageId }) => storageId));
  const hasNew = refills.some(({ storageId }) => storageId !== undefined && !knownIds.has(storageId));
  if (!deps.mayListTanks(facilityId) || (!isFull && !hasNew)) return known;
  try {
    await keepTanks(deps.pool, facilityId, await deps.service.listTanks(facilityId, signal));
    return await own();
  } catch (error) {
    const failure = asFailure(error);
    if (signal.aborted || failure.code.startsWith("LEDGER_")) throw failure;
    deps.logger.debug({ facility: facilityCode, err: failure }, "the tanks of a facility can't be listed");
    return known;
  }
}

/** Refills with the name of their tank where the service told only its id, and the id where only the name. */
export function withTanks(refills: readonly Refill[], tanks: readonly Tank[]): Refill[] {
  const nameById = new Map(tanks.map(({ storageId, name }) => [storageId, name]));
  const idsByName = Map.groupBy(tanks, ({ name }) => name);
  return refills.map((refill) => {
    const { storageId, storageName } = refill;
    const named = storageName === undefined ? [] : (idsByName.get(storageName) ?? []);
    return {
      ...refill,
      storageId: storageId ?? (named.length === 1 ? named[0]?.storageId : undefined),
      storageName: storageName ?? (storageId === undefined ? undefined : nameById.get(storageId)),
    };
  });
}
