import type { Problem } from "../../core/failures.ts";
import type { MappedMessage } from "../../core/mapped-message.ts";
import type { ControlRequest } from "../../core/order-control.ts";
import { atField, type Place, within } from "../../core/place.ts";
import type { OrderParts } from "../../formats/hl7/groups.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { controlOf, readControl } from "./control-hl7.ts";
import type { Draft } from "./draft.ts";
import { refuse, withoutRepeats } from "./mapped-message.ts";
import { readOrders } from "./order-hl7.ts";

/** What a message wants of earlier orders. */
interface MappedControl {
  readonly controlRequests: readonly ControlRequest[];
  /** What the orders are to ask for, as it was judged: what waits or is wrong there holds for the whole message. */
  readonly contents: readonly MappedMessage[];
  readonly problems: readonly Problem[];
}

/**
 * Reads what a message wants of earlier orders. What an order is to ask for from now on is mapped like an order, by the
 * site's module too, since it takes the order's place. Undefined when the message wants nothing of earlier orders.
 */
export function mapControl(
  parts: OrderParts,
  profile: Hl7Profile,
  place: Place,
  finish: (drafts: readonly Draft[]) => MappedMessage,
): MappedControl | undefined {
  const isAsked = parts.groups.some((group) => controlOf(group, profile) !== undefined);
  if (!isAsked) return undefined;
  const read = readControl(parts, profile, place);
  const controlRequests: ControlRequest[] = [...read.controlRequests];
  const contents: MappedMessage[] = [];
  for (const control of ["change", "replace"] as const) {
    const drafts = readOrders(parts, profile, control);
    if (drafts.length === 0) continue;
    const mapped = finish(drafts);
    contents.push(mapped);
    for (const content of mapped.orders) {
      const { placerOrderNumber, placerAuthority, subject } = content;
      controlRequests.push({
        control,
        placerOrderNumber,
        placerAuthority,
        subjectCode: subject.code,
        content,
      });
    }
  }
  return { controlRequests, contents, problems: [...read.problems, ...findClashes(controlRequests, place)] };
}

/** What is wanted of one order: nobody could say which of two things is to hold in the end. A question may stand beside. */
function findClashes(controlRequests: readonly ControlRequest[], place: Place): Problem[] {
  const seen = new Set<string>();
  return controlRequests.flatMap(({ control, placerOrderNumber, fillerNumber: ours }) => {
    if (control === "status") return [];
    const names = [
      ...(placerOrderNumber === undefined ? [] : [`order ${placerOrderNumber}`]),
      ...(ours === undefined ? [] : [`our ${ours.kind} ${ours.id}`]),
    ];
    const twice = names.find((each) => seen.has(each));
    for (const each of names) seen.add(each);
    if (twice === undefined) return [];
    const message = `wants two things of ${twice}, expected a message of its own for each`;
    return [{ code: "MAPPING_VALUES_DISAGREE" as const, place: within(place, atField("ORC", 1)), message }];
  });
}

/** A message is taken whole or not at all: its orders, and what it wants of earlier ones. */
export function withControl(
  mapped: MappedMessage,
  { controlRequests, contents, problems: found }: MappedControl,
  place: Place,
): MappedMessage {
  const parts = [mapped, ...contents];
  const isRefused = found.length > 0 || parts.some(({ verdict }) => verdict === "refused");
  const problems = withoutRepeats([...parts.flatMap((part) => part.problems), ...found]);
  const names = parts.flatMap((part) => part.names ?? []);
  const orderNumbers = [
    ...new Set([
      ...parts.flatMap((part) => part.orderNumbers ?? []),
      ...controlRequests.flatMap(({ placerOrderNumber }) => placerOrderNumber ?? []),
    ]),
  ];
  if (isRefused) return { ...refuse(problems), names: [...orderNumbers, ...names] };
  if (parts.some(({ verdict }) => verdict === "waiting")) {
    const subjectCodes = parts.flatMap((part) => part.subjectCodes ?? []);
    return { ...refuse(problems), verdict: "waiting", subjectCodes, orderNumbers, names };
  }
  if (controlRequests.length === 0) return mapped;
  const asked = new Set(controlRequests.map(({ placerOrderNumber }) => placerOrderNumber));
  const both = mapped.orders.find(({ placerOrderNumber }) => asked.has(placerOrderNumber));
  if (both === undefined) return { ...mapped, orderNumbers, controlRequests };
  const message = `asks for order ${both.placerOrderNumber} as a new one and wants something else of it; expected a message of its own for each`;
  return refuse([{ code: "MAPPING_VALUES_DISAGREE", place: within(place, atField("ORC", 1)), message }]);
}
