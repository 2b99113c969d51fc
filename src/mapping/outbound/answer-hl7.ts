import type { FailureCode, Problem } from "../../core/failures.ts";
import type { Verdict } from "../../core/intake.ts";
import { endedWithoutEffect, type OrderState } from "../../core/order-state.ts";
import type { Outcome } from "../../core/outcome.ts";
import {
  type AckError,
  type AcknowledgmentCode,
  type AckRequest,
  type AckWants,
  buildAck,
  type ErrorCondition,
} from "../../formats/hl7/ack.ts";
import { buildMessage, type Field, type SegmentSpec } from "../../formats/hl7/encode.ts";
import { type OrderGroup, orderGroups } from "../../formats/hl7/groups.ts";
import type { Hl7Message, Segment } from "../../formats/hl7/message.ts";
import { controlOf } from "../inbound/control-hl7.ts";
import { numberFields, withNumber } from "../inbound/number-place.ts";
import { orderGroupsByNumber } from "../inbound/order-hl7.ts";
import { controlCodes } from "../profile/message-type.ts";
import type { Hl7Profile, ResultSettings } from "../profile/profile.ts";
import type { Original } from "./original.ts";
import { labPhrase, problemInWords, reasonsByOrder, takenGroups } from "./reasons.ts";
import { blank, statusCodes } from "./result-parts.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/** The application acknowledgement that fits what came in (HL7 chapter 4); any other type is answered by a plain ACK. */
const ANSWER_BY_TYPE: Readonly<Record<string, readonly [messageCode: string, triggerEvent: string]>> = {
  "ORM^O01": ["ORR", "O02"],
  "OML^O21": ["ORL", "O22"],
  "OML^O33": ["ORL", "O34"],
  "OML^O35": ["ORL", "O36"],
};

/** Stand where all that a message wants is of earlier orders. */
const RECORDED = "What is wanted of earlier orders is recorded.";
const ANSWER_FOLLOWS = "What is wanted of earlier orders is recorded; the answer follows.";

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

/** Stands before the reasons of a message that waits: MSA-1 AA alone could be read as an order that was taken. */
export const ON_HOLD = "On hold, nothing was done yet";
const REPEATED = "This message was received before; nothing was started again.";

/**
 * The text of the answer to a message: taken (`acknowledged`), refused with every reason, or on hold (`waiting`). One
 * that waits is stored safely and will be answered again, so nothing is to be sent again: AA, with warnings in ERR, and
 * orders that are on hold (ORC-1 OH, ORC-5 HD) instead of accepted.
 */
export function composeAnswer(
  outcome: MessageAnswer,
  original: Original,
  profile: Hl7Profile,
  wants?: AckWants,
): string {
  const { message, echo } = original;
  const isWaiting = outcome.kind === "waiting";
  const { reasons } = profile.results;
  const { errors, text } = reasonsOf(outcome, reasons);
  const code = outcome.kind === "refused" ? refusalCode(outcome.problems) : "AA";
  const segments = answerHead(outcome, original, profile, { code, errors, text, wants });
  if (answerType(original) === undefined) return buildMessage(segments, { delimiters: echo.delimiters });
  const { groups, orcOf, isOfEarlierOnly } = answeredOrders(outcome, original, profile);
  const notes = [...(isWaiting ? [text] : []), ...answerNotes(outcome, profile, isOfEarlierOnly)];
  for (const note of notes) segments.push(["NTE", 1, "L", note]);
  if (message !== undefined) segments.push(...echoGroups(message, original, groups, orcOf));
  return buildMessage(segments, { delimiters: echo.delimiters });
}

/** What there is to say, besides codes, of a message that was taken. */
export function answerNotes(
  outcome: MessageAnswer,
  { results: { reasons, controlAnswers } }: Hl7Profile,
  isOfEarlierOnly: boolean,
): string[] {
  const isRepeat = outcome.kind === "acknowledged" && outcome.isDuplicate;
  return [
    ...(isRepeat ? [labPhrase(reasons, "repeated", REPEATED)] : []),
    ...(isOfEarlierOnly
      ? [labPhrase(reasons, "recorded", controlAnswers === "none" ? RECORDED : ANSWER_FOLLOWS)]
      : []),
  ];
}

