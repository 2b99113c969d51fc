import type { Problem } from "../../core/failures.ts";
import type { Control, ControlRequest, FillerNumber } from "../../core/order-control.ts";
import { phi } from "../../core/phi.ts";
import { atSegment, joined, type Place, within } from "../../core/place.ts";
import type { OrderGroup, OrderParts } from "../../formats/hl7/groups.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import type { Reading } from "../profile/value.ts";
import { eachHint, findSingle, findSubjectCode, groupScopes, readStrictly } from "./find-hl7.ts";
import { authorityOf, disagreementOnAuthority } from "./number-place.ts";
import { findUnfit } from "./unfit.ts";

/** The requests about earlier orders that a message holds, and what is wrong with them. */
export interface ReadControl {
  readonly controlRequests: readonly ControlRequest[];
  readonly problems: readonly Problem[];
}

/** What an order group wants of an earlier order, by ORC-1 (table 0119) and the profile; undefined for a new order. */
export function controlOf(
  { orc }: OrderGroup,
  { controls }: Pick<Hl7Profile, "controls">,
): Control | undefined {
  return controls.get(orc?.get(1) ?? "");
}

/** Whether the request says again what the order is to ask for; such groups are read like orders. */
export function isChanging(control: Control | undefined): control is "change" | "replace" {
  return control === "change" || control === "replace";
}

/**
 * Reads the requests of an order message about earlier orders, other than those that change what an order asks for.
 * Nothing but a number of the order is needed: OBR, specimens and containers may be missing, or be there as in the order
 * itself. Groups that want the same of one order are one request.
 */
export function readControl(parts: OrderParts, profile: Hl7Profile, messagePlace: Place): ReadControl {
  const groups = parts.groups.flatMap((group) => {
    const control = controlOf(group, profile);
    if (control === undefined || isChanging(control)) return [];
    return [{ group, control, readings: readNumber(group, parts, profile) }];
  });
  if (groups.length === 0) return { controlRequests: [], problems: [] };
  const problems: Problem[] = [];
  const complain = (problem: Problem) =>
    problems.push({ ...problem, place: within(messagePlace, problem.place) });
  const subject = readStrictly(profile.rules.subject.code, findSubjectCode, parts.segments);
  if (subject.status === "bad") {
    const { code, place, message, hint } = subject;
    complain({ code, place, message, hint });
  }
  compareAuthorities(groups).forEach(complain);
  const controlRequests = groups.flatMap(({ control, ...group }): ControlRequest[] => {
    const named = readNames(group, profile, complain);
    if (named === undefined) return [];
    return [
      { control, ...named, ...(subject.status === "found" ? { subjectCode: phi(subject.value) } : {}) },
    ];
  });
  return { controlRequests: withoutRepeats(controlRequests), problems };
}

/** A group, and its order's number as {@link readNumber} has it. */
interface ReadGroup {
  readonly group: OrderGroup;
  readonly readings: readonly Reading[];
}

/** Groups with one number have to mean one order. */
function compareAuthorities(groups: readonly ReadGroup[]): Problem[] {
  const numbered = groups.flatMap(({ group, readings: [number] }) => {
    return number?.status === "found" ? [{ group, number }] : [];
  });
  return [...Map.groupBy(numbered, ({ number }) => number.value).values()].flatMap(
    (same) => disagreementOnAuthority(same) ?? [],
  );
}

