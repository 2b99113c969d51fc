import type { Segment } from "../../formats/hl7/message.ts";

/** The event of a pattern that stands for every event of its message code. */
const ANY_EVENT = "*";

/** `ORM^O01` or `ADT^*`, taken apart. */
export interface MessageTypePattern {
  readonly messageCode: string;
  readonly triggerEvent: string;
}

/** Reads a pattern whose form the profile schema has checked. */
export function parseMessageType(text: string): MessageTypePattern {
  const [messageCode = "", triggerEvent = ""] = text.split("^");
  return { messageCode, triggerEvent };
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