/** The orders of a message that its answer is about. */
interface AnsweredOrders {
  /** Without those whose number another order has. */
  readonly groups: readonly OrderGroup[];
  /** Those of a refused or waiting message whose number another order has: an answer may say why, and not name them. */
  readonly unnamed: ReadonlySet<OrderGroup>;
  /** Why one order of a refused or waiting message is not taken, or the message where no order is given. */
  readonly reasonsFor: (group: OrderGroup | undefined) => readonly OrderReason[];
  readonly orcOf: (group: OrderGroup) => SegmentSpec;
  /** The message has orders, and wants nothing but something of earlier ones, which is answered by itself. */
  readonly isOfEarlierOnly: boolean;
}

/** Which order groups of a message its answer echoes, and how the ORC of each stands. */
export function answeredOrders(
  outcome: MessageAnswer,
  { message, echo }: Original,
  profile: Hl7Profile,
): AnsweredOrders {
  const codes = statusCodes(outcome.kind, profile.results);
  const all = message === undefined ? [] : tryGroups(message, profile);
  const problems = outcome.kind === "acknowledged" ? [] : outcome.problems;
  const placing = all.filter((group) => controlOf(group, profile) === undefined);
  const unnamed = takenGroups(problems, placing, profile);
  const own = reasonsByOrder(problems, all, profile);
  const reasonsFor = (group: OrderGroup | undefined) =>
    ownReasons(outcome, group === undefined ? problems : own(group), profile.results.reasons);
  const isShared = findShared(outcome, message, profile);
  // What becomes of a request about an earlier order has an answer of its own, unless the message is refused.
  const isAnswered = (group: OrderGroup) =>
    controlOf(group, profile) === undefined
      ? !isShared(group) && !unnamed.has(group)
      : outcome.kind === "refused";
  const stateByGroup = message === undefined ? undefined : statesOf(outcome, message, profile);
  const isUnknown = outcome.kind === "acknowledged" && outcome.isDuplicate && outcome.orders.length === 0;
  const orcOf = (group: OrderGroup): SegmentSpec => {
    const state = stateByGroup?.get(keyOf(group));
    const end = state !== undefined && endedWithoutEffect(state) ? state : undefined;
    // An order that has ended without effect is not accepted again.
    const { orderControl } = end === undefined ? codes : statusCodes("refused", profile.results);
    // How one stands that has got further is reported by messages of its own, which this one may follow.
    const isPast = isUnknown || (state !== undefined && end === undefined);
    const { orderStatus } = end === undefined ? codes : statusCodes(end, profile.results);
    const numbers = numberFields(group, undefined, echo, profile);
    const orc: [string, ...Field[]] = [
      "ORC",
      refusedControl(group, profile) ?? orderControl,
      numbers.placer,
      numbers.filler,
      echo.field(group.orc, 4),
      isPast ? undefined : orderStatus,
    ];
    const reasons = all.length > 1 ? reasonsFor(group) : [];
    const [first] = reasons;
    if (first !== undefined) {
      const text = reasons.map((each) => each.text).join("; ");
      orc.push(...blank(10), [first.code, text, first.code && "L"]);
    }
    return withNumber(orc, numbers);
  };
  const groups = all.filter(isAnswered);
  const isOfEarlierOnly =
    outcome.kind === "acknowledged" &&
    all.length > 0 &&
    all.every((group) => controlOf(group, profile) !== undefined);
  return { groups, unnamed, reasonsFor, orcOf, isOfEarlierOnly };
}

/** A reason as an answer names it beside an order. */
interface OrderReason {
  readonly code?: FailureCode;
  readonly text: string;
}

/** Reasons that an order of a message has; a message may have as many more, and orders, as a frame holds. */
const MOST_REASONS = 10;

