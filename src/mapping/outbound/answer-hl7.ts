import type { FailureCode, Problem } from "../../core/failures.ts";
import type { Verdict } from "../../core/intake.ts";
import { asItIs, inSequence, type LabText } from "../../core/lab-text.ts";
import { endedWithoutEffect } from "../../core/order-state.ts";
import type { Outcome, OutcomeOrder } from "../../core/outcome.ts";
import type { AcknowledgmentCode } from "../../formats/hl7/ack.ts";
import type { SegmentSpec } from "../../formats/hl7/encode.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import {
  type AckError,
  type Acknowledgment,
  type AckWants,
  acknowledgmentSegments,
  controlSegment,
  type MessageType,
  noteSegments,
  type OrderNumbers,
  observationSegments,
  reportSegment,
} from "../../formats/hl7/sent-segments.ts";
import { CONTROL_FORMS } from "../profile/message-type.ts";
import type { Hl7Profile, ResultSettings } from "../profile/profile.ts";
import { answerInWords, conditionOf, OF_ORDER, refusalCode, statusCodes } from "./codes.ts";
import { NO_NUMBERS, type Original, type OriginalGroup } from "./original.ts";
import { labPhrase, ownPhrase, problemInWords, reasonsByOrder, takenGroups } from "./reasons.ts";
import { resultHeader } from "./result-hl7.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/** The application acknowledgement that fits what came in (HL7 chapter 4); any other type is answered by a plain ACK. */
const ANSWER_BY_TYPE: Readonly<Record<string, MessageType>> = {
  "ORM^O01": ["ORR", "O02"],
  "OML^O21": ["ORL", "O22"],
  "OML^O33": ["ORL", "O34"],
  "OML^O35": ["ORL", "O36"],
};

/** The acknowledgement that fits the message that is answered; undefined where that is a plain ACK. */
export function answerType({ header }: Original): MessageType | undefined {
  return ANSWER_BY_TYPE[`${header.messageCode}^${header.triggerEvent}`];
}

/** An outcome that answers a message as a whole. */
export type MessageAnswer = Extract<Outcome, { kind: "acknowledged" | "refused" | "waiting" }>;

/** The answer to a message by what became of it. */
export function messageAnswer(
  { verdict, problems }: { readonly verdict: Verdict; readonly problems: readonly Problem[] },
  about: Pick<Outcome, "outcomeId" | "controlId" | "occurredAt" | "message">,
): MessageAnswer {
  if (verdict === "refused" || verdict === "waiting") return { ...about, kind: verdict, problems };
  return { ...about, kind: "acknowledged", orders: [], isDuplicate: verdict === "duplicate" };
}

/** How an answer to a message is sent. */
export interface AnswerForm {
  /** MSA-1; that of original mode unless given. */
  readonly code?: AcknowledgmentCode | undefined;
  /** An ACK, whatever came: it echoes no order. */
  readonly isPlain?: boolean | undefined;
  /** Another answer follows, which gives the reasons. */
  readonly isFollowed?: boolean | undefined;
  readonly wants?: AckWants | undefined;
}

/**
 * The answer to a message: taken (`acknowledged`), refused with every reason, or on hold (`waiting`). One that waits is stored
 * safely and will be answered again, so nothing is to be sent again: AA, with warnings in ERR, and orders that are on hold
 * (ORC-1 OH, ORC-5 HD) instead of accepted.
 */
export function composeAnswer(
  outcome: MessageAnswer,
  original: Original,
  profile: Hl7Profile,
  { code = answerCode(outcome, original), isPlain = false, isFollowed = false, wants }: AnswerForm,
): SegmentSpec[] {
  const { errors, text } = isFollowed ? NO_REASONS : reasonsOf(outcome, profile.results.reasons);
  const type = isPlain ? undefined : answerType(original);
  const head = answerHead(outcome, original, profile, { code, type, errors, text, wants });
  if (type === undefined) return head;
  const { orders, notes } = answeredOrders(outcome, original, profile);
  const named = orders.filter(({ numbers }) => numbers !== undefined);
  return [
    ...head,
    ...noteSegments([...(outcome.kind === "waiting" ? [text] : []), ...notes]),
    ...echoGroups(original, named),
  ];
}

