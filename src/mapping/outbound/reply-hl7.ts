import type { OutcomeMessage } from "../../core/outcome.ts";
import {
  type AckedOutcome,
  type AcknowledgmentCode,
  type AckPlan,
  type AckWants,
  planAcks,
} from "../../formats/hl7/ack.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { composeAnswer, composePlainAnswer, type MessageAnswer, refusalCode } from "./answer-hl7.ts";
import { isAnswer, type Original, readOriginal } from "./original.ts";
import { writeAnswer } from "./site-fields.ts";

/**
 * How answers on a connection look: `plain`, an ACK that every sender understands, or `order`, the application
 * acknowledgement that fits the message (ORR, ORL), where it is answered in original mode.
 */
type ReplyForm = "plain" | "order";

export interface ReplySettings {
  readonly form: ReplyForm;
  /** Where the application acknowledgement of enhanced mode goes: back on the connection, or out with the results. */
  readonly applicationAck: "connection" | "results";
}

/** Composes what is answered to one message over the connection that it came by (HL7 chapter 2.9). */
interface Replier {
  /** Whether the connection carries all that the sender wants to hear of the message as a whole. */
  isWhole(answer: MessageAnswer): boolean;
  /**
   * What is sent over the connection: nothing, one message, or an accept and an application acknowledgement one after
   * the other.
   *
   * @param laterControlId MSH-10 of the application acknowledgement where there are two
   */
  compose(answer: MessageAnswer, laterControlId: string): readonly Buffer[];
}

/** Answers to a message, which is read again for each: many wait for their verdict, and one answer is all that most get. */
export function createReplier(
  message: OutcomeMessage,
  profile: Hl7Profile,
  { form, applicationAck }: ReplySettings,
): Replier {
  const encode = (
    fact: MessageAnswer,
    code: AcknowledgmentCode,
    original: Original,
    more: { readonly wants?: AckWants | undefined; readonly isFollowed?: boolean },
  ): Buffer => {
    const isOrder = form === "order" && code.startsWith("A") && original.isAnswerable;
    return writeAnswer(fact, original, profile, (answer, from, own) =>
      isOrder
        ? composeAnswer(answer, from, own, more.wants)
        : composePlainAnswer(answer, from, own, code, more),
    );
  };
  return {
    isWhole: (answer) =>
      profile.results.formats?.[answer.kind] === undefined &&
      (applicationAck === "connection" ||
        plan(answer, readOriginal(message, profile.results), profile).deferred === undefined),
    compose: (answer, laterControlId) => {
      const original = readOriginal(message, profile.results);
      const { immediate, deferred } = plan(answer, original, profile);
      const isFollowed = deferred !== undefined;
      const now = immediate === undefined ? [] : [encode(answer, immediate, original, { isFollowed })];
      if (deferred === undefined || applicationAck === "results") return now;
      const later = immediate === undefined ? answer : { ...answer, controlId: laterControlId };
      return [...now, encode(later, deferred, original, { wants: NO_ANSWER })];
    },
  };
}

/** Of an application acknowledgement over the sender's own connection, where nobody waits for an answer to it. */
const NO_ANSWER: AckWants = { accept: "NE", application: "NE" };

function plan(answer: MessageAnswer, original: Original, { accept }: Hl7Profile): AckPlan {
  if (isAnswer(original, accept)) return { immediate: undefined, deferred: undefined };
  return planAcks(original.header, outcomeOf(answer, original));
}

/** What can't even be read as HL7 is as good as a message for somebody else. */
function outcomeOf(answer: MessageAnswer, original: Original): AckedOutcome {
  if (answer.kind !== "refused") return "taken";
  return !original.isAnswerable || refusalCode(answer.problems) === "AR" ? "foreign" : "content";
}
