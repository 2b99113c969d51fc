import { isNumberTaken } from "../../core/failures.ts";
import { isSubjectNews } from "../../core/order.ts";
import type { Outcome, OutcomeOrder } from "../../core/outcome.ts";
import type { AckWants } from "../../formats/hl7/ack.ts";
import { escapeText } from "../../formats/hl7/delimiters.ts";
import { buildMessage, encodeHl7, type SegmentSpec } from "../../formats/hl7/encode.ts";
import { Hl7Message, type Segment } from "../../formats/hl7/message.ts";
import { findMergeSegments } from "../inbound/merge-hl7.ts";
import { NO_NUMBERS, numberFields, withNumber, writtenNumbers } from "../inbound/number-place.ts";
import { orderGroupsByNumber } from "../inbound/order-hl7.ts";
import { type Hl7Profile, isReported, type Profile, type ResultAcks } from "../profile/profile.ts";
import { answerType, composeAnswer } from "./answer-hl7.ts";
import { composeAnswerResult } from "./answer-result-hl7.ts";
import { composeControlAnswer } from "./control-answer-hl7.ts";
import { composeControlResult } from "./control-result-hl7.ts";
import { resultFileName } from "./file-name.ts";
import { observe } from "./observations.ts";
import { isAnswer, type Original, readOriginal } from "./original.ts";
import { inLabWords, inOneLanguage } from "./reasons.ts";
import {
  blank,
  fillerOrderNumber,
  reportObr,
  SERVICE_BY_OPERATION,
  type StatusContext,
  statusCodes,
  statusContext,
  statusHeader,
} from "./result-parts.ts";
import { specimenStatus } from "./result-ssu.ts";
import { encodeAnswer, withSiteFields } from "./site-fields.ts";

/**
 * The HL7 message that reports an outcome to the lab, as a file to deliver; undefined when the profile does not send
 * it, or when there was no readable MSH to answer. The same outcome gives the same bytes, whenever it is composed.
 *
 * @throws Failure RESULT_NOT_ENCODABLE for a result that the character set of the results can't hold; answers to messages
 * go out in another one then
 */
export function composeHl7(fact: Outcome, given: Profile): { fileName: string; bytes: Buffer } | undefined {
  if (given.format !== "hl7") return undefined;
  const profile = inOneLanguage(fact, given);
  const outcome = inLabWords(fact, profile.results);
  const original = readOriginal(outcome.message, profile.results);
  if (!isComposed(outcome, original, profile)) return undefined;
  const compose = (from: Original) =>
    withoutSharedNumbers(
      withSiteFields(
        asking(composeText(outcome, from, profile), profile.results.wants),
        outcome,
        from,
        profile,
      ),
      outcome,
      from,
      profile,
    );
  const bytes =
    outcome.kind === "changed"
      ? encodeHl7(compose(original), original.charset.encoding)
      : encodeAnswer(original, compose);
  return {
    fileName: resultFileName(outcome, profile.results, numberRead(outcome, original, profile)),
    bytes,
  };
}

/** MSH-15 and MSH-16 of a message that acknowledges none: what has an MSA says itself what it is answered with. */
function asking(text: string, wants: ResultAcks | undefined): string {
  if (wants === undefined || /\rMSA/.test(text)) return text;
  const [header = "", ...rest] = text.split("\r");
  const separator = header.charAt("MSH".length);
  const fields = header.split(separator);
  while (fields.length < MSH_16) fields.push("");
  fields.splice(MSH_16 - 2, 2, wants.accept, wants.application);
  return [fields.join(separator), ...rest].join("\r");
}

/** MSH-1 is the separator itself, so that MSH-16 is the 16th piece. */
const MSH_16 = 16;

/** The first order number that a refused or waiting message names; none where another order has one of them. */
function numberRead(outcome: Outcome, { message }: Original, profile: Hl7Profile): string | undefined {
  if (outcome.kind !== "refused" && outcome.kind !== "waiting") return undefined;
  if (message === undefined || isNumberTaken(outcome.problems)) return undefined;
  try {
    return orderGroupsByNumber(message, profile).keys().next().value;
  } catch {
    return undefined;
  }
}

/** Whether it is sent to the lab, and there is something to answer to. */
function isComposed(outcome: Outcome, original: Original, profile: Hl7Profile): boolean {
  if (outcome.kind === "control") return profile.results.controlAnswers !== "none";
  if (!isReported(profile, outcome.kind === "changed" ? outcome.order.state : outcome.kind)) return false;
  return outcome.kind === "changed" || (original.isAnswerable && !isAnswer(original, profile.accept));
}

function composeText(outcome: Outcome, original: Original, profile: Hl7Profile): string {
  if (outcome.kind === "control") {
    const compose = profile.results.controlAnswers === "result" ? composeControlResult : composeControlAnswer;
    return compose(outcome, original, profile);
  }
  if (outcome.kind === "changed") {
    const context = statusContext(outcome, original, profile);
    const segments = context.format === "ssu" ? specimenStatus(context) : orderStatus(context);
    return buildMessage(segments, { delimiters: original.echo.delimiters });
  }
  const format = profile.results.formats?.[outcome.kind];
  if (format !== undefined && format !== "ssu")
    return composeAnswerResult(outcome, original, profile, format);
  return composeAnswer(outcome, original, profile, wantsOf(original));
}

