import type { Problem } from "../../src/core/failures.ts";
import type { ControlAnswer, Outcome, OutcomeMessage, OutcomeOrder } from "../../src/core/outcome.ts";
import { type Phi, phi } from "../../src/core/phi.ts";
import { findEncoding } from "../../src/formats/encoding.ts";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import { decodeEcho, encodeEcho } from "../../src/ledger/messages/echo.ts";
import { keepEcho, keepHeader } from "../../src/mapping/inbound/keep-echo.ts";
import type { MessageAnswer } from "../../src/mapping/outbound/answer-hl7.ts";
import * as compose from "../../src/mapping/outbound/compose-hl7.ts";
import type { Hl7Profile, Profile } from "../../src/mapping/profile/profile.ts";
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
  const { text, ...message } = outcome.message as Received;
  return { ...outcome, message };
}

/** A message with its text, of which the ledger would keep what is repeated of it. */
export interface Received extends OutcomeMessage {
  readonly text?: Phi | undefined;
  /** What it was read in. */
  readonly encoding?: string | undefined;
}

/** The message as the ledger gives it: with what was kept of its text when a profile mapped it. */
export function asKept(
  { text, encoding, ...message }: Received,
  profile: Profile,
  { kind, problems }: { kind: Outcome["kind"]; problems: readonly Problem[] } = {
    kind: "acknowledged",
    problems: [],
  },
): OutcomeMessage {
  if (text === undefined || profile.format !== "hl7") return message;
  const verdict = kind === "refused" || kind === "waiting" ? kind : "accepted";
  const echo = echoOf(text.reveal(), profile, encoding, { verdict, problems, orders: [] });
  return { ...message, echo: decodeEcho(encodeEcho(phi(echo))) };
}

function echoOf(
  text: string,
  profile: Hl7Profile,
  encoding: string | undefined,
  mapped: Parameters<typeof keepEcho>[3],
) {
  try {
    const read = encoding === undefined ? undefined : findEncoding(encoding);
    return keepEcho(Hl7Message.parse(text, { encoding: read }), profile, encoding, mapped);
  } catch {
    return keepHeader(text, profile, encoding);
  }
}

/** What is sent about an outcome whose message came with the profile as it is. */
export function composeHl7(outcome: Outcome, profile: Profile): ReturnType<typeof compose.composeHl7> {
  const { kind } = outcome;
  const problems = "problems" in outcome ? outcome.problems : [];
  return compose.composeHl7(
    { ...outcome, message: asKept(outcome.message, profile, { kind, problems }) },
    profile,
  );
}

/** The same of what is answered over a connection. */
export function createReplier(
  message: Received,
  profile: Hl7Profile,
  settings: compose.ReplySettings,
): ReturnType<typeof compose.createReplier> {
  const of = (answer: MessageAnswer) => {
    const { kind } = answer;
    const problems = "problems" in answer ? answer.problems : [];
    return compose.createReplier(asKept(message, profile, { kind, problems }), profile, settings);
  };
  return {
    isWhole: (answer) => of(answer).isWhole(answer),
    compose: (answer, laterControlId) => of(answer).compose(answer, laterControlId),
  };
}

function answered(text: string | undefined): Received {
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
