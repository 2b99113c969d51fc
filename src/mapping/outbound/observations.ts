import { asItIs, inSequence, type LabText } from "../../core/lab-text.ts";
import type { OrderState } from "../../core/order-state.ts";
import type { OutcomeContainer, OutcomeOrder } from "../../core/outcome.ts";
import { isVersionFrom } from "../../formats/hl7/segment.ts";
import type { Observation } from "../../formats/hl7/sent-segments.ts";
import type { ResultSettings } from "../profile/profile.ts";
import type { ReasonWord, ResultWords } from "../profile/results-schema.ts";
import { OF_CONTAINER, OF_ORDER, orderInWords } from "./codes.ts";
import { labPhrase, reasonInWords } from "./reasons.ts";
import { formatReadableTime, formatServiceTimestamp } from "./timestamp.ts";

/** What the observations of one message have in common. */
export interface ObservationSettings {
  readonly timeZone: string;
  /** The lab's own by the order's state. */
  readonly words: ResultWords;
  /** The lab's own for reasons, and for what is said of containers. */
  readonly reasons: ResultSettings["reasons"];
  readonly version: string;
  /** OBX-14 where the service gave no time of its own. */
  readonly at: string;
}

/**
 * What holds for the order: its status in words, what it merges, and its procedure.
 *
 * @param messageControlId MSH-10 of its message, which names an order whose number another one has
 */
export function observeOrder(
  order: OutcomeOrder,
  { words, at }: ObservationSettings,
  messageControlId?: string,
): Observation[] {
  const { state, priorSubjectCode, procedureId, procedureCode, sharesNumber } = order;
  const common = { status: observationStatus(state), at };
  const procedure = procedureCode ?? (procedureId === undefined ? undefined : `P${procedureId}`);
  return [
    { ...common, type: "TX", code: OF_ORDER.status, value: orderInWords(words, order) },
    { ...common, type: "ST", code: OF_ORDER.priorId, value: priorSubjectCode?.reveal() },
    { ...common, type: "ST", code: OF_ORDER.procedure, value: procedure },
    { ...common, type: "ST", code: OF_ORDER.message, value: sharesNumber ? messageControlId : undefined },
  ];
}

/** What is known of an order, and of its containers under their own sub-ids. */
export function observeWhole(
  order: OutcomeOrder,
  containers: OutcomeOrder["containers"],
  settings: ObservationSettings,
  messageControlId?: string,
): Observation[] {
  return [
    ...observeOrder(order, settings, messageControlId),
    ...containers.flatMap((container, i) => observeContainer(order, container, i + 1, settings)),
  ];
}

/** Number and reason of the order, for messages that have no ORC for them. */
export function observeNumber(order: OutcomeOrder, { at, reasons }: ObservationSettings): Observation[] {
  const { state, placerOrderNumber, sharesNumber, reason } = order;
  const common = { status: observationStatus(state), at };
  return [
    { ...common, type: "ST", code: OF_ORDER.number, value: sharesNumber ? undefined : placerOrderNumber },
    { ...common, type: "TX", code: OF_ORDER.reason, value: reason && reasonInWords(reason, reasons) },
  ];
}

/**
 * The nth container, from 1, under its own sub-id (OBX-4): its place in parts, and a sentence with all of it for systems that file
 * one text only.
 *
 * @param isPlaceInParts false where other segments have fields for them
 */
export function observeContainer(
  order: OutcomeOrder,
  container: OutcomeContainer,
  n: number,
  { timeZone, version, at, reasons }: ObservationSettings,
  isPlaceInParts = true,
): Observation[] {
  const { label, location, containerId } = container;
  const storedAt = location?.storedAt && formatServiceTimestamp(location.storedAt, timeZone);
  const common = { subId: n, status: observationStatus(order.state), at: storedAt || at };
  const part = (code: Observation["code"], value: string | undefined): Observation => {
    return { ...common, type: "ST", code, value: isPlaceInParts ? value : undefined };
  };
  const words = describeContainer(container, order, { timeZone, reasons });
  return [
    part(OF_CONTAINER.label, label),
    { ...common, type: "NM", code: OF_CONTAINER.id, value: containerId },
    part(OF_CONTAINER.storage, location?.storageName),
    part(OF_CONTAINER.canister, location?.canister),
    part(OF_CONTAINER.cane, location?.cane),
    part(OF_CONTAINER.position, location?.position),
    { ...common, type: timeType(storedAt, version), code: OF_CONTAINER.storedAt, value: storedAt },
    { ...common, type: "TX", code: OF_CONTAINER.words, value: words },
  ];
}

/** OBX-11 (table 0085): final, not obtainable, or preliminary. */
function observationStatus(state: OrderState): "F" | "X" | "P" {
  if (state === "completed") return "F";
  return ["rejected", "cancelled", "failed", "discarded"].includes(state) ? "X" : "P";
}

/** TS became DTM in 2.6; what the service wrote and nobody could read as a time goes out as text. */
function timeType(storedAt: string | undefined, version: string): "TS" | "DTM" | "ST" {
  if (storedAt === undefined || !/^\d{14}[+-]\d{4}$/.test(storedAt)) return "ST";
  return isVersionFrom(version, 2, 6) ? "DTM" : "TS";
}

function describeContainer(
  { location, label }: OutcomeContainer,
  order: OutcomeOrder,
  { timeZone, reasons }: Pick<ObservationSettings, "timeZone" | "reasons">,
): LabText | undefined {
  if (order.state !== "completed") return undefined;
  const said = (...words: readonly LabText[]) => inSequence([asItIs(label), inSequence(words, ", ")], ": ");
  if (order.operation === "RETRIEVAL") return said(labPhrase(reasons, "takenOut"));
  if (location === undefined) return said(labPhrase(reasons, "noPlace"));
  const { storageName = "", canister, cane, position = "", storedAt } = location;
  const named = (word: ReasonWord, value: string | undefined) =>
    value === undefined ? asItIs("") : inSequence([labPhrase(reasons, word), asItIs(value)], " ");
  const parts = [asItIs(storageName), named("canister", canister), named("cane", cane), asItIs(position)];
  const isPlaced = parts.some((part) => part !== "");
  const since = named("since", storedAt ? formatReadableTime(storedAt, timeZone) : undefined);
  return said(...(isPlaced ? parts : [labPhrase(reasons, "stored")]), since);
}
