import { movesContainers } from "../../core/order.ts";
import type { OrderState } from "../../core/order-state.ts";
import type { OutcomeContainer, OutcomeOrder } from "../../core/outcome.ts";
import type { SegmentSpec } from "../../formats/hl7/encode.ts";
import { isVersionFrom } from "../../formats/hl7/segment.ts";
import type { ResultWords } from "../profile/results-schema.ts";
import { type Code, MESSAGE, ORDER, PRIOR_ID, PROCEDURE, REASON, STATUS } from "./observation-codes.ts";
import { statusWord } from "./status-word.ts";
import { formatReadableTime, formatServiceTimestamp } from "./timestamp.ts";

interface ObservationSettings {
  readonly timeZone: string;
  readonly version: string;
  /** OBX-14 where the service gave no time of its own. */
  readonly at: string;
  /** MSH-10 of the order's message. */
  readonly messageControlId: string | undefined;
  /** The lab's own by the order's state. */
  readonly words: ResultWords;
}

/** OBX segments of one message, numbered as they are added. */
export class Observations {
  readonly segments: SegmentSpec[] = [];
  readonly #order: OutcomeOrder;
  readonly #settings: ObservationSettings;

  constructor(order: OutcomeOrder, settings: ObservationSettings) {
    this.#order = order;
    this.#settings = settings;
  }

  /** What holds for the order: its status in words, what it merges, and its procedure. */
  addOrder(): void {
    const word = statusWord(this.#settings.words, this.#order.state, this.#order.operation);
    this.#add("TX", STATUS, undefined, word ?? describeStatus(this.#order));
    this.#add("ST", PRIOR_ID, undefined, this.#order.priorSubjectCode?.reveal());
    this.#add("ST", PROCEDURE, undefined, this.#order.procedureCode ?? procedureNumber(this.#order));
    // An order whose number another one has is named by its message.
    if (this.#order.sharesNumber) this.#add("ST", MESSAGE, undefined, this.#settings.messageControlId);
  }

  /** Number and reason of the order, for messages that have no ORC for them. */
  addOrderNumber(): void {
    this.#add("ST", ORDER, undefined, this.#order.sharesNumber ? undefined : this.#order.placerOrderNumber);
    this.#add("TX", REASON, undefined, this.#order.reason?.text);
  }

  /** The nth container, from 1: its place in parts where they stand nowhere else, and in words. */
  addContainer(
    container: OutcomeContainer,
    n: number,
    { isPlaceInParts }: { isPlaceInParts: boolean },
  ): void {
    const { timeZone, version, at } = this.#settings;
    const { location } = container;
    const storedAt = location?.storedAt && formatServiceTimestamp(location.storedAt, timeZone);
    const when = storedAt || at;
    const add = (type: string, code: Code, value: string | number | undefined) =>
      this.#add(type, code, n, value, when);
    if (isPlaceInParts) add("ST", ["CRYO-CONTAINER", "Container label", "L"], container.label);
    add("NM", ["CRYO-CONTAINER-ID", "Container id at the storage service", "L"], container.containerId);
    if (isPlaceInParts) {
      add("ST", ["CRYO-STORAGE", "Storage", "L"], location?.storageName);
      add("ST", ["CRYO-CANISTER", "Canister", "L"], location?.canister);
      add("ST", ["CRYO-CANE", "Cane", "L"], location?.cane);
      add("ST", ["CRYO-POSITION", "Position", "L"], location?.position);
    }
    add(timeType(storedAt, version), ["CRYO-STORED-AT", "Stored at", "L"], storedAt);
    const words = describeContainer(container, this.#order, timeZone);
    add("TX", ["CRYO-TEXT", "Container in words", "L"], words);
  }

  #add(
    type: string,
    code: Code,
    subId: number | undefined,
    value: string | number | undefined,
    at = this.#settings.at,
  ): void {
    if (value === undefined || value === "") return;
    this.segments.push([
      "OBX",
      this.segments.length + 1,
      type,
      code,
      subId,
      value,
      ...[undefined, undefined, undefined, undefined, undefined],
      observationStatus(this.#order.state),
      ...[undefined, undefined],
      at,
    ]);
  }
}

/**
 * OBX segments of a status: one for the order in words, one for the identifier that a merge does away with, one for the
 * procedure, then a group for each container under its own sub-id (OBX-4): label, service's id, storage, canister, cane,
 * position, time, and a sentence with all of it for systems that file one text only.
 */
export function observe(order: OutcomeOrder, settings: ObservationSettings): SegmentSpec[] {
  const observations = new Observations(order, settings);
  observations.addOrder();
  for (const [i, container] of order.containers.entries()) {
    observations.addContainer(container, i + 1, { isPlaceInParts: true });
  }
  return observations.segments;
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

function procedureNumber({ procedureId }: OutcomeOrder): string | undefined {
  return procedureId === undefined ? undefined : `P${procedureId}`;
}