/** MSH, MSA and ERR of an answer to a message, which names that as its sender wrote its number. */
export function answerHead(
  { controlId, occurredAt }: Outcome,
  { header, writtenControlId, charset }: Original,
  { results }: Hl7Profile,
  said: Pick<Acknowledgment, "code" | "type" | "errors" | "text" | "wants">,
): SegmentSpec[] {
  return acknowledgmentSegments({
    ...{ ...said, to: header, answered: writtenControlId, controlId },
    dateTime: formatHl7Timestamp(occurredAt, results.timeZone),
    characterSet: charset.name,
  });
}

/** A group of a message, with the ORC that answers it. */
export interface AnsweredGroup {
  readonly group: OriginalGroup;
  readonly orc: SegmentSpec;
}

/** PID and, for each order group, the ORC that answers it, its specimens where the structure puts them, and its OBRs. */
export function echoGroups({ patient, echo }: Original, answered: readonly AnsweredGroup[]): SegmentSpec[] {
  const seen = new Set<Segment>();
  const body = answered.flatMap(({ group, orc }) => {
    const own = group.specimens.filter((segment) => !seen.has(segment) && seen.add(segment));
    return [...own.map(echo.segment), orc, ...group.obrs.map(echo.segment)];
  });
  return patient === undefined || body.length === 0 ? body : [echo.segment(patient), ...body];
}

/** OBR-4 where the message says nothing of what was ordered. */
const ANSWER = ["MESSAGE", "Answer to a message", "L"];

/**
 * The answer to a message as a result, for labs that take nothing else: ORU^R01, or ORM^O01, with an ORC and an OBR for each of
 * its orders, its own reasons in NTE and the message's control id in OBX. An order with the number of another one has an OBR
 * without a number, behind the others; so has a message whose orders can't be distinguished.
 */
export function composeAnswerResult(
  outcome: MessageAnswer,
  original: Original,
  profile: Hl7Profile,
  format: "oru" | "orm",
): SegmentSpec[] {
  const { patient, echo, header } = original;
  const { kind, occurredAt } = outcome;
  const { reasons, words, statusMap, timeZone } = profile.results;
  const at = formatHl7Timestamp(occurredAt, timeZone);
  const { orders, notes, wholeReasons } = answeredOrders(outcome, original, profile);
  const onHold = kind === "waiting" ? labPhrase(reasons, "onHold") : undefined;
  // How an order stands that came again is reported by messages of its own, which this one may follow.
  const isRepeat = kind === "acknowledged" && outcome.isDuplicate;
  const word = answerInWords(words, kind);
  const common = { status: "F", at } as const;
  const observations = observationSegments([
    { ...common, type: "ST", code: OF_ORDER.message, value: header.messageControlId },
    { ...common, type: "TX", code: OF_ORDER.status, value: isRepeat ? undefined : word },
  ]);
  const isAnyNamed = orders.some(({ numbers }) => numbers !== undefined);
  const parts: readonly Partial<AnsweredOrder>[] = isAnyNamed ? orders : [{ reasons: wholeReasons }];
  return [
    resultHeader(outcome, original, profile, format),
    ...(patient === undefined ? [] : [echo.segment(patient)]),
    ...parts.flatMap(({ group, numbers, orc, reasons: own = [] }, index) => [
      ...(orc === undefined || numbers === undefined ? [] : [orc]),
      reportSegment({
        ...{ setId: index + 1, numbers: numbers ?? NO_NUMBERS, at },
        service: echo.field(group?.obrs[0], 4) ?? ANSWER,
        resultStatus: isRepeat ? undefined : statusCodes(kind, statusMap).resultStatus,
      }),
      ...noteSegments([
        ...own.map(({ text }, n) => (n === 0 ? inSequence([onHold, text], ": ") : text)),
        ...notes,
      ]),
      ...observations,
    ]),
  ];
}

