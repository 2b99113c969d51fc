import { movesContainers } from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import type { OutcomeContainer, OutcomeOrder } from "../../core/outcome.ts";
import { isVersionFrom } from "../../formats/hl7/segment.ts";
import type { Observation } from "../../formats/hl7/sent-segments.ts";
import type { ResultWords } from "../profile/results-schema.ts";
import { statusWord } from "./codes.ts";
import { formatReadableTime, formatServiceTimestamp } from "./timestamp.ts";

/** OBX-3 of what is about an order as a whole. */
export const OF_ORDER = {
  status: ["CRYO-STATUS", "Order status", "L"],
  priorId: ["CRYO-PRIOR-ID", "Prior subject identifier", "L"],
  procedure: ["CRYO-PROCEDURE", "Procedure", "L"],
  message: ["CRYO-MESSAGE", "Control id of the order's message", "L"],
  number: ["CRYO-ORDER", "Order number", "L"],
  reason: ["CRYO-REASON", "Reason", "L"],
  request: ["CRYO-REQUEST", "Decision on the request", "L"],
} as const satisfies Record<string, Observation["code"]>;

/** OBX-3 of what is about one container. */
export const OF_CONTAINER = {
  label: ["CRYO-CONTAINER", "Container label", "L"],
  id: ["CRYO-CONTAINER-ID", "Container id at the storage service", "L"],
  storage: ["CRYO-STORAGE", "Storage", "L"],
  canister: ["CRYO-CANISTER", "Canister", "L"],
  cane: ["CRYO-CANE", "Cane", "L"],
  position: ["CRYO-POSITION", "Position", "L"],
  storedAt: ["CRYO-STORED-AT", "Stored at", "L"],
  words: ["CRYO-TEXT", "Container in words", "L"],
} as const satisfies Record<string, Observation["code"]>;

/** What the observations of one message have in common. */
export interface ObservationSettings {
  readonly timeZone: string;
  /** The lab's own by the order's state. */
  readonly words: ResultWords;
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
  const { state, operation, priorSubjectCode, procedureId, procedureCode, sharesNumber } = order;
  const common = { status: observationStatus(state), at };
  const word = statusWord(words, state, operation) ?? describeStatus(order);
  const procedure = procedureCode ?? (procedureId === undefined ? undefined : `P${procedureId}`);
  return [
    { ...common, type: "TX", code: OF_ORDER.status, value: word },
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
export function observeNumber(order: OutcomeOrder, { at }: ObservationSettings): Observation[] {
  const { state, placerOrderNumber, sharesNumber, reason } = order;
  const common = { status: observationStatus(state), at };
  return [
    { ...common, type: "ST", code: OF_ORDER.number, value: sharesNumber ? undefined : placerOrderNumber },
    { ...common, type: "TX", code: OF_ORDER.reason, value: reason?.text },
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
  { timeZone, version, at }: ObservationSettings,
  isPlaceInParts = true,
): Observation[] {
  const { label, location, containerId } = container;
  const storedAt = location?.storedAt && formatServiceTimestamp(location.storedAt, timeZone);
  const common = { subId: n, status: observationStatus(order.state), at: storedAt || at };
  const part = (code: Observation["code"], value: string | undefined): Observation => {
    return { ...common, type: "ST", code, value: isPlaceInParts ? value : undefined };
  };
  const words = describeContainer(container, order, timeZone);
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

const DONE = {
  STORE: "Stored",
  RETRIEVAL: "Retrieved",
  REGISTER: "The subject is registered",
  UPDATE: "Nothing is to be changed at the storage service",
  MERGE: "Nothing is to be merged at the storage service",
} as const;

function describeStatus({ operation, state, containers }: OutcomeOrder): string {
  const count = containers.length === 1 ? "1 container" : `${containers.length} containers`;
  switch (state) {
    case "completed":
      return movesContainers(operation) ? `${DONE[operation]}: ${count}` : DONE[operation];
    case "submitted":
      return "Submitted; waits for the storage staff";
    case "accepted":
      return "Accepted by the storage staff; waits for the device";
    case "in_progress":
      return "In progress";
    case "rejected":
      return "Rejected by the storage staff; nothing was done";
    case "cancelled":
      return "Cancelled";
    case "failed":
      return "Failed";
    case "parked":
      return "On hold; a person looks into it";
    case "discarded":
      return "Discarded by an operator; it will not be done";
    default:
      return "Received";
  }
}

function describeContainer(
  container: OutcomeContainer,
  order: OutcomeOrder,
  timeZone: string,
): string | undefined {
  const { location, label } = container;
  if (order.state !== "completed") return undefined;
  if (order.operation === "RETRIEVAL") return `${label}: taken out of storage`;
  if (location === undefined) return `${label}: the service calls the storage completed and shows no place`;
  const { storageName, canister, cane, position, storedAt } = location;
  const where = [
    storageName,
    canister === undefined ? undefined : `canister ${canister}`,
    cane === undefined ? undefined : `cane ${cane}`,
    position,
  ].filter((part) => part !== undefined && part !== "");
  const since = storedAt === undefined ? "" : `, since ${formatReadableTime(storedAt, timeZone)}`;
  return `${label}: ${where.join(", ") || "stored"}${since}`;
}