/** Takes the numbers of orders out that other orders have, too. */
function withoutSharedNumbers(
  text: string,
  outcome: Outcome,
  { message }: Original,
  profile: Hl7Profile,
): string {
  const shared = ordersOf(outcome).flatMap(({ sharesNumber, placerOrderNumber: number }) =>
    sharesNumber && number !== undefined ? [number] : [],
  );
  if (shared.length === 0) return text;
  return withoutNumber(
    text,
    shared.flatMap((number) => [number, ...writtenNumbers(message, number, profile)]),
  );
}

function ordersOf(outcome: Outcome): readonly OutcomeOrder[] {
  switch (outcome.kind) {
    case "changed":
      return [outcome.order];
    case "control":
      return outcome.answers.flatMap(({ order }) => order ?? []);
    default:
      // Answers to messages leave the groups of such orders out.
      return [];
  }
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
 * ORU^R01 or ORM^O01 about an order's change: PID, ORC and OBR with its numbers and codes, the reason in ORC-16 and
 * NTE, and OBX for the order and each container.
 */
function orderStatus(context: StatusContext): SegmentSpec[] {
  const { outcome, original, profile, format, version, at, groups } = context;
  const { order } = outcome;
  const { timeZone, words, namespace } = profile.results;
  const { echo } = original;
  const pid = findPid(context);
  const codes = statusCodes(order.state, { ...profile.results, format });
  const group = groups[0];
  const obr = group?.obrs[0];
  const isShared = order.sharesNumber === true;
  const numbers = isShared ? NO_NUMBERS : numberFields(group, order.placerOrderNumber, echo, profile);
  const ownNumber = fillerOrderNumber(order);
  const filler = numbers.filler ?? (ownNumber === undefined ? undefined : [ownNumber, namespace]);
  const reason =
    order.reason === undefined ? undefined : [order.reason.code, order.reason.text, order.reason.code && "L"];
  const notes = [isShared ? SHARED_NUMBER : undefined, order.reason?.text].filter(
    (note) => note !== undefined,
  );
  return [
    statusHeader(context),
    pid === undefined ? ["PID", 1, undefined, order.subjectCode.reveal()] : echo.segment(pid),
    withNumber(
      [
        "ORC",
        isRefusedNews(order) ? UNABLE_TO_CHANGE : codes.orderControl,
        numbers.placer,
        filler,
        echo.field(group?.orc, 4),
        codes.orderStatus,
        ...blank(3),
        at,
        ...blank(6),
        reason,
      ],
      numbers,
    ),
    reportObr({
      ...{ setId: 1, numbers, filler, at, resultStatus: codes.resultStatus },
      service: echo.field(obr, 4) ?? SERVICE_BY_OPERATION[order.operation],
    }),
    ...notes.map((note, index) => ["NTE", index + 1, "L", note] as const),
    ...observe(order, { timeZone, words, version, at, messageControlId: outcome.message.messageControlId }),
  ];
}

/** The order's own PID: a message may merge several patients. */
function findPid({ outcome: { order }, original: { message }, profile }: StatusContext): Segment | undefined {
  if (message === undefined || order.operation !== "MERGE") return message?.first("PID");
  return findMergeSegments(message, profile, order)?.find(({ name }) => name === "PID");
}

/** Beside a result that names its order by our number alone. */
const SHARED_NUMBER =
  "Another order has this order's number; CRYO-MESSAGE names the message that brought it.";

/** ORC-1, table 0119. */
const UNABLE_TO_CHANGE = "UX";

/** Whether the service would have had to change a subject, and offers no call for that. */
function isRefusedNews({ operation, state }: OutcomeOrder): boolean {
  return isSubjectNews(operation) && state === "failed";
}

/** Fields of ORC and OBR that hold a code, a time or a place in a list, which may look like a number. */
const NUMBERLESS: Readonly<Record<string, readonly number[]>> = { ORC: [1, 5, 9], OBR: [1, 7, 22, 25] };
/** Accession numbers and the like of other segments. */
const NUMBERS: Readonly<Record<string, readonly number[]>> = { SAC: [1, 2], SPM: [2, 30] };

/**
 * A composed message without an order's number, where another order has it: a status beside the number would be read as
 * that of the other one. Whatever put it there, an echo or the site's own fields, it is taken out of all fields that name
 * orders.
 *
 * @param numbers the number as it was read, and as it was written
 */
function withoutNumber(text: string, numbers: readonly string[]): string {
  const message = Hl7Message.parse(text);
  const { delimiters } = message;
  const written = new Set(numbers.flatMap((number) => [number, escapeText(number, delimiters)]));
  const separators = [delimiters.repetition, delimiters.component, delimiters.subcomponent];
  const partsOf = (field: string) =>
    separators.reduce(
      (parts, separator) => (separator === "" ? parts : parts.flatMap((part) => part.split(separator))),
      [field],
    );
  const namesOrder = (name: string, n: number) =>
    name in NUMBERLESS ? !NUMBERLESS[name]?.includes(n) : NUMBERS[name]?.includes(n) === true;
  const clean = ({ name, raw }: Segment): string =>
    raw
      .split(delimiters.field)
      .map((field, n) =>
        n > 0 && namesOrder(name, n) && partsOf(field).some((part) => written.has(part.trim())) ? "" : field,
      )
      .join(delimiters.field);
  return message.segments.map((segment) => `${clean(segment)}\r`).join("");
}