/** One order of a message that is answered. */
interface AnsweredOrder extends AnsweredGroup {
  /** None where another order has its number: an answer may say why it is not taken, and not name it. */
  readonly numbers: OrderNumbers | undefined;
  /** Why it is not taken; none where it is. */
  readonly reasons: readonly OrderReason[];
}

/** What an answer says of a message and its orders. */
interface AnsweredOrders {
  /** Those without numbers stand last. */
  readonly orders: readonly AnsweredOrder[];
  /** Why the message is not taken, where no order of it can be named. */
  readonly wholeReasons: readonly OrderReason[];
  /** What there is to say of a message that was taken. */
  readonly notes: readonly LabText[];
}

function answeredOrders(outcome: MessageAnswer, original: Original, profile: Hl7Profile): AnsweredOrders {
  const { echo, groups } = original;
  const { reasons: words, statusMap } = profile.results;
  const problems = outcome.kind === "acknowledged" ? [] : outcome.problems;
  const isPlacing = ({ control }: OriginalGroup) => control === undefined;
  const placing = groups.filter(isPlacing);
  const taken = takenGroups(problems, placing);
  const problemsOf = reasonsByOrder(problems, original);
  const known = knownOrders(outcome, original);
  const answer = (group: OriginalGroup): AnsweredOrder => {
    const state = known(group).findLast((order) => isPast(order, outcome))?.state;
    const end = state !== undefined && endedWithoutEffect(state) ? state : undefined;
    // How one stands that has got further is reported by messages of its own, which this one may follow.
    const isReportedAlone = state === undefined ? isUnknownRepeat(outcome) : end === undefined;
    // An order that has ended without effect is not accepted again.
    const { orderControl } = statusCodes(end === undefined ? outcome.kind : "refused", statusMap);
    const numbers = original.numberFields(group);
    const reasons = ownReasons(outcome, problemsOf(group), words);
    const [first] = groups.length > 1 ? reasons : [];
    const orc = controlSegment({
      control: refusedControl(group) ?? orderControl,
      numbers,
      groupNumber: echo.field(group.orc, 4),
      status: isReportedAlone ? undefined : statusCodes(end ?? outcome.kind, statusMap).orderStatus,
      reason: first && {
        code: first.code,
        text: inSequence(
          reasons.map(({ text }) => text),
          "; ",
        ),
      },
    });
    return { group, orc, numbers: taken.has(group) ? undefined : numbers, reasons };
  };
  // What becomes of a request about an earlier order has an answer of its own, unless the message is refused.
  const isAnswered = (group: OriginalGroup) =>
    isPlacing(group)
      ? !taken.has(group) && !known(group).some(({ sharesNumber }) => sharesNumber)
      : outcome.kind === "refused";
  const isOfEarlierOnly = groups.length > 0 && placing.length === 0;
  return {
    orders: [...groups.filter(isAnswered), ...taken].map(answer),
    wholeReasons: ownReasons(outcome, problems, words),
    notes: outcome.kind === "acknowledged" ? takenNotes(outcome.isDuplicate, isOfEarlierOnly, profile) : [],
  };
}

/** @param isOfEarlierOnly all that the message wants is of earlier orders */
function takenNotes(
  isRepeat: boolean,
  isOfEarlierOnly: boolean,
  { results: { reasons, controlAnswers } }: Hl7Profile,
): LabText[] {
  const follows = controlAnswers === "none" ? undefined : ownPhrase(reasons, "answerFollows");
  return [
    ...(isRepeat ? [labPhrase(reasons, "repeated")] : []),
    ...(isOfEarlierOnly ? [inSequence([labPhrase(reasons, "recorded"), follows], "; ")] : []),
  ];
}

