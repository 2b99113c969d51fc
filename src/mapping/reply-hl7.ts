import type { OutcomeMessage } from "../core/outcome.ts";
import type { AcknowledgmentCode } from "../formats/hl7/ack.ts";
import { type AckedOutcome, type AckPlan, planAcks } from "../formats/hl7/ack-mode.ts";
import { composeAnswer, composePlainAnswer, type MessageAnswer } from "./answer-hl7.ts";
import { refusalCode } from "./error-condition.ts";
import { type Original, readOriginal } from "./original.ts";
import type { Hl7Profile } from "./profile.ts";
import { withSiteFields } from "./site-fields.ts";

/**
 * How answers on a connection look: `plain`, an ACK that every sender understands, or `order`, the application
 * acknowledgement that fits the message (ORR, ORL), where it is answered in original mode.
 */
export type ReplyForm = "plain" | "order";

export interface ReplySettings {
  readonly form: ReplyForm;
  /** Where the application acknowledgement of enhanced mode goes: back on the connection, or out with the results. */
  readonly applicationAck: "connection" | "results";
}

/** Composes what is answered to one message over the connection that it came by (HL7 chapter 2.9). */
export interface Replier {
  /** Whether the connection carries all that the sender wants to hear of the message as a whole. */
  isWhole(answer: Pick<MessageAnswer, "kind"> & { readonly problems?: MessageProblems }): boolean;
  /**
   * What is sent over the connection: nothing, one message, or an accept and an application acknowledgement one after
   * the other.
   *
   * @param laterControlId MSH-10 of the application acknowledgement where there are two
   */
  compose(answer: MessageAnswer, laterControlId: string): readonly Buffer[];
}

type MessageProblems = Extract<MessageAnswer, { kind: "refused" }>["problems"];

/** Reads what of a message its answers depend on. */
export function createReplier(
  message: OutcomeMessage,
  profile: Hl7Profile,
  { form, applicationAck }: ReplySettings,
): Replier {
  const original = readOriginal(message, profile.results);
  const plan = (answer: Pick<MessageAnswer, "kind"> & { readonly problems?: MessageProblems }): AckPlan =>
    planAcks(original.header, outcomeOf(answer, original));
  const encode = (answer: MessageAnswer, code: AcknowledgmentCode): Buffer => {
    const isOrder = form === "order" && code.startsWith("A") && original.isAnswerable;
    const text = isOrder
      ? composeAnswer(answer, original, profile)
      : composePlainAnswer(answer, original, profile, code);
    return Buffer.from(withSiteFields(text, answer, original, profile), "utf8");
  };
  return {
    isWhole: (answer) => applicationAck === "connection" || plan(answer).deferred === undefined,
    compose: (answer, laterControlId) => {
      const { immediate, deferred } = plan(answer);
      const now = immediate === undefined ? [] : [encode(answer, immediate)];
      if (deferred === undefined || applicationAck === "results") return now;
      const later = immediate === undefined ? answer : { ...answer, controlId: laterControlId };
      return [...now, encode(later, deferred)];
    },
  };
}

/** What can't even be read as HL7 is as good as a message for somebody else. */
function outcomeOf(
  { kind, problems = [] }: Pick<MessageAnswer, "kind"> & { readonly problems?: MessageProblems },
  original: Original,
): AckedOutcome {
  if (kind !== "refused") return "taken";
  return !original.isAnswerable || refusalCode(problems) === "AR" ? "foreign" : "content";
}
