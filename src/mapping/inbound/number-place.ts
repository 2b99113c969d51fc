import type { Problem } from "../../core/failures.ts";
import { type AssigningAuthority, areOfTwoAuthorities, formatAuthority } from "../../core/order.ts";
import { joined, type Place } from "../../core/place.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { type Reading, readValue } from "../profile/value.ts";
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

/** Where the number stands of an order whose message is pruned: the profile's first place. */
export function likelyNumberPlace({ rules }: Pick<Hl7Profile, "rules">): NumberPlace {
  const [first] = rules.placerOrderNumber.sources.flatMap((source) =>
    source.kind === "place" ? [source.path] : [],
  );
  return first === undefined ? PLACER : toPlace(first.segment, first.field);
}

function toPlace(segment: string, field: number | undefined): NumberPlace {
  if ((segment !== "ORC" && segment !== "OBR") || field === undefined) return PLACER;
  if (FILLED[segment].includes(field)) return PLACER;
  return { segment, field };
}

/**
 * What of a group may be read as the number of its order: as the profile reads it, and what stands where numbers stand; and where it
 * stands, since there the sender looks for it in what is sent back. ORC-2 where the profile reads it outside ORC and OBR.
 */
export function findNumbers(
  group: OrderGroup,
  { rules }: Pick<Hl7Profile, "rules">,
): { readonly numbers: string[]; readonly place: NumberPlace } {
  const read = groupScopes(group, []).flatMap((scope) => {
    const reading = readValue(rules.placerOrderNumber, findSingle, scope);
    return reading.status === "found" ? [reading] : [];
  });
  const [spot] = read[0]?.place.spots ?? [];
  const place = spot !== undefined && "field" in spot ? toPlace(spot.segment, spot.field) : PLACER;
  const { segment, field } = place;
  const written = [
    ...[group.orc, ...group.obrs].flatMap((each) => [each?.get(2, 1, 1), each?.get(3, 1, 1)]),
    ...(segment === "ORC" ? [group.orc] : group.obrs).map((each) => each?.get(field, 1, 1)),
    ...read.map(({ value }) => value),
  ];
  const numbers = written.flatMap((each) => keptIfFit(each?.replace(/[\p{Cf}\p{Cc}]/gu, "").trim()) ?? []);
  return { numbers: [...new Set(numbers)].filter((number) => number !== ""), place };
}

/** One authority isn't written in more ways than this. */
const MOST_WRITINGS = 20;

/** A group of a message, and the order number that was read of it. */
interface NumberedGroup {
  readonly group: OrderGroup;
  readonly number: Reading;
}

/**
 * Where groups with one order number have it of two assigning authorities: then they are two orders (HL7 chapter 2A, EI),
 * and as one the containers of both would be in it. A group that names no authority is taken to be of the same.
 */
export function disagreementOnAuthority(groups: readonly NumberedGroup[]): Problem | undefined {
  if (groups.length === 1) return undefined;
  const foundByName = new Map<string, FoundAuthority>();
  for (const group of groups) {
    const found = findAuthority(group);
    const name = found && formatAuthority(found.authority);
    if (found === undefined || name === undefined || foundByName.has(name)) continue;
    for (const before of foundByName.values()) {
      const isOfTooMany = foundByName.size >= MOST_WRITINGS;
      if (!isOfTooMany && !areOfTwoAuthorities(before.authority, found.authority)) continue;
      return {
        code: "MAPPING_VALUES_DISAGREE",
        place: joined([before.place, found.place], "and"),
        message: isOfTooMany
          ? `one order number with its assigning authority in more than ${MOST_WRITINGS} writings, expected one`
          : "one order number of two assigning authorities, expected a message, or a number, of its own for each",
      };
    }
    foundByName.set(name, found);
  }
  return undefined;
}

/** Who assigned the number of the first of these groups that says it. */
export function authorityOf(groups: readonly NumberedGroup[]): AssigningAuthority | undefined {
  for (const group of groups) {
    const found = findAuthority(group);
    if (found !== undefined) return found.authority;
  }
  return undefined;
}

interface FoundAuthority {
  readonly authority: AssigningAuthority;
  readonly place: Place;
}

/** The fields of type EI, by segment; what stands beside a number in any other is no authority, but anything. */
const EI_FIELDS: Readonly<Record<string, readonly number[]>> = { ORC: [2, 3, 4], OBR: [2, 3] };

/** EI.2 to EI.4 beside the number, in the field and repetition where that was found; what can't be kept counts as nothing. */
function findAuthority({ group, number }: NumberedGroup): FoundAuthority | undefined {
  if (number.status !== "found") return undefined;
  // Of a value of several places it is the first one that counts.
  const [spot] = number.place.spots ?? [];
  if (spot === undefined || !("segment" in spot) || "name" in spot || spot.field === undefined)
    return undefined;
  const { segment: name, field, repetition = 1, component = 1, subcomponent = 1 } = spot;
  if (component !== 1 || subcomponent !== 1 || EI_FIELDS[name]?.includes(field) !== true) return undefined;
  const segment = name === "ORC" ? group.orc : group.obrs[0];
  const part = (n: number): string | undefined => {
    const value = segment?.get(field, repetition, n)?.trim();
    return value === "" || value === '""' ? undefined : keptIfFit(value);
  };
  const [namespaceId, universalId] = [part(2), part(3)];
  if (namespaceId === undefined && universalId === undefined) return undefined;
  const universalIdType = universalId === undefined ? undefined : part(4);
  return {
    authority: {
      ...(namespaceId === undefined ? {} : { namespaceId }),
      ...(universalId === undefined ? {} : { universalId }),
      ...(universalIdType === undefined ? {} : { universalIdType }),
    },
    place: {
      spots: [
        { ...spot, component: namespaceId === undefined ? 3 : 2, subcomponent: undefined, by: undefined },
      ],
    },
  };
}
