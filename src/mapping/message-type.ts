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
  return patterns.some(
    ({ messageCode, triggerEvent }) =>
      messageCode === header.messageCode &&
      (triggerEvent === ANY_EVENT || triggerEvent === header.triggerEvent),
  );
}

/** A pattern as profiles write it. */
export function formatMessageType({ messageCode, triggerEvent }: MessageTypePattern): string {
  return `${messageCode}^${triggerEvent}`;
}
