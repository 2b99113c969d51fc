import type { OrderState } from "../core/order-state.ts";
import type { OutcomeContainer, OutcomeOrder } from "../core/outcome.ts";
import { isVersionFrom } from "../formats/hl7/version.ts";
import type { OutSegment } from "./echo.ts";
import { formatReadableTime, formatServiceTimestamp } from "./timestamp.ts";

export interface ObservationSettings {
  readonly timeZone: string;
  readonly version: string;
  /** OBX-14 where the service gave no time of its own. */
  readonly at: string;
}

/** OBX-3 with its text; `L` is HL7's word for a local code (table 0396). */
type Code = readonly [code: string, text: string, system: "L"];
const STATUS: Code = ["CRYO-STATUS", "Order status", "L"];
const PROCEDURE: Code = ["CRYO-PROCEDURE", "Procedure", "L"];

/**
 * OBX segments of a status: one for the order in words, one for the procedure, then a group for each container under
 * its own sub-id (OBX-4): label, service's id, storage, canister, cane, position, time, and a sentence with all of it
 * for systems that file one text only.
 */
export function observe(order: OutcomeOrder, settings: ObservationSettings): OutSegment[] {
  const status = observationStatus(order.state);
  const segments: OutSegment[] = [];
  const add = (
    type: string,
    code: Code,
    subId: number | undefined,
    value: string | number | undefined,
    at = settings.at,
  ) => {
    if (value === undefined || value === "") return;
    segments.push([
      "OBX",
      segments.length + 1,
      type,
      code,
      subId,
      value,
      ...[undefined, undefined, undefined, undefined, undefined],
      status,
      ...[undefined, undefined],
      at,
    ]);
  };
  add("TX", STATUS, undefined, describeStatus(order));
  add("ST", PROCEDURE, undefined, order.procedureCode ?? procedureNumber(order));
  for (const [i, container] of order.containers.entries()) {
    const { location } = container;
    const storedAt = location?.storedAt && formatServiceTimestamp(location.storedAt, settings.timeZone);
    const parts: readonly [type: string, code: Code, value: string | number | undefined][] = [
      ["ST", ["CRYO-CONTAINER", "Container label", "L"], container.label],
      ["NM", ["CRYO-CONTAINER-ID", "Container id at the storage service", "L"], container.containerId],
      ["ST", ["CRYO-STORAGE", "Storage", "L"], location?.storageName],
      ["ST", ["CRYO-CANISTER", "Canister", "L"], location?.canister],
      ["ST", ["CRYO-CANE", "Cane", "L"], location?.cane],
      ["ST", ["CRYO-POSITION", "Position", "L"], location?.position],
      [timeType(storedAt, settings.version), ["CRYO-STORED-AT", "Stored at", "L"], storedAt],
      [
        "TX",
        ["CRYO-TEXT", "Container in words", "L"],
        describeContainer(container, order, settings.timeZone),
      ],
    ];
    for (const [type, code, value] of parts) add(type, code, i + 1, value, storedAt || settings.at);
  }
  return segments;
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
  REGISTER: "Registered",
} as const;

function describeStatus({ operation, state, containers }: OutcomeOrder): string {
  const count = containers.length === 1 ? "1 container" : `${containers.length} containers`;
  switch (state) {
    case "completed":
      return operation === "REGISTER" ? "The subject is registered" : `${DONE[operation]}: ${count}`;
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
  if (location === undefined) return `${label}: stored; the service told no location`;
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