/** What an answer says of one order: why it is not taken, or that another one is not. */
function ownReasons(
  { kind }: MessageAnswer,
  problems: readonly Problem[],
  reasons: ResultSettings["reasons"],
): readonly OrderReason[] {
  if (kind === "acknowledged") return [];
  if (problems.length === 0) {
    const isRefused = kind === "refused";
    const [word, shipped] = isRefused
      ? (["otherOrder", OTHER_REFUSED] as const)
      : (["otherWaits", OTHER_WAITS] as const);
    return [{ text: labPhrase(reasons, word, shipped) }];
  }
  const more = problems.length - MOST_REASONS;
  return [
    ...problems
      .slice(0, MOST_REASONS)
      .map((problem) => ({ code: problem.code, text: problemInWords(problem, reasons) })),
    ...(more > 0 ? [{ text: `… +${more}` }] : []),
  ];
}

/** Beside an order without a mistake of its own, since a message is taken whole or not at all. */
const OTHER_REFUSED = "another order of the message was refused";
const OTHER_WAITS = "another order of the message waits";

/**
 * A plain acknowledgement under a code of the caller's choice, which echoes no order. It gives the same reasons, unless
 * another answer follows that does.
 */
export function composePlainAnswer(
  outcome: MessageAnswer,
  original: Original,
  profile: Hl7Profile,
  code: AcknowledgmentCode,
  {
    wants,
    isFollowed = false,
  }: { readonly wants?: AckWants | undefined; readonly isFollowed?: boolean } = {},
): string {
  const { errors, text } = isFollowed ? NO_REASONS : reasonsOf(outcome, profile.results.reasons);
  const segments = answerHead(outcome, original, profile, { code, errors, text, wants, isPlain: true });
  return buildMessage(segments, { delimiters: original.echo.delimiters });
}

const NO_REASONS = { errors: [], text: "" } as const;

/** ORC-1 that refuses what a group wants of an earlier order; a question for a state is refused like an order. */
function refusedControl(group: OrderGroup, profile: Hl7Profile): string | undefined {
  const control = controlOf(group, profile);
  return control === undefined || control === "status" ? undefined : controlCodes(control).refused;
}

/** What an answer says in ERR and MSA-3. */
function reasonsOf(
  outcome: MessageAnswer,
  reasons: ResultSettings["reasons"],
): { errors: AckError[]; text: string } {
  const isWaiting = outcome.kind === "waiting";
  const errors = (outcome.kind === "acknowledged" ? [] : outcome.problems)
    .map((problem) => toAckError(problem, reasons))
    .map((error) => (isWaiting ? { ...error, severity: "W" as const } : error));
  const words = errors.map(({ text }) => text).join("; ");
  // Before 2.5 ERR holds codes alone, and MSA-3 is the one place for words.
  return { errors, text: isWaiting ? `${labPhrase(reasons, "onHold", ON_HOLD)}: ${words}` : words };
}

/** The acknowledgement that fits the message that is answered; undefined where that is a plain ACK. */
export function answerType({ header }: Original): (typeof ANSWER_BY_TYPE)[string] | undefined {
  return ANSWER_BY_TYPE[`${header.messageCode}^${header.triggerEvent}`];
}

/** MSH, MSA and ERR of an answer. */
export function answerHead(
  outcome: Pick<Outcome, "controlId" | "occurredAt">,
  original: Original,
  profile: Hl7Profile,
  {
    isPlain = false,
    type = isPlain ? undefined : answerType(original),
    ...request
  }: Pick<AckRequest, "code" | "errors" | "text" | "wants"> & {
    /** Another type than {@link answerType} says. */
    readonly type?: (typeof ANSWER_BY_TYPE)[string] | undefined;
    /** ACK, whatever came. */
    readonly isPlain?: boolean;
  },
): SegmentSpec[] {
  const segments = buildAck({
    ...request,
    to: original.header,
    controlId: outcome.controlId,
    dateTime: formatHl7Timestamp(outcome.occurredAt, profile.results.timeZone),
    characterSet: original.charset.name,
    ...(type === undefined
      ? {}
      : { type: { messageCode: type[0], triggerEvent: type[1], structure: type.join("_") } }),
  });
  const { writtenControlId } = original;
  if (writtenControlId === undefined) return segments;
  return segments.map((segment): SegmentSpec => {
    const [name, code, _decoded, ...rest] = segment;
    return name === "MSA" ? [name, code, writtenControlId, ...rest] : segment;
  });
}

