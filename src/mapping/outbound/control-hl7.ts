import { asItIs, inSequence, type LabText } from "../../core/lab-text.ts";
import type { FillerNumber } from "../../core/order-control.ts";
import type { ControlAnswer, Outcome } from "../../core/outcome.ts";
import { atSegment, type Place } from "../../core/place.ts";
import type { SegmentSpec } from "../../formats/hl7/encode.ts";
import {
  type AckError,
  controlSegment,
  noteSegments,
  type OrderNumbers,
  observationSegments,
  reportSegment,
  subjectSegment,
  versionOf,
} from "../../formats/hl7/sent-segments.ts";
import { CONTROL_FORMS } from "../profile/message-type.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { answerHead, answerType, echoGroups } from "./answer-hl7.ts";
import { conditionOf, OF_ORDER, statusCodes } from "./codes.ts";
import { observeWhole } from "./observations.ts";
import { NO_NUMBERS, type Original, type OriginalGroup } from "./original.ts";
import { decisionOf, labPhrase, ownPhrase, reasonInWords, worded } from "./reasons.ts";
import { fillerOrderNumber, resultHeader, SERVICE_BY_OPERATION } from "./result-hl7.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

type ControlOutcome = Extract<Outcome, { kind: "control" }>;

/**
 * ERR-3 (table 0357) of a refusal that is no fault of the message, such as a call that the service doesn't offer: an internal
 * error would be another matter beside AA.
 */
const MESSAGE_ACCEPTED = "0";

/** ORC-5 (table 0038) of an order that the lab has on hold. */
const STATUS_HELD = "HD";
/** ORC-5 of an order that there is not. */
const STATUS_ORDER_NOT_FOUND = "ER";

/**
 * The order response to a message's requests about earlier orders (HL7 chapter 4, ORC-1 CR and UC, HR and UH and so on):
 * ORR^O02, or the ORL of what came in, with the message's own groups. MSA-1 is AA, since the message was understood; what
 * became of each request stands in its ORC, with the reason in ORC-16 and, for people, in NTE.
 */
export function composeControlAnswer(
  outcome: ControlOutcome,
  original: Original,
  profile: Hl7Profile,
): SegmentSpec[] {
  const answered = findAnswered(outcome, original, profile);
  const groupByAnswer = new Map(answered.map(({ answer, group }) => [answer, group]));
  // A warning: the message was understood, and MSA-1 is AA.
  const errors = outcome.answers.flatMap((answer): AckError[] => {
    const { refusal } = answer;
    if (refusal === undefined) return [];
    const { code } = refusal;
    const condition = conditionOf(code);
    return [
      {
        condition: condition === "207" ? MESSAGE_ACCEPTED : condition,
        severity: "W",
        applicationCode: code,
        place: placeOfControl(groupByAnswer.get(answer)?.control?.at),
        text: inSequence([nameOf(answer, profile), reasonInWords(refusal, profile.results.reasons)], ": "),
      },
    ];
  });
  const reasons = errors.map(({ text }) => text);
  return [
    ...answerHead(outcome, original, profile, {
      ...{ code: "AA", type: answerType(original) ?? ["ORR", "O02"] },
      ...{ errors, text: inSequence(reasons, "; ") },
    }),
    ...noteSegments(reasons),
    ...echoGroups(
      original,
      answered.flatMap(({ group, orc }) => (group === undefined ? [] : [{ group, orc }])),
    ),
    // Without the message, once retention has pruned it, the numbers alone say which order is meant.
    ...answered.flatMap(({ group, orc }) => (group === undefined ? [orc] : [])),
  ];
}

/**
 * The same as a result, for labs that take nothing else: ORU^R01, or ORM^O01, with an ORC and an OBR for each order. ORC-1 and
 * ORC-16 are those of the order response; the decision stands in an OBX too.
 */
export function composeControlResult(
  outcome: ControlOutcome,
  original: Original,
  profile: Hl7Profile,
): SegmentSpec[] {
  const { format } = profile.results;
  const answered = findAnswered(outcome, original, profile);
  const { patient: pid } = original;
  // Without one in the message each order is its own subject's, and an order that there is not is nobody's.
  const byPatient =
    pid !== undefined
      ? new Map([[undefined, answered]])
      : Map.groupBy(withoutOrderFirst(answered), ({ answer }) => answer.order?.subjectCode.reveal());
  let setId = 0;
  return [
    // SSU is about containers and has no place for a decision.
    resultHeader(outcome, original, profile, format === "ssu" ? "oru" : format),
    ...(pid === undefined ? [] : [original.echo.segment(pid)]),
    ...[...byPatient].flatMap(([patient, own]) => [
      ...(patient === undefined ? [] : [subjectSegment(patient)]),
      ...own.flatMap((each) => {
        setId += 1;
        return reportAnswer(each, setId, outcome, original, profile);
      }),
    ]),
  ];
}

/** Below the PID of another order they would be read as that patient's. */
function withoutOrderFirst(answered: readonly Answered[]): Answered[] {
  return answered.toSorted(
    ({ answer: one }, { answer: other }) =>
      Number(one.order !== undefined) - Number(other.order !== undefined),
  );
}

/** An answer, with the numbers of its order and its ORC. */
interface Answered {
  readonly answer: ControlAnswer;
  /** Undefined of a request that is not seen in the message any more. */
  readonly group: OriginalGroup | undefined;
  readonly numbers: OrderNumbers;
  readonly orc: SegmentSpec;
}

