import { asFailure, type Failure } from "../../core/failures.ts";
import { OF_THE_SERVICE, type ServiceContext, unlessRefused } from "../http/context.ts";
import { readInventoryPage } from "../inventory/find.ts";
import { type Agreement, compareLocations } from "../inventory/worth.ts";
import { listTanks } from "../refills.ts";
import { getLocation } from "../request-surface/containers.ts";

/** What inventories show. */
export type InventoryFacts =
  /** No storage solution is listed, or those that were looked at are empty. */
  | { readonly kind: "empty" }
  | { readonly kind: "refused"; readonly failure: Failure }
  /** No places, or in a form that is not recognised. */
  | { readonly kind: "unknown" }
  /** How one place agrees with that container's own location; undefined where it has none. */
  | {
      readonly kind: "places";
      readonly agreement: Agreement | undefined;
      readonly storageId: number;
      readonly containerId: number;
    };

/** Storage solutions that are looked at, until one has something in it. */
const MOST_LOOKED_AT = 3;

/**
 * Finds out by reading alone whether a facility's inventories show where containers are: the list of its storage solutions, up to
 * three inventories, and one location.
 * @throws Failure when the service is out of reach or in trouble, so that nothing can be known.
 */
export async function probeInventory(
  context: ServiceContext,
  facilityId: number,
  signal: AbortSignal,
): Promise<InventoryFacts> {
  try {
    return await look(context, facilityId, signal);
  } catch (error) {
    const failure = asFailure(error);
    if (OF_THE_SERVICE.has(failure.code)) throw failure;
    return { kind: "refused", failure };
  }
}

async function look(
  context: ServiceContext,
  facilityId: number,
  signal: AbortSignal,
): Promise<InventoryFacts> {
  const tanks = await listTanks(context, facilityId, signal);
  for (const { storageId, name } of tanks.slice(0, MOST_LOOKED_AT)) {
    const kept: number[] = [];
    const isWanted = (id: number) => kept.length === 0 && kept.push(id) > 0;
    const page = await readInventoryPage(context, { storageId, isWanted }, {}, signal);
    const [entry] = page.entries;
    if (page.isUnknown) return { kind: "unknown" };
    if (entry === undefined) continue;
    const single = await unlessRefused(() => getLocation(context, entry.id, signal));
    const shown = { ...entry.location, storageName: entry.location.storageName ?? name };
    const agreement = single && compareLocations(shown, single);
    return { kind: "places", agreement, storageId, containerId: entry.id };
  }
  return { kind: "empty" };
}
