import type { Operation } from "../../core/order.ts";
import type { Control } from "../../core/order-control.ts";
import type { Segment } from "../../formats/hl7/segment.ts";

/** The event of a pattern that stands for every event of its message code. */
const ANY_EVENT = "*";

/** `ORM^O01` or `ADT^*`, taken apart. */
export interface MessageTypePattern {
  readonly messageCode: string;
  readonly triggerEvent: string;
}

/** Reads patterns whose form the profile schema has checked. */
export function parseMessageTypes(texts: readonly string[]): MessageTypePattern[] {
  return texts.map((text) => {
    const [messageCode = "", triggerEvent = ""] = text.split("^");
    return { messageCode, triggerEvent };
  });
}

/** Whether MSH-9.1 and MSH-9.2 match one of the patterns. */
export function isMessageType(
  patterns: readonly MessageTypePattern[],
  header: { readonly messageCode: string | undefined; readonly triggerEvent: string | undefined },
): boolean {
  for (const { messageCode, triggerEvent } of patterns) {
    if (messageCode !== header.messageCode) continue;
    if (triggerEvent === ANY_EVENT || triggerEvent === header.triggerEvent) return true;
  }
  return false;
}

/**
 * Whether a message acknowledges another: it has MSA, and its type is none of those that are taken. It must not be
 * acknowledged in its turn (HL7 chapter 2.9), or two systems would answer each other for ever.
 */
export function isAcknowledgment(
  header: Parameters<typeof isMessageType>[1],
  accept: readonly MessageTypePattern[],
  findMsa: () => Segment | undefined,
): boolean {
  return !isMessageType(accept, header) && findMsa() !== undefined;
}

/** A pattern as profiles write it. */
export function formatMessageType({ messageCode, triggerEvent }: MessageTypePattern): string {
  return `${messageCode}^${triggerEvent}`;
}

/**
 * ORC-1 (table 0119) of what a message wants of an earlier order, and of the answers to it. SS asks for the state and SR
 * answers it; CR here is "cancelled as requested", in MSA-1 the same letters mean something else.
 */
interface ControlCodes {
  readonly granted: string;
  readonly refused: string;
}

const CODES: Readonly<Record<Control, ControlCodes>> = {
  cancel: { granted: "CR", refused: "UC" },
  discontinue: { granted: "DR", refused: "UD" },
  hold: { granted: "HR", refused: "UH" },
  release: { granted: "OR", refused: "UR" },
  change: { granted: "XR", refused: "UX" },
  replace: { granted: "RQ", refused: "UM" },
  status: { granted: "SR", refused: "SR" },
};

/** The codes that answer a request. */
export function controlCodes(control: Control): ControlCodes {
  return CODES[control];
}

/** Codes of ORC-1 that a profile's `control` may name. */
export const CONTROL_CODES = ["HD", "RL", "SS", "XO", "RP"] as const;

const CONTROL_BY_CODE: Readonly<Record<string, Control>> = {
  HD: "hold",
  RL: "release",
  SS: "status",
  XO: "change",
  RP: "replace",
};

/**
 * What each code of ORC-1 means in a profile. Those that cancel are the site's to name; only DC is answered as
 * discontinued, since a sender that wrote CA, or a code of its own, knows no other answer than CR or UC.
 */
export function compileControls({
  cancel,
  control,
}: {
  readonly cancel: readonly string[];
  readonly control: readonly (typeof CONTROL_CODES)[number][];
}): ReadonlyMap<string, Control> {
  const named = control.flatMap((code): [string, Control][] => {
    const meaning = CONTROL_BY_CODE[code];
    return meaning === undefined ? [] : [[code, meaning]];
  });
  return new Map([
    ...named,
    ...cancel.map((code): [string, Control] => [code, code === "DC" ? "discontinue" : "cancel"]),
  ]);
}

/** What the operation of a CSV row says that wants something of an earlier order. */
export const CONTROL_OPERATIONS = ["CANCEL", "HOLD", "RELEASE", "STATUS"] as const;
export type ControlOperation = (typeof CONTROL_OPERATIONS)[number];

/** Whether a CSV row with this operation wants something of an earlier order. */
export function isControlOperation(value: string): value is ControlOperation {
  return (CONTROL_OPERATIONS as readonly string[]).includes(value);
}

/** What a table or constant of `operation` may give; news about a subject come by the type of their message. */
export const TABLE_OPERATIONS = ["STORE", "RETRIEVAL", "REGISTER"] as const satisfies readonly Operation[];

/** Whether a table or constant of `operation` may give it. */
export function isOperation(value: string): value is (typeof TABLE_OPERATIONS)[number] {
  return (TABLE_OPERATIONS as readonly string[]).includes(value);
}