/** ORC-1 that refuses what a group wants of an earlier order; a question for a state is refused like an order. */
function refusedControl({ control }: OriginalGroup): string | undefined {
  return control === undefined || control.kind === "status" ? undefined : CONTROL_FORMS[control.kind].refused;
}

/** Whether an order that a message places again is no longer as it came. A new one that is parked at once is as it came. */
function isPast({ state }: OutcomeOrder, outcome: MessageAnswer): boolean {
  const isRepeat = outcome.kind === "acknowledged" && outcome.isDuplicate;
  return state !== "received" && (isRepeat || state !== "parked");
}

/** Whether a message came again, and nothing is said of how its orders stand. */
function isUnknownRepeat(outcome: MessageAnswer): boolean {
  return outcome.kind === "acknowledged" && outcome.isDuplicate && outcome.orders.length === 0;
}

/** The orders that a group of a message stands for, as far as they are other than its answer would say by itself. */
function knownOrders(
  outcome: MessageAnswer,
  original: Original,
): (group: OriginalGroup) => readonly OutcomeOrder[] {
  const found = new Map<OriginalGroup, OutcomeOrder[]>();
  for (const order of outcome.kind === "acknowledged" ? outcome.orders : []) {
    if (!order.sharesNumber && !isPast(order, outcome)) continue;
    for (const group of original.groupsOf(order.placerOrderNumber)) {
      const others = found.get(group);
      if (others === undefined) found.set(group, [order]);
      else others.push(order);
    }
  }
  return (group) => found.get(group) ?? [];
}

/** A reason as an answer names it beside an order. */
interface OrderReason {
  readonly code?: FailureCode;
  readonly text: LabText;
}

/** Reasons that an order of a message has; a message may have as many more, and orders, as a frame holds. */
const MOST_REASONS = 10;

/** Beside an order without a mistake of its own, since a message is taken whole or not at all. */
const OTHERS = { refused: "otherOrder", waiting: "otherWaits" } as const;

/** What an answer says of one order: why it is not taken, or that another one is not. */
function ownReasons(
  { kind }: MessageAnswer,
  problems: readonly Problem[],
  reasons: ResultSettings["reasons"],
): readonly OrderReason[] {
  if (kind === "acknowledged") return [];
  if (problems.length === 0) return [{ text: labPhrase(reasons, OTHERS[kind]) }];
  const more = problems.length - MOST_REASONS;
  return [
    ...problems
      .slice(0, MOST_REASONS)
      .map((problem) => ({ code: problem.code, text: problemInWords(problem, reasons) })),
    ...(more > 0 ? [{ text: asItIs(`… +${more}`) }] : []),
  ];
}

const NO_REASONS = { errors: [], text: asItIs("") } as const;

/** What an answer says in ERR and MSA-3; before 2.5 ERR holds codes alone, and MSA-3 is the one place for words. */
function reasonsOf(
  outcome: MessageAnswer,
  reasons: ResultSettings["reasons"],
): { readonly errors: readonly AckError[]; readonly text: LabText } {
  if (outcome.kind === "acknowledged") return NO_REASONS;
  const isWaiting = outcome.kind === "waiting";
  const errors = outcome.problems.map((problem) => ({
    condition: conditionOf(problem.code),
    severity: isWaiting ? ("W" as const) : ("E" as const),
    applicationCode: problem.code,
    place: problem.place,
    text: problemInWords(problem, reasons),
  }));
  const text = inSequence(
    errors.map((each) => each.text),
    "; ",
  );
  // MSA-1 AA alone could be read as an order that was taken.
  return { errors, text: isWaiting ? inSequence([labPhrase(reasons, "onHold"), text], ": ") : text };
}

/** MSA-1 in original mode. What can't even be read as HL7 is as good as a message for somebody else. */
export function answerCode(answer: MessageAnswer, { isAnswerable }: Original): "AA" | "AE" | "AR" {
  if (answer.kind !== "refused") return "AA";
  return isAnswerable ? refusalCode(answer.problems) : "AR";
}
