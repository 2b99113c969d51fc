import type { ControlAnswer, Outcome, OutcomeOrder } from "../../src/core/outcome.ts";
import { phi } from "../../src/core/phi.ts";
import { composeHl7 } from "../../src/mapping/outbound/compose-hl7.ts";
import type { Profile } from "../../src/mapping/profile/profile.ts";
import { hl7Text } from "./mapped.ts";

/** An ORM^O01 of an invented patient, as outcomes of the tests answer it. */
export const ORIGINAL = hl7Text("ORM^O01^ORM_O01", [
  "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F",
  "ORC|NW|LAB-1^NORTHLAB||GRP-7",
  "OBR|1|LAB-1^NORTHLAB||CRYO-STORE^Cryogenic storage^L|||||||||||SEM&Semen^^STRAW-1",
]);

/** A stored order with one container; parts can be replaced. */
export function outcomeOrder(parts: Partial<OutcomeOrder> = {}): OutcomeOrder {
  return {
    orderId: "o17",
    operation: "STORE",
    placerOrderNumber: "LAB-1",
    facilityCode: "NORTH",
    subjectCode: phi("MRN-4711"),
    state: "completed",
    requestId: 123,
    procedureId: 77,
    procedureCode: "ST-2026-77",
    containers: [
      {
        label: "STRAW-1",
        description: "Semen",
        containerId: 9001,
        location: {
          storageName: "Tank A",
          canister: "3",
          cane: "7",
          position: "slot 2",
          storedAt: "2026-11-20T13:05:00Z",
        },
      },
    ],
    ...parts,
  };
}

const BASE = {
  outcomeId: "5",
  controlId: "CB0000000005",
  occurredAt: new Date("2026-11-20T13:06:07Z"),
} as const;

/** An order that reached a state. */
export function changed(order: Partial<OutcomeOrder> = {}, text: string | undefined = ORIGINAL): Outcome {
  return { ...BASE, message: answered(text), kind: "changed", order: outcomeOrder(order) };
}

/** A message that was taken. */
export function acknowledged(
  orders: readonly OutcomeOrder[] = [outcomeOrder({ state: "received" })],
  text: string | undefined = ORIGINAL,
  isDuplicate = false,
): Outcome {
  return { ...BASE, message: answered(text), kind: "acknowledged", orders, isDuplicate };
}

/** A message that was refused. */
export function refused(
  problems: Extract<Outcome, { kind: "refused" }>["problems"],
  text: string | undefined = ORIGINAL,
): Outcome {
  return { ...BASE, message: answered(text), kind: "refused", problems };
}

/** A message of which no order could be made yet. */
export function waiting(
  problems: Extract<Outcome, { kind: "waiting" }>["problems"],
  text: string | undefined = ORIGINAL,
): Outcome {
  return { ...BASE, message: answered(text), kind: "waiting", problems, placerOrderNumber: "A-1" };
}

/** The same outcome of a message that retention has pruned. */
export function withoutText(outcome: Outcome): Outcome {
  const { text, ...message } = outcome.message;
  return { ...outcome, message };
}

function answered(text: string | undefined): Outcome["message"] {
  return {
    messageId: "m12",
    connector: "lims",
    messageControlId: "MSG-1",
    fileName: "order.hl7",
    receivedAt: new Date("2026-11-20T10:15:00Z"),
    ...(text === undefined ? {} : { text: phi(text) }),
  };
}

/** The composed message, segment by segment; undefined when nothing is sent. */
export function segmentsOf(outcome: Outcome, profile: Profile): string[] | undefined {
  const text = composeHl7(outcome, profile)?.bytes.toString("utf8");
  return text?.split("\r").slice(0, -1);
}

/** An ORM^O01 that cancels the order of {@link ORIGINAL}. */
export const CANCEL = hl7Text("ORM^O01^ORM_O01", [
  "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F",
  "ORC|CA|LAB-1^NORTHLAB||GRP-7",
  "OBR|1|LAB-1^NORTHLAB||X",
]);
/** Answers to it: done, too late, and to one that names another order. */
export const GRANTED: ControlAnswer = {
  control: "cancel",
  placerOrderNumber: "LAB-1",
  order: outcomeOrder({ state: "cancelled" }),
};
export const REFUSED: ControlAnswer = {
  control: "cancel",
  placerOrderNumber: "LAB-1",
  refusal: { code: "CANCEL_TOO_LATE", text: "the order was completed before it could be cancelled" },
  order: outcomeOrder({ state: "completed" }),
};
export const UNKNOWN: ControlAnswer = {
  control: "cancel",
  placerOrderNumber: "LAB-9",
  refusal: { code: "CANCEL_ORDER_UNKNOWN", text: "there is no such order" },
};

/** An answer to requests of a message. */
export function controlled(answers: readonly ControlAnswer[], text: string | undefined = CANCEL): Outcome {
  return { ...BASE, message: answered(text), kind: "control", answers };
}