/** The order that a group names. */
function readNames(
  { group, readings: [first, ...others] }: ReadGroup,
  profile: Hl7Profile,
  complain: (problem: Problem) => void,
): Pick<ControlRequest, "placerOrderNumber" | "placerAuthority" | "fillerNumber"> | undefined {
  const bad = [first, ...others].find((reading) => reading?.status === "bad");
  if (bad?.status === "bad") {
    const hint = bad.code === "MAPPING_VALUES_DISAGREE" ? eachHint(group, profile) : undefined;
    complain({ code: bad.code, place: bad.place, message: bad.message, hint: hint ?? bad.hint });
    return undefined;
  }
  const odd = others.find((reading) => foundIn(reading) !== foundIn(first));
  if (odd) {
    const message = "one order must have one placer order number";
    const hint = eachHint(group, profile);
    complain({ code: "MAPPING_VALUES_DISAGREE", place: odd.place, message, hint });
    return undefined;
  }
  const placerOrderNumber = foundIn(first);
  const unfit = placerOrderNumber === undefined ? undefined : findUnfit(placerOrderNumber, "code");
  if (unfit && first) {
    complain({ code: unfit.code, place: first.place, message: unfit.message });
    return undefined;
  }
  const fillerNumber = readFiller(group, profile);
  const [oneFiller, otherFiller] = listFillers(group, profile);
  if (otherFiller !== undefined) {
    const text = "are two numbers of ours, expected that of one order";
    const place = joined([oneFiller?.place ?? {}, otherFiller.place], "and");
    complain({ code: "MAPPING_VALUES_DISAGREE", place, message: text });
    return undefined;
  }
  if (placerOrderNumber === undefined && fillerNumber === undefined) {
    const place = first?.place ?? profile.rules.placerOrderNumber.places;
    const isOfFiller = place.spots?.some(
      (spot) => "field" in spot && spot.segment === "ORC" && spot.field === 3,
    );
    const none = isOfFiller ? "" : ", and ORC-3 holds no number of ours";
    const text = `is empty${none}; expected the number of the order that is meant`;
    complain({ code: "MAPPING_VALUE_MISSING", place, message: text });
    return undefined;
  }
  const placerAuthority = first && authorityOf([{ group, number: first }]);
  return {
    ...(placerOrderNumber === undefined ? {} : { placerOrderNumber }),
    ...(placerAuthority === undefined ? {} : { placerAuthority }),
    ...(fillerNumber === undefined ? {} : { fillerNumber }),
  };
}

/** The placer order number as each OBR of the group, with the ORC, gives it. */
export function readNumber(group: OrderGroup, { shared }: OrderParts, { rules }: Hl7Profile): Reading[] {
  // A site's number may stand before the orders, such as in PID; never in another order.
  return groupScopes(group, shared).map((scope) =>
    readStrictly(rules.placerOrderNumber, findSingle, scope, () => [...group.segments, ...shared]),
  );
}

function foundIn(reading: Reading | undefined): string | undefined {
  return reading?.status === "found" ? reading.value : undefined;
}

/** ORC-3, else OBR-3, where it is a number of ours: the letter and id that our results carry, in our namespace. */
export function readFiller(group: OrderGroup, profile: Hl7Profile): FillerNumber | undefined {
  const [first] = listFillers(group, profile);
  return first && { kind: first.kind, id: first.id };
}

/** The first number of ours, and those of the same kind that differ from it. */
function listFillers(
  { orc, obrs }: OrderGroup,
  { results }: Hl7Profile,
): readonly (FillerNumber & { readonly place: Place })[] {
  const found = [orc, ...obrs].flatMap((segment) => {
    if (segment?.get(3, 1, 2) !== results.namespace) return [];
    const match = /^([RP])([1-9]\d{0,15})$/.exec(segment.get(3, 1, 1) ?? "");
    const id = Number(match?.[2]);
    if (!match || !Number.isSafeInteger(id)) return [];
    return [
      {
        kind: match[1] === "R" ? "request" : "procedure",
        id,
        place: atSegment(segment, { field: 3 }),
      } as const,
    ];
  });
  const [first] = found;
  return found.filter((one) => one === first || (one.kind === first?.kind && one.id !== first.id));
}

/** One request of each kind about an order; of several, one that says who assigned the number. */
function withoutRepeats(controlRequests: readonly ControlRequest[]): ControlRequest[] {
  const key = ({ control, placerOrderNumber, fillerNumber }: ControlRequest) =>
    JSON.stringify([control, placerOrderNumber, fillerNumber?.kind, fillerNumber?.id]);
  return [...Map.groupBy(controlRequests, key).values()].flatMap(
    (same) => same.find(({ placerAuthority }) => placerAuthority !== undefined) ?? same.slice(0, 1),
  );
}
