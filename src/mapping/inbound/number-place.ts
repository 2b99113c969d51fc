import type { Echo } from "../../formats/hl7/echo.ts";
import { type OrderGroup, orderGroups } from "../../formats/hl7/groups.ts";
import type { Hl7Message } from "../../formats/hl7/message.ts";
import type { OrderNumbers } from "../../formats/hl7/sent-segments.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { readValue } from "../profile/value.ts";
import { controlOf } from "./control-hl7.ts";
import { findSingle, groupScopes } from "./find-hl7.ts";
import { keptIfFit } from "./unfit.ts";

/** The field of ORC or OBR that an order's number is read from. */
interface NumberPlace {
  readonly segment: "ORC" | "OBR";
  readonly field: number;
}

const PLACER: NumberPlace = { segment: "ORC", field: 2 };

/** Fields that answers and results fill themselves; a number that is read from one of them goes to ORC-2. */
const FILLED: Readonly<Record<NumberPlace["segment"], readonly number[]>> = {
  ORC: [1, 5, 9, 16],
  OBR: [1, 4, 7, 22, 25],
};

/**
 * Where the number of a group's order stands: there the sender looks for it in what is sent back. ORC-2 where the
 * profile reads the number outside ORC and OBR.
 *
 * @param group undefined once the message is pruned; then the profile's first place is taken
 */
function findNumberPlace(group: OrderGroup | undefined, { rules }: Hl7Profile): NumberPlace {
  const rule = rules.placerOrderNumber;
  if (group === undefined) {
    const [first] = rule.sources.flatMap((source) => (source.kind === "place" ? [source.path] : []));
    return first === undefined ? PLACER : toPlace(first.segment, first.field);
  }
  for (const scope of groupScopes(group, [])) {
    const reading = readValue(rule, findSingle, scope);
    const [, name = "", field] = /^(\w{3})(?:\[\d+\])?-(\d+)/.exec(reading.place) ?? [];
    if (reading.status === "found") return toPlace(name, Number(field));
  }
  return PLACER;
}

function toPlace(segment: string, field: number): NumberPlace {
  if ((segment !== "ORC" && segment !== "OBR") || FILLED[segment].includes(field)) return PLACER;
  return { segment, field };
}

/** How the number of an order is written where it was read: before the profile's transforms. */
export function writtenNumbers(groups: readonly OrderGroup[], profile: Hl7Profile): string[] {
  return groups.flatMap((group) => {
    const { segment, field } = findNumberPlace(group, profile);
    const found = segment === "ORC" ? group.orc : group.obrs[0];
    return [found?.get(field, 1, 1) ?? []].flat();
  });
}

/**
 * What may be read as the number of a new order in an answer that echoes a message's groups: as the profile reads it, and
 * what stands where numbers stand, since a message may be refused for its number.
 */
export function echoedNumbers(message: Hl7Message, profile: Hl7Profile): string[] {
  return [...new Set(tryPlacingGroups(message, profile).flatMap((group) => numbersOfGroup(group, profile)))];
}

/** The same of one group. */
export function numbersOfGroup(group: OrderGroup, profile: Hl7Profile): string[] {
  const { segment, field } = findNumberPlace(group, profile);
  const places = [
    ...[group.orc, ...group.obrs].flatMap((each) => [each?.get(2, 1, 1), each?.get(3, 1, 1)]),
    ...(segment === "ORC" ? [group.orc] : group.obrs).map((each) => each?.get(field, 1, 1)),
    ...groupScopes(group, []).map((scope) => {
      const reading = readValue(profile.rules.placerOrderNumber, findSingle, scope);
      return reading.status === "found" ? reading.value : undefined;
    }),
  ];
  const numbers = places.flatMap((place) => keptIfFit(place?.replace(/[\p{Cf}\p{Cc}]/gu, "").trim()) ?? []);
  return [...new Set(numbers)].filter((number) => number !== "");
}

/** The groups that place orders; a message that was refused for its structure has none that an answer could echo. */
function tryPlacingGroups(message: Hl7Message, profile: Hl7Profile): OrderGroup[] {
  try {
    return orderGroups(message, profile.ordersEach).filter((group) => {
      return controlOf(group, profile) === undefined;
    });
  } catch {
    return [];
  }
}

/** Of an order whose number another one has. */
export const NO_NUMBERS: OrderNumbers = {
  placer: undefined,
  obrPlacer: undefined,
  filler: undefined,
  elsewhere: undefined,
};

/**
 * An order's number as it stood in its message, in the field where it was read. ORC-2 and OBR-2, as well as ORC-3 and
 * OBR-3, are the same number by the standard, so each stands in for the other.
 *
 * @param group the order's group in the message; undefined once that is pruned
 * @param number the order's number, for a message that can't be echoed any more
 */
export function numberFields(
  group: OrderGroup | undefined,
  number: string | undefined,
  echo: Echo,
  profile: Hl7Profile,
): OrderNumbers {
  const place = findNumberPlace(group, profile);
  const [obr] = group?.obrs ?? [];
  // Where each OBR is an order, ORC has what is of several.
  const [first, second] =
    profile.ordersEach === "OBR" && place.segment === "OBR" ? [obr, group?.orc] : [group?.orc, obr];
  const inBoth = (field: number) => echo.field(first, field) ?? echo.field(second, field);
  const placer = inBoth(2) ?? (place.field === 2 ? number : undefined);
  const own = echo.field(place.segment === "ORC" ? group?.orc : obr, place.field) ?? number;
  return {
    placer,
    obrPlacer: echo.field(obr, 2) ?? placer,
    filler: place.field === 3 ? (inBoth(3) ?? number) : undefined,
    elsewhere: place.field === 2 || place.field === 3 ? undefined : { ...place, value: own },
  };
}
