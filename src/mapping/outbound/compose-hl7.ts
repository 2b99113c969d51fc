import { Failure, isNumberTaken } from "../../core/failures.ts";
import type { Outcome, OutcomeMessage, OutcomeOrder } from "../../core/outcome.ts";
import type { Encoding } from "../../formats/encoding.ts";
import { type AckedOutcome, type AckPlan, planAcks } from "../../formats/hl7/ack.ts";
import { escapeText } from "../../formats/hl7/delimiters.ts";
import { buildMessage, encodeHl7, type SegmentSpec } from "../../formats/hl7/encode.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { AckWants } from "../../formats/hl7/sent-segments.ts";
import { type Hl7Profile, isReported, type Profile } from "../profile/profile.ts";
import {
  type AnswerForm,
  answerCode,
  answerType,
  composeAnswer,
  composeAnswerResult,
  type MessageAnswer,
} from "./answer-hl7.ts";
import { composeControlAnswer, composeControlResult } from "./control-hl7.ts";
import { resultFileName } from "./file-name.ts";
import { Original, type OriginalGroup } from "./original.ts";
import { inOneLanguage } from "./reasons.ts";
import { composeChange } from "./result-hl7.ts";
import { withSiteFields } from "./site-fields.ts";

/**
 * The HL7 message that reports an outcome to the lab, as a file to deliver; undefined when the profile does not send
 * it, or when there was no readable MSH to answer. The same outcome gives the same bytes, whenever it is composed.
 *
 * @throws Failure RESULT_NOT_ENCODABLE for a result that the character set of the results can't hold; answers to messages
 * go out in another one then
 */
export function composeHl7(fact: Outcome, profile: Profile): { fileName: string; bytes: Buffer } | undefined {
  if (profile.format !== "hl7") return undefined;
  if (!isSent(fact, profile)) return undefined;
  const original = new Original(fact.message, profile);
  // There is something to answer to.
  if (fact.kind !== "changed" && fact.kind !== "control" && (!original.isAnswerable || original.isAnswer))
    return undefined;
  const fileName = resultFileName(fact, profile.results, numberRead(fact, original));
  return { fileName, bytes: write(fact, original, profile, composeOutcome) };
}

/** What of an outcome is made, in the language and character set that it is written in. */
type Compose<O extends Outcome> = (outcome: O, original: Original, profile: Hl7Profile) => SegmentSpec[];

/** An answer to a message as its bytes, with the lab's words and the site's fields in it. */
export function writeAnswer(
  answer: MessageAnswer,
  original: Original,
  profile: Hl7Profile,
  form: AnswerForm = {},
): Buffer {
  return write(answer, original, profile, (...parts) => composeAnswer(...parts, form));
}

function composeOutcome(outcome: Outcome, original: Original, profile: Hl7Profile): SegmentSpec[] {
  const { controlAnswers, formats } = profile.results;
  if (outcome.kind === "changed") return composeChange(outcome, original, profile);
  if (outcome.kind === "control") {
    const compose = controlAnswers === "result" ? composeControlResult : composeControlAnswer;
    return compose(outcome, original, profile);
  }
  const format = formats?.[outcome.kind];
  return format === undefined || format === "ssu"
    ? composeAnswer(outcome, original, profile, { wants: wantsOf(original) })
    : composeAnswerResult(outcome, original, profile, format);
}

/**
 * The bytes of what is composed. The sender of a message waits for its answer, so where the character set of the results can't hold
 * what that has to repeat, it goes out in that of the message itself, or else in UTF-8, as its own MSH-18 then says.
 *
 * @throws Failure RESULT_NOT_ENCODABLE for what is no answer
 */
function write<O extends Outcome>(
  fact: O,
  original: Original,
  given: Hl7Profile,
  compose: Compose<O>,
): Buffer {
  const profile = inOneLanguage(fact, given);
  const textOf = (from: Original) => {
    const { delimiters } = from.echo;
    const composed = buildMessage(compose(fact, from, profile), { delimiters });
    const text = withSiteFields(composed, fact, from, profile);
    return withoutSharedNumbers(text, fact, from);
  };
  if (fact.kind === "changed") return encodeHl7(textOf(original), original.charset.encoding);
  const encode = (from: Original) => tryToEncode(textOf(from), from.charset.encoding);
  return (
    encode(original) ??
    encode(original.writtenIn("as-received")) ??
    Buffer.from(textOf(original.writtenIn("utf-8")), "utf8")
  );
}

function tryToEncode(text: string, encoding: Encoding): Buffer | undefined {
  try {
    return encodeHl7(text, encoding);
  } catch (error) {
    if (error instanceof Failure && error.code === "RESULT_NOT_ENCODABLE") return undefined;
    throw error;
  }
}

/** The first order number that a refused or waiting message names; none where another order has one of them. */
function numberRead(outcome: Outcome, original: Original): string | undefined {
  const isAnswer = outcome.kind === "refused" || outcome.kind === "waiting";
  return isAnswer && !isNumberTaken(outcome.problems) ? original.firstNumber : undefined;
}

