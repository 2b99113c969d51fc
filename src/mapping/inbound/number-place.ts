import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { readValue } from "../profile/value.ts";
import { findSingle, groupScopes } from "./find-hl7.ts";
import { keptIfFit } from "./unfit.ts";

/** The field of ORC or OBR that an order's number is read from. */
export interface NumberPlace {
  readonly segment: "ORC" | "OBR";
  readonly field: number;
}

/** Where the standard has it. */
export const PLACER: NumberPlace = { segment: "ORC", field: 2 };

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
export function findNumberPlace(
  group: OrderGroup | undefined,
  { rules }: Pick<Hl7Profile, "rules">,
): NumberPlace {
  const rule = rules.placerOrderNumber;
  if (group === undefined) {
    const [first] = rule.sources.flatMap((source) => (source.kind === "place" ? [source.path] : []));
    return first === undefined ? PLACER : toPlace(first.segment, first.field);
  }
  for (const scope of groupScopes(group, [])) {
    const reading = readValue(rule, findSingle, scope);
    const [spot] = reading.place.spots ?? [];
    if (reading.status !== "found") continue;
    return spot !== undefined && "field" in spot ? toPlace(spot.segment, spot.field) : PLACER;
  }
  return PLACER;
}

function toPlace(segment: string, field: number | undefined): NumberPlace {
  if ((segment !== "ORC" && segment !== "OBR") || field === undefined) return PLACER;
  if (FILLED[segment].includes(field)) return PLACER;
  return { segment, field };
}

/** What may be read as the number of a group's order: as the profile reads it, and what stands where numbers stand. */
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
