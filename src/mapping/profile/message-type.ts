import { CONTROLS, type Control } from "../../core/order-control.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { ControlOperation } from "./operations.ts";
import type { ControlDecision } from "./results-schema.ts";

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

/** What a request about an earlier order is in HL7, in tables, and in answers. */
interface ControlForm {
  /** ORC-1 (table 0119) that asks for it; those that cancel are the site's to name. */
  readonly code?: (typeof CONTROL_CODES)[number];
  /** ORC-1 of the answers. SR answers SS; CR here is "cancelled as requested", in MSA-1 the same letters mean something else. */
  readonly granted: string;
  readonly refused: string;
  /** ORC-5 (table 0038) of an order that is as it was requested to be, where that is more than its state says. */
  readonly orderStatus?: string;
  /** The operation of a CSV row that asks for it. */
  readonly operation?: ControlOperation;
  /** What was decided, in one word; a question for the state that has an answer gets that. */
  readonly decided: readonly [granted: ControlDecision | undefined, refused: ControlDecision];
  /** OBR-4 where neither the message nor an order says what was ordered. */
  readonly service: readonly [string, string, "L"];
}

/** Codes of ORC-1 that cancel an order, unless a profile's `cancel` names others. */
export const CANCEL_CODES = ["CA", "DC"] as const;

/** Codes of ORC-1 that a profile's `control` may name. */
export const CONTROL_CODES = ["HD", "RL", "SS", "XO", "RP"] as const;

export const CONTROL_FORMS: Readonly<Record<Control, ControlForm>> = {
  cancel: {
    ...{ granted: "CR", refused: "UC", orderStatus: "CA", operation: "CANCEL" },
    ...{ decided: ["cancelled", "cancel_refused"], service: ["CANCEL", "Cancellation of an order", "L"] },
  },
  discontinue: {
    ...{ granted: "DR", refused: "UD", orderStatus: "DC" },
    decided: ["cancelled", "cancel_refused"],
    service: ["DISCONTINUE", "Discontinuation of an order", "L"],
  },
  hold: {
    ...{ code: "HD", granted: "HR", refused: "UH", operation: "HOLD" },
    ...{ decided: ["held", "hold_refused"], service: ["HOLD", "Hold of an order", "L"] },
  },
  release: {
    ...{ code: "RL", granted: "OR", refused: "UR", operation: "RELEASE" },
    ...{ decided: ["released", "release_refused"], service: ["RELEASE", "Release of an order", "L"] },
  },
  change: {
    ...{ code: "XO", granted: "XR", refused: "UX" },
    ...{ decided: ["changed", "change_refused"], service: ["CHANGE", "Change of an order", "L"] },
  },
  replace: {
    ...{ code: "RP", granted: "RQ", refused: "UM" },
    ...{ decided: ["replaced", "replace_refused"], service: ["REPLACE", "Replacement of an order", "L"] },
  },
  status: {
    ...{ code: "SS", granted: "SR", refused: "SR", operation: "STATUS" },
    ...{ decided: [undefined, "status_refused"], service: ["STATUS", "Status of an order", "L"] },
  },
};

/** What a CSV row with this operation wants of an earlier order; undefined where it wants nothing of one. */
export function controlOfRow(operation: string): Control | undefined {
  return CONTROLS.find((control) => CONTROL_FORMS[control].operation === operation);
}

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
  const named = control.flatMap((code): [string, Control][] =>
    CONTROLS.filter((each) => CONTROL_FORMS[each].code === code).map((each) => [code, each]),
  );
  return new Map([
    ...named,
    ...cancel.map((code): [string, Control] => [code, code === "DC" ? "discontinue" : "cancel"]),
  ]);
}