/**
 * PID and, for each order group, the ORC that answers it, its specimens where the structure puts them, and its OBRs.
 *
 * @param answerOf the ORC
 */
export function echoGroups(
  message: Hl7Message,
  { header, echo }: Original,
  groups: readonly OrderGroup[],
  answerOf: (group: OrderGroup) => SegmentSpec,
): SegmentSpec[] {
  const pid = message.first("PID");
  const seen = new Set<Segment>();
  const isSpecimenFirst = header.triggerEvent === "O33" || header.triggerEvent === "O35";
  const body = groups.flatMap((group): SegmentSpec[] => {
    const specimens = !isSpecimenFirst
      ? []
      : group.specimens
          .flatMap(({ spm, containers }) => [...(spm ? [spm] : []), ...containers])
          .filter((segment) => !seen.has(segment) && seen.add(segment));
    return [...specimens.map(echo.segment), answerOf(group), ...group.obrs.map(echo.segment)];
  });
  return pid === undefined || body.length === 0 ? body : [echo.segment(pid), ...body];
}

/** A message that was refused for its structure has no orders to echo; ERR says why. */
function tryGroups(message: Hl7Message, { ordersEach }: Hl7Profile): OrderGroup[] {
  try {
    return orderGroups(message, ordersEach);
  } catch {
    return [];
  }
}

/** What a group has alone: several may share an ORC. */
function keyOf({ orc, obrs }: OrderGroup): Segment | undefined {
  return obrs[0] ?? orc;
}

/**
 * Which groups of a message that was taken place an order whose number another one has: what an answer said of them would be
 * read as a status of the other order.
 */
function findShared(
  outcome: MessageAnswer,
  message: Hl7Message | undefined,
  profile: Hl7Profile,
): (group: OrderGroup) => boolean {
  if (outcome.kind !== "acknowledged") return () => false;
  const shared = outcome.orders.filter(({ sharesNumber }) => sharesNumber);
  if (message === undefined || shared.length === 0 || tryGroups(message, profile).length === 0)
    return () => false;
  const groupsByNumber = orderGroupsByNumber(message, profile);
  const segments = new Set(
    shared.flatMap(({ placerOrderNumber: number = "" }) => (groupsByNumber.get(number) ?? []).map(keyOf)),
  );
  return (group) => segments.has(keyOf(group));
}

/**
 * How the orders stand that a message places again and that are no longer as they came, by the OBR (or ORC) of their
 * groups. A new one that is parked at once is as it came.
 */
function statesOf(
  outcome: MessageAnswer,
  message: Hl7Message,
  profile: Hl7Profile,
): Map<Segment | undefined, OrderState> {
  if (outcome.kind !== "acknowledged") return new Map();
  const { orders, isDuplicate } = outcome;
  const past = orders.filter(({ state }) => state !== "received" && (isDuplicate || state !== "parked"));
  if (past.length === 0 || tryGroups(message, profile).length === 0) return new Map();
  const groupsByNumber = orderGroupsByNumber(message, profile);
  return new Map(
    past.flatMap(({ placerOrderNumber: number, state }) => {
      const groups = number === undefined ? undefined : groupsByNumber.get(number);
      return (groups ?? []).map((group) => [keyOf(group), state] as const);
    }),
  );
}

/**
 * HL7's own words (table 0357) by failure code. Any other failure is 207, application internal error: it says nothing of the
 * message.
 */
