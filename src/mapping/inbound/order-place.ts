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
): (index: number, place: string) => string {
  let owners: ReadonlyMap<string, Owner> | undefined;
  return (index, place) => {
    owners ??= findOwners(orders, shared);
    const [segment] = /^[A-Z][A-Z0-9]{2}(?:\[\d+\])?(?=-|$| )/.exec(place) ?? [];
    const owner = segment === undefined ? undefined : owners.get(segment);
    if (owner === "several") return place;
    const { number, groups } = orders[index] as PlacedOrder;
    const group = owner?.index === index ? owner.group : groups[0];
    const head = group && headOf(group, each);
    if (head === undefined) return place;
    const name = nameOf(head);
    const fit = keptIfFit(number);
    if (segment === name) return fit === undefined ? place : `order ${fit}, ${place}`;
    return `${fit === undefined ? name : `order ${fit} (${name})`}, ${place}`;
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

/**
 * The segments that a place such as those of {@link orderPlaces} names, the best first: those where something stands, and the one that its
 * order begins with.
 */
export function segmentsNamedIn(place: string): string[][] {
  const parts = place.replace(/, part \d+$/, "").split(", ");
  const [, head] = /\(([A-Z][A-Z0-9]{2}(?:\[\d+\])?)\)$/.exec(parts.at(-2) ?? "") ?? [];
  const segments = (parts.at(-1) ?? "")
    .split(" and ")
    .flatMap((each) => /^[A-Z][A-Z0-9]{2}(?:\[\d+\])?(?=-|$)/.exec(each)?.[0] ?? []);
  return [segments, head === undefined ? [] : [head]];
}
