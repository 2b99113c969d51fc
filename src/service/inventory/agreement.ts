import type { ContainerLocation } from "../../core/outcome.ts";
import { serviceTimeMs } from "../../core/service-time.ts";

/**
 * What an inventory says of a container, against what the service says of that container alone.
 * - `same`: the same place, and as much about it.
 * - `less`: the same place as far as it goes, such as one without a slot or a time.
 * - `other`: another place.
 */
export type Agreement = "same" | "less" | "other";

/** No place has more words than that. */
const MOST_WORDS = 50;
/** Words that name a level; what the levels are called is what counts. */
const LEVEL_WORDS = new Set(["canister", "cane", "slot", "position", "pos", "no", "nr"]);

/**
 * Compares the two. One may write a place as text (`Canister 1, Cane A, Slot 2`) and the other in parts, so the names in them are
 * compared, whatever words stand around.
 */
export function compareLocations(shown: ContainerLocation, single: ContainerLocation): Agreement {
  const [names, singleNames] = [namesIn(shown), namesIn(single)];
  if (Math.max(names.length, singleNames.length) > MOST_WORDS) return "other";
  const isOther =
    areDifferent(shown.storageId, single.storageId) ||
    areDifferent(shown.storageName, single.storageName) ||
    areDifferent(instant(shown.storedAt), instant(single.storedAt)) ||
    areDifferent(shown.canister, single.canister) ||
    areDifferent(shown.cane, single.cane) ||
    (singleNames.length > 0 && without(names, singleNames).length > 0);
  if (isOther) return "other";
  const hasLess =
    (single.storageName !== undefined && shown.storageName === undefined) ||
    (single.storedAt !== undefined && shown.storedAt === undefined) ||
    without(singleNames, names).length > 0;
  return hasLess ? "less" : "same";
}

function areDifferent<T>(a: T | undefined, b: T | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** A time that can't be read is compared as it is written. */
function instant(time: string | undefined): number | string | undefined {
  return serviceTimeMs(time) ?? time;
}

function namesIn({ canister, cane, position }: ContainerLocation): string[] {
  const text = [canister, cane, position].filter((part) => part !== undefined).join(" ");
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !LEVEL_WORDS.has(word));
}

/** What of a list is not in another one, each as often as it is missing there. */
function without(list: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return list.filter((each) => {
    const at = left.indexOf(each);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
