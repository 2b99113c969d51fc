import type { ContainerLocation } from "../../core/outcome.ts";
import { serviceTimeMs } from "../../core/service-time.ts";

/**
 * What an inventory says of a container, against what the service says of that container alone.
 * - `same`: the same place, written the same way, and as much about it.
 * - `less`: no other place, but without a slot or a time, or written another way, such as in parts instead of a text: results would
 *   say it in other fields.
 * - `other`: another place.
 */
export type Agreement = "same" | "less" | "other";

const FIELDS = ["storageName", "canister", "cane", "position", "storedAt"] as const;
/** A part of a location that the service may show. */
export type LocationField = (typeof FIELDS)[number];

/** What a location shows. */
export function fieldsOf(location: ContainerLocation): LocationField[] {
  return FIELDS.filter((field) => location[field] !== undefined);
}

/** Compares the two, field by field; a slot beside canister and cane is another thing than a text that has all three. */
export function compareLocations(shown: ContainerLocation, single: ContainerLocation): Agreement {
  const [ofShown, ofSingle] = [fieldsOf(shown), fieldsOf(single)];
  const isOtherForm = (["canister", "cane"] as const).some(
    (level) => ofShown.includes(level) !== ofSingle.includes(level),
  );
  const isOther =
    areDifferent(shown.storageId, single.storageId) ||
    areDifferent(shown.storageName, single.storageName) ||
    areDifferent(instant(shown.storedAt), instant(single.storedAt)) ||
    areDifferent(shown.canister, single.canister) ||
    areDifferent(shown.cane, single.cane) ||
    (!isOtherForm && areDifferent(shown.position, single.position));
  if (isOther) return "other";
  // A name, a time or a slot more does no harm.
  return isOtherForm || ofSingle.some((field) => !ofShown.includes(field)) ? "less" : "same";
}

function areDifferent<T>(a: T | undefined, b: T | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** A time that can't be read is compared as it is written. */
function instant(time: string | undefined): number | string | undefined {
  return serviceTimeMs(time) ?? time;
}
