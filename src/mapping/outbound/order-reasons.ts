import { isNumberTaken, type Problem } from "../../core/failures.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import { nameOf } from "../inbound/find-hl7.ts";
import { numbersOfGroup } from "../inbound/number-place.ts";
import type { Hl7Profile } from "../profile/profile.ts";

/** What is wrong with one order of a message; nothing where only another order of it has a mistake. */
type ReasonsOf = (group: OrderGroup) => readonly Problem[];

/**
 * Whose mistake each problem of a refused or waiting message is: that of the orders with the segment or number that it names, or
 * of all where it names none of theirs. Groups with one number are one order.
 */
export function reasonsByOrder(
  problems: readonly Problem[],
  groups: readonly OrderGroup[],
  profile: Hl7Profile,
): ReasonsOf {
  if (groups.length <= 1 || problems.length === 0) return () => problems;
  const groupsByName = new Map<string, Set<OrderGroup>>();
  const note = (name: string, group: OrderGroup) => {
    const others = groupsByName.get(name);
    if (others === undefined) groupsByName.set(name, new Set([group]));
    else others.add(group);
  };
  for (const group of groups) {
    for (const segment of group.segments) note(nameOf(segment), group);
    for (const number of numbersOfGroup(group, profile)) note(numberKey(number), group);
  }
  const ownersOf = (names: readonly string[]) => names.flatMap((name) => [...(groupsByName.get(name) ?? [])]);
  const reasons = new Map<OrderGroup, Problem[]>(groups.map((group) => [group, []]));
  for (const problem of problems) {
    const own = namesIn(problem)
      .map(ownersOf)
      .find((owners) => owners.length > 0);
    const all = own?.flatMap((group) => [group, ...ownersOf(numbersOfGroup(group, profile).map(numberKey))]);
    for (const group of new Set(all ?? groups)) reasons.get(group)?.push(problem);
  }
  return (group) => reasons.get(group) ?? [];
}

/** Numbers are looked up beside the names of segments. */
const numberKey = (number: string) => `order ${number}`;

/** What of a problem may name its order, the best first: numbers, the segments of its place, the segment its order begins with. */
function namesIn({ place, orderNumbers = [] }: Problem): string[][] {
  const parts = place.replace(/, part \d+$/, "").split(", ");
  const [, head] = /\(([A-Z][A-Z0-9]{2}(?:\[\d+\])?)\)$/.exec(parts.at(-2) ?? "") ?? [];
  const segments = (parts.at(-1) ?? "")
    .split(" and ")
    .flatMap((each) => /^[A-Z][A-Z0-9]{2}(?:\[\d+\])?(?=-|$)/.exec(each)?.[0] ?? []);
  return [orderNumbers.map(numberKey), segments, head === undefined ? [] : [head]];
}

/**
 * Which groups of a refused or waiting message bring an order whose number another one has: all, where a problem names no number
 * of theirs.
 */
export function takenGroups(
  problems: readonly Problem[],
  groups: readonly OrderGroup[],
  profile: Hl7Profile,
): ReadonlySet<OrderGroup> {
  const taken = problems.filter((problem) => isNumberTaken([problem]));
  const owners = taken.map(({ orderNumbers = [] }) =>
    groups.filter((group) => numbersOfGroup(group, profile).some((number) => orderNumbers.includes(number))),
  );
  return new Set(owners.some(({ length }) => length === 0) ? groups : owners.flat());
}