/** The groups of the message that the answers are about; behind them the answers to requests that are not seen in it. */
function findAnswered(
  { answers, occurredAt }: ControlOutcome,
  original: Original,
  profile: Hl7Profile,
): Answered[] {
  const at = formatHl7Timestamp(occurredAt, profile.results.timeZone);
  const seen: (readonly [OriginalGroup, ControlAnswer])[] = [];
  const unseen: ControlAnswer[] = [];
  for (const answer of answers) {
    const groups = original.controlGroupsOf(answer);
    // Two requests may name an order alike, but for its filler number: both are answered.
    for (const group of groups) seen.push([group, answer]);
    if (groups.length === 0) unseen.push(answer);
  }
  const withOrc = (answer: ControlAnswer, group: OriginalGroup | undefined): Answered => {
    const { control, refusal } = answer;
    const numbers = numbersOf(answer, group, original, profile);
    const orc = controlSegment({
      control: CONTROL_FORMS[control][refusal ? "refused" : "granted"],
      numbers,
      groupNumber: original.echo.field(group?.orc, 4),
      status: statusOf(answer, profile),
      at,
      reason: worded(refusal, profile.results.reasons),
    });
    return { answer, group, numbers, orc };
  };
  return [
    ...seen.map(([group, answer]) => withOrc(answer, group)),
    ...unseen.map((answer) => withOrc(answer, undefined)),
  ];
}

/** The numbers by which the lab finds the order that a request names. */
function numbersOf(
  { placerOrderNumber, fillerNumber, order }: ControlAnswer,
  group: OriginalGroup | undefined,
  original: Original,
  { results: { namespace } }: Hl7Profile,
): OrderNumbers {
  const numbers = order?.sharesNumber ? NO_NUMBERS : original.numberFields(group, placerOrderNumber);
  const named = fillerNumber && `${fillerNumber.kind === "request" ? "R" : "P"}${fillerNumber.id}`;
  const own = (order && fillerOrderNumber(order)) ?? named;
  // Where each OBR is an order, ORC has what is of several.
  const asked = original.isEachObr ? (group?.obrs[0] ?? group?.orc) : group?.orc;
  const filler = numbers.filler ?? original.echo.field(asked, 3);
  return { ...numbers, filler: filler ?? (own === undefined ? undefined : [own, namespace]) };
}

/** Where the ORC of a request stands. */
function placeOfControl(ordinal: number | undefined): Place | undefined {
  return ordinal === undefined ? undefined : atSegment({ name: "ORC", ordinal });
}

/** ORC-5: how the order stands by the profile's map, or as it was requested to be. */
function statusOf({ control, refusal, order }: ControlAnswer, profile: Hl7Profile): string | undefined {
  if (refusal?.code.endsWith("_ORDER_UNKNOWN")) return STATUS_ORDER_NOT_FOUND;
  const asked = refusal ? undefined : CONTROL_FORMS[control].orderStatus;
  if (asked !== undefined) return asked;
  if (order?.isHeld === true) return STATUS_HELD;
  return order && statusCodes(order.state, profile.results.statusMap).orderStatus;
}

function nameOf(
  { placerOrderNumber, fillerNumber, order }: ControlAnswer,
  { results: { reasons } }: Hl7Profile,
): LabText {
  const named = (word: "order" | FillerNumber["kind"], number: string | number) =>
    inSequence([ownPhrase(reasons, word), asItIs(number)], " ");
  if (placerOrderNumber !== undefined && !order?.sharesNumber) return named("order", placerOrderNumber);
  if (fillerNumber === undefined) return labPhrase(reasons, "order");
  return named(fillerNumber.kind, fillerNumber.id);
}

/** ORC, OBR, the reason in NTE, and OBX. */
function reportAnswer(
  { answer, group, numbers, orc }: Answered,
  setId: number,
  { occurredAt }: ControlOutcome,
  { echo, header }: Original,
  profile: Hl7Profile,
): SegmentSpec[] {
  const { control, refusal, order } = answer;
  const { statusMap, timeZone, words, reasons } = profile.results;
  const at = formatHl7Timestamp(occurredAt, timeZone);
  const settings = { timeZone, words, reasons, version: versionOf(header), at };
  // What is known of its containers answers only a question for that.
  const containers = control === "status" && order ? order.containers : [];
  return [
    orc,
    reportSegment({
      ...{ setId, numbers, at },
      service:
        echo.field(group?.obrs[0], 4) ??
        (order ? SERVICE_BY_OPERATION[order.operation] : CONTROL_FORMS[control].service),
      resultStatus: order ? (statusCodes(order.state, statusMap).resultStatus ?? RECEIVED) : NO_ORDER,
    }),
    ...noteSegments(refusal ? [reasonInWords(refusal, reasons)] : []),
    ...observationSegments([
      { type: "TX", code: OF_ORDER.request, value: decisionInWords(answer, profile), status: "F", at },
      ...(order ? observeWhole(order, containers, settings) : []),
    ]),
  ];
}

/** OBR-25 (table 0123): no order on record. */
const NO_ORDER = "Y";
/** OBR-25 of an order of which nothing was sent yet. */
const RECEIVED = "O";

/** None of a question for the state that has an answer. */
function decisionInWords(answer: ControlAnswer, { results: { reasons } }: Hl7Profile): LabText | undefined {
  const { refusal } = answer;
  const decision = decisionOf(answer);
  if (decision === undefined) return undefined;
  if (refusal === undefined) return labPhrase(reasons, decision);
  return inSequence([ownPhrase(reasons, decision), reasonInWords(refusal, reasons)], ": ");
}
