import type { Problem } from "../../core/failures.ts";
import type { ControlRequest } from "../../core/order-control.ts";
import type { OrderParts } from "../../formats/hl7/groups.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import type { Draft } from "./draft.ts";
import { type MappedMessage, refuse, withoutRepeats } from "./mapped-message.ts";
import { readOrders } from "./order-hl7.ts";
import { controlOf, readWishes } from "./wish-hl7.ts";

/** What a message wants of earlier orders. */
interface MappedWishes {
  readonly wishes: readonly ControlRequest[];
  /** What the orders are to ask for, as it was judged: what waits or is wrong there holds for the whole message. */
  readonly contents: readonly MappedMessage[];
  readonly problems: readonly Problem[];
}

/**
 * Reads what a message wants of earlier orders. What an order is to ask for from now on is mapped like an order, by the
 * site's module too, since it takes the order's place. Undefined when the message wants nothing of earlier orders.
 */
export function mapWishes(
  parts: OrderParts,
  profile: Hl7Profile,
  place: string,
  finish: (drafts: readonly Draft[]) => MappedMessage,
): MappedWishes | undefined {
  const isWished = parts.groups.some((group) => controlOf(group, profile) !== undefined);
  if (!isWished) return undefined;
  const read = readWishes(parts, profile, place);
  const wishes: ControlRequest[] = [...read.wishes];
  const contents: MappedMessage[] = [];
  for (const control of ["change", "replace"] as const) {
    const drafts = readOrders(parts, profile, place, control);
    if (drafts.length === 0) continue;
    const mapped = finish(drafts);
    contents.push(mapped);
    for (const content of mapped.orders) {
      const { placerOrderNumber, placerAuthority, subject } = content;
      wishes.push({ control, placerOrderNumber, placerAuthority, subjectCode: subject.code, content });
    }
  }
  return { wishes, contents, problems: [...read.problems, ...findClashes(wishes, place)] };
}

/** What is wanted of one order: nobody could say which of two things is to hold in the end. A question may stand beside. */
function findClashes(wishes: readonly ControlRequest[], place: string): Problem[] {
  const seen = new Set<string>();
  return wishes.flatMap(({ control, placerOrderNumber, fillerNumber: ours }) => {
    if (control === "status") return [];
    const names = [
      ...(placerOrderNumber === undefined ? [] : [`order ${placerOrderNumber}`]),
      ...(ours === undefined ? [] : [`our ${ours.kind} ${ours.id}`]),
    ];
    const twice = names.find((each) => seen.has(each));
    for (const each of names) seen.add(each);
    if (twice === undefined) return [];
    const message = `wants two things of ${twice}, expected a message of its own for each`;
    return [{ code: "MAPPING_VALUES_DISAGREE" as const, place: `${place}, ORC-1`, message }];
  });
}

/** A message is taken whole or not at all: its orders, and what it wants of earlier ones. */
export function withWishes(
  mapped: MappedMessage,
  { wishes, contents, problems: found }: MappedWishes,
  place: string,
): MappedMessage {
  const parts = [mapped, ...contents];
  const isRefused = found.length > 0 || parts.some(({ verdict }) => verdict === "refused");
  const problems = withoutRepeats([...parts.flatMap((part) => part.problems), ...found]);
  if (isRefused) return refuse(problems);
  const orderNumbers = [
    ...new Set([
      ...parts.flatMap((part) => part.orderNumbers ?? []),
      ...wishes.flatMap(({ placerOrderNumber }) => placerOrderNumber ?? []),
    ]),
  ];
  if (parts.some(({ verdict }) => verdict === "waiting")) {
    const subjectCodes = parts.flatMap((part) => part.subjectCodes ?? []);
    return { ...refuse(problems), verdict: "waiting", subjectCodes, orderNumbers };
  }
  if (wishes.length === 0) return mapped;
  const wished = new Set(wishes.map(({ placerOrderNumber }) => placerOrderNumber));
  const both = mapped.orders.find(({ placerOrderNumber }) => wished.has(placerOrderNumber));
  if (both === undefined) return { ...mapped, orderNumbers, wishes };
  const message = `asks for order ${both.placerOrderNumber} as a new one and wants something else of it; expected a message of its own for each`;
  return refuse([{ code: "MAPPING_VALUES_DISAGREE", place: `${place}, ORC-1`, message }]);
}