/** Whether the lab is sent it. */
function isSent(outcome: Outcome, profile: Hl7Profile): boolean {
  if (outcome.kind === "control") return profile.results.controlAnswers !== "none";
  return isReported(profile, outcome.kind === "changed" ? outcome.order.state : outcome.kind);
}

/**
 * The application acknowledgement of enhanced mode begins an exchange of its own: an order response is acknowledged when it is
 * accepted, and never more than that (HL7 chapter 2.9.3). A plain acknowledgement is not acknowledged at all.
 */
function wantsOf(original: Original): AckWants | undefined {
  const { applicationAckType } = original.header;
  if (applicationAckType === undefined || applicationAckType === "NE") return undefined;
  return { accept: answerType(original) === undefined ? "NE" : "AL", application: "NE" };
}

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

/** Answers to a message. */
export function createReplier(
  message: OutcomeMessage,
  profile: Hl7Profile,
  { form, applicationAck }: ReplySettings,
): Replier {
  return {
    isWhole: (answer) =>
      profile.results.formats?.[answer.kind] === undefined &&
      (applicationAck === "connection" ||
        plan(answer, new Original(message, profile)).deferred === undefined),
    compose: (answer, laterControlId) => {
      const original = new Original(message, profile);
      const { immediate, deferred } = plan(answer, original);
      const isPlain = form === "plain" || immediate?.startsWith("C");
      const isFollowed = deferred !== undefined;
      const now =
        immediate === undefined
          ? []
          : [writeAnswer(answer, original, profile, { code: immediate, isPlain, isFollowed })];
      if (deferred === undefined || applicationAck === "results") return now;
      const later = immediate === undefined ? answer : { ...answer, controlId: laterControlId };
      const own = { code: deferred, isPlain: form === "plain", wants: NO_ANSWER };
      return [...now, writeAnswer(later, original, profile, own)];
    },
  };
}

/** Of an application acknowledgement over the sender's own connection, where nobody waits for an answer to it. */
const NO_ANSWER: AckWants = { accept: "NE", application: "NE" };

function plan(answer: MessageAnswer, original: Original): AckPlan {
  if (original.isAnswer) return { immediate: undefined, deferred: undefined };
  return planAcks(original.header, outcomeOf(answer, original));
}

function outcomeOf(answer: MessageAnswer, original: Original): AckedOutcome {
  if (answer.kind !== "refused") return "taken";
  return answerCode(answer, original) === "AR" ? "foreign" : "content";
}

/** Fields of ORC and OBR that hold a code, a time or a place in a list, which may look like a number. */
const NUMBERLESS: Readonly<Record<string, readonly number[]>> = { ORC: [1, 5, 9], OBR: [1, 7, 22, 25] };
/** Accession numbers and the like of other segments. */
const NUMBERS: Readonly<Record<string, readonly number[]>> = { SAC: [1, 2], SPM: [2, 30] };

/**
 * A composed message without the numbers of its orders that other orders have: a status beside such a number would be read as
 * that of the other one. Whatever put it there, an echo or the site's own fields, it is taken out of all fields that name
 * orders.
 */
function withoutSharedNumbers(text: string, outcome: Outcome, original: Original): string {
  const numbers = ordersOf(outcome).flatMap(({ sharesNumber, placerOrderNumber: number }) =>
    sharesNumber && number !== undefined ? [number, ...original.groupsOf(number).flatMap(writtenNumber)] : [],
  );
  if (numbers.length === 0) return text;
  const { segments, delimiters } = Hl7Message.parse(text, { isComposed: true });
  const written = new Set(numbers.flatMap((number) => [number, escapeText(number, delimiters)]));
  const { repetition, component, subcomponent } = delimiters;
  const hasNumber = (field: string) =>
    [repetition, component, subcomponent]
      .reduce((parts, separator) => parts.flatMap((part) => part.split(separator)), [field])
      .some((part) => written.has(part.trim()));
  const namesOrder = (name: string, n: number) =>
    name in NUMBERLESS ? !NUMBERLESS[name]?.includes(n) : NUMBERS[name]?.includes(n) === true;
  const clean = ({ name, raw }: Segment) =>
    raw
      .split(delimiters.field)
      .map((field, n) => (n > 0 && namesOrder(name, n) && hasNumber(field) ? "" : field))
      .join(delimiters.field);
  return segments.map((segment) => `${clean(segment)}\r`).join("");
}

/** How a group's number is written where it was read: before the profile's transforms. */
function writtenNumber({ orc, obrs, place: { segment, field } }: OriginalGroup): string[] {
  return [(segment === "ORC" ? orc : obrs[0])?.get(field, 1, 1) ?? []].flat();
}

function ordersOf(outcome: Outcome): readonly OutcomeOrder[] {
  if (outcome.kind === "changed") return [outcome.order];
  // Answers to messages leave the groups of such orders out.
  return outcome.kind === "control" ? outcome.answers.flatMap(({ order }) => order ?? []) : [];
}
