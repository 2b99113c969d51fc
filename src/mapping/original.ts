import type { OutcomeMessage } from "../core/outcome.ts";
import { type Hl7Header, Hl7Message } from "../formats/hl7/message.ts";
import { createEcho, type Echo } from "./echo.ts";
import type { ResultSettings } from "./profile.ts";

/** The message that is answered, as far as it is there and readable. */
export interface Original {
  /** Undefined when it was pruned, or its segments could not be read. */
  readonly message: Hl7Message | undefined;
  /** What an answer takes its own header from, with the profile's settings applied. */
  readonly header: Partial<Hl7Header>;
  readonly echo: Echo;
  /** Whether there is anything to answer to: an MSH that could be read, or at least its control id. */
  readonly isAnswerable: boolean;
}

/** What is left of the message that an outcome is about. */
export function readOriginal(answered: OutcomeMessage, settings: ResultSettings): Original {
  const text = answered.text?.reveal();
  const whole = text === undefined ? undefined : tryParse(text);
  // A message with a broken segment can still be answered as long as its first line is a header.
  const headed = whole ?? (text === undefined ? undefined : tryParse(text.split(/[\r\n]/, 1)[0] ?? ""));
  const header: Partial<Hl7Header> = headed?.header ?? { messageControlId: answered.messageControlId };
  return {
    message: whole,
    header: withSettings(header, settings),
    echo: createEcho(headed),
    isAnswerable: header.messageControlId !== undefined || headed !== undefined,
  };
}

function tryParse(text: string): Hl7Message | undefined {
  try {
    const message = Hl7Message.parse(text);
    return message.header.messageCode === undefined ? undefined : message;
  } catch {
    return undefined;
  }
}

/** Our sender is the original's receiver, and the reverse; the profile may name others. */
function withSettings(
  header: Partial<Hl7Header>,
  { sender, receiver, version }: ResultSettings,
): Partial<Hl7Header> {
  return {
    ...header,
    ...(version === undefined ? {} : { version }),
    ...(sender?.application === undefined ? {} : { receivingApplicationParts: [sender.application] }),
    ...(sender?.facility === undefined ? {} : { receivingFacilityParts: [sender.facility] }),
    ...(receiver?.application === undefined ? {} : { sendingApplicationParts: [receiver.application] }),
    ...(receiver?.facility === undefined ? {} : { sendingFacilityParts: [receiver.facility] }),
  };
}