const CONDITION_BY_CODE: Readonly<Partial<Record<FailureCode, ErrorCondition>>> = {
  HL7_NO_MSH: "100",
  HL7_SEGMENT_INVALID: "100",
  HL7_SECOND_HEADER: "100",
  HL7_STRUCTURE: "100",
  HL7_UNTERMINATED: "100",
  HL7_LINE_ENDS_MIXED: "100",
  MLLP_FRAME_UNENDED: "100",
  HL7_FILE_EMPTY: "100",
  HL7_FILE_TEXT_OUTSIDE: "100",
  HL7_BATCH_INCOMPLETE: "100",
  MAPPING_NO_ORDER: "100",
  MAPPING_SECOND_PATIENT: "100",
  MAPPING_CONTAINER_UNEXPECTED: "100",
  MAPPING_NO_PATIENT: "101",
  MAPPING_NO_CONTAINER: "101",
  MAPPING_VALUE_MISSING: "101",
  HL7_DELIMITERS: "102",
  HL7_CHARSET_UTF8: "102",
  HL7_CHARSET_BYTES: "102",
  HL7_FILE_BINARY: "102",
  HL7_BATCH_COUNT: "102",
  HL7_TOO_MANY_MESSAGES: "102",
  LEDGER_VALUE_UNSTORABLE: "102",
  MAPPING_TOO_MANY_LABELS: "102",
  MAPPING_VALUE_INVALID: "102",
  MAPPING_VALUE_TOO_LONG: "102",
  MAPPING_CHARACTER_INVALID: "102",
  MAPPING_DATE_INVALID: "102",
  MAPPING_VALUES_DISAGREE: "102",
  MAPPING_SUBJECT_AMBIGUOUS: "102",
  HL7_CHARSET_UNKNOWN: "103",
  MAPPING_OPERATION_UNKNOWN: "103",
  MAPPING_FACILITY_UNKNOWN: "103",
  MAPPING_CODE_UNKNOWN: "103",
  MAPPING_ORDER_CONTROL_UNSUPPORTED: "103",
  MAPPING_MESSAGE_TYPE_UNSUPPORTED: "200",
  MAPPING_PROCESSING_ID: "202",
  MAPPING_PROCESSING_MODE: "202",
  MAPPING_VERSION_UNSUPPORTED: "203",
  CANCEL_ORDER_UNKNOWN: "204",
  CANCEL_ORDER_AMBIGUOUS: "204",
  CANCEL_ORDER_DIFFERS: "204",
  CONTROL_ORDER_UNKNOWN: "204",
  CONTROL_ORDER_AMBIGUOUS: "204",
  CONTROL_ORDER_DIFFERS: "204",
  HL7_CONTROL_ID_REUSED: "205",
  MAPPING_CONTAINER_LABEL_TWICE: "205",
  ORDER_NUMBER_REUSED: "205",
  ORDER_NUMBER_OTHER_AUTHORITY: "205",
  MAPPING_EARLIER_WAITS: "206",
  CONTROL_UNDER_WAY: "206",
};

/** A problem as ERR has it, under our own code in ERR-5. */
function toAckError(problem: Problem, reasons: ResultSettings["reasons"]): AckError {
  const { code, place } = problem;
  return {
    condition: conditionOf(code),
    place,
    text: problemInWords(problem, reasons),
    applicationCode: code,
  };
}

/**
 * MSA-1 of a refusal in original mode: AR where type, version or processing id is not for us (the same message may be
 * right elsewhere) or the message is but a part of one, which nobody here puts together; AE where the content is wrong
 * (HL7 chapter 2.9.2).
 */
export function refusalCode(problems: readonly Problem[]): Extract<AcknowledgmentCode, "AE" | "AR"> {
  const isForOthers = problems.some(
    ({ code }) => code === "HL7_CONTINUED" || ["200", "201", "202", "203"].includes(conditionOf(code)),
  );
  return isForOthers ? "AR" : "AE";
}

/** What ERR-3 says of a failure. */
export function conditionOf(code: FailureCode): ErrorCondition {
  return CONDITION_BY_CODE[code] ?? "207";
}
