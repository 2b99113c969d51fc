import { type Place, segmentOf } from "../../core/place.ts";
import type { OrderGroup, OrderSegment } from "../../formats/hl7/groups.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import { nameOf } from "./find-hl7.ts";
import { keptIfFit } from "./unfit.ts";

/** An order of a message, as far as its places are concerned. */
interface PlacedOrder {
  readonly number: string | undefined;
  readonly groups: readonly OrderGroup[];
}

/** The segment with which an order begins; several may share an ORC where each OBR is one. */
export function headOf({ orc, obrs, segments }: OrderGroup, each: OrderSegment): Segment | undefined {
  return (each === "OBR" ? obrs[0] : orc) ?? obrs[0] ?? orc ?? segments[0];
}

/**
 * Names a place in one of several orders of a message: `order A-2 (OBR[2]), NTE[3]-3`, or `order A-2, OBR[2]-4.1`. Segments are
 * counted within the message, as ERR-2 counts them. What belongs to no order alone is named without one, so that it is
 * reported once.
 *
 * @returns the place by the index of the order
 */
export function orderPlaces(
  orders: readonly PlacedOrder[],
  shared: readonly Segment[],
  each: OrderSegment,
): (index: number, place: Place) => Place {
  let owners: ReadonlyMap<string, Owner> | undefined;
  return (index, place) => {
    owners ??= findOwners(orders, shared);
    const segment = segmentOf(place.spots?.[0]);
    const owner = segment === undefined ? undefined : owners.get(segment);
    if (owner === "several") return place;
    const { number, groups } = orders[index] as PlacedOrder;
    const group = owner?.index === index ? owner.group : groups[0];
    const begins = group && headOf(group, each);
    if (begins === undefined) return place;
    const order = keptIfFit(number);
    const named = order === undefined ? {} : { order };
    if (segment === nameOf(begins)) return { ...named, ...place };
    const { name, ordinal } = begins;
    return { ...named, head: { segment: name, ...(ordinal > 1 ? { ordinal } : {}) }, ...place };
  };
}

/** The group of one order that a segment belongs to. */
type Owner = { readonly index: number; readonly group: OrderGroup } | "several";

/** To which order each segment of a message belongs, by its name in places. */
function findOwners(orders: readonly PlacedOrder[], shared: readonly Segment[]): ReadonlyMap<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const segment of shared) owners.set(nameOf(segment), "several");
  for (const [index, { groups }] of orders.entries()) {
    for (const group of groups) {
      for (const segment of group.segments) {
        const name = nameOf(segment);
        const before = owners.get(name);
        const isOwn = before === undefined || (before !== "several" && before.index === index);
        owners.set(name, isOwn ? { index, group } : "several");
      }
    }
  }
  return owners;
}
