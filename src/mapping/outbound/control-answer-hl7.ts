import { type Control, type FillerNumber, isCancelling } from "../../core/order-control.ts";
import type { ControlAnswer, Outcome } from "../../core/outcome.ts";
import type { AckError } from "../../formats/hl7/ack.ts";
import type { Echo } from "../../formats/hl7/echo.ts";
import { buildMessage, type Field, type SegmentSpec } from "../../formats/hl7/encode.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import { findControlGroups } from "../inbound/control-hl7.ts";
import { nameOf as segmentName } from "../inbound/find-hl7.ts";
import { NO_NUMBERS, type NumberFields, numberFields, withNumber } from "../inbound/number-place.ts";
import { controlCodes } from "../profile/message-type.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { answerHead, answerType, conditionOf, echoGroups } from "./answer-hl7.ts";
import type { Original } from "./original.ts";
import { labPhrase } from "./reasons.ts";
import { blank, fillerOrderNumber, statusCodes } from "./result-parts.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/**
 * ERR-3 (table 0357) of a refusal that is no fault of the message, such as a call that the service doesn't offer: an internal
 * error would be another matter beside AA.
 */
const MESSAGE_ACCEPTED = "0";

/** ORC-5 (table 0038) of an order that is as it was requested to be, where that is more than its state says. */
const STATUS_BY_CONTROL: Readonly<Partial<Record<Control, string>>> = { cancel: "CA", discontinue: "DC" };
/** ORC-5 of an order that the lab has on hold. */
const STATUS_HELD = "HD";
/** ORC-5 of an order that there is not. */
const STATUS_ORDER_NOT_FOUND = "ER";

/**
 * The order response to a message's requests about earlier orders (HL7 chapter 4, ORC-1 CR and UC, HR and UH and so on):
 * ORR^O02, or the ORL of what came in, with the message's own groups. MSA-1 is AA, since the message was understood; what
 * became of each request stands in its ORC, with the reason in ORC-16 and, for people, in NTE.
 */
export function composeControlAnswer(
  outcome: Extract<Outcome, { kind: "control" }>,
  original: Original,
  profile: Hl7Profile,
): string {
  const { answerByGroup, unseen } = findAnswered(outcome.answers, original, profile);
  const groupByAnswer = new Map([...answerByGroup].map(([group, answer]) => [answer, group]));
  // A warning: the message was understood, and MSA-1 is AA.
  const errors = outcome.answers.flatMap((answer): AckError[] => {
    const { refusal } = answer;
    if (refusal === undefined) return [];
    const { code } = refusal;
    const orc = groupByAnswer.get(answer)?.orc;
    const text = `${nameOf(answer, profile)}: ${refusal.text}`;
    return [
      {
        condition: conditionOf(code) === "207" ? MESSAGE_ACCEPTED : conditionOf(code),
        severity: "W",
        applicationCode: code,
        place: orc && segmentName(orc),
        text,
      },
    ];
  });
  const reasons = errors.map(({ text }) => text);
  const segments = answerHead(outcome, original, profile, {
    code: "AA",
    errors,
    text: reasons.join("; "),
    type: answerType(original) ?? ["ORR", "O02"],
  });
  for (const [index, reason] of reasons.entries()) segments.push(["NTE", index + 1, "L", reason]);
  const at = formatHl7Timestamp(outcome.occurredAt, profile.results.timeZone);
  const { message } = original;
  if (message !== undefined && answerByGroup.size > 0) {
    const answerOf = (group: OrderGroup) =>
      orcOf(answerByGroup.get(group) as ControlAnswer, group, original, profile, at);
    segments.push(...echoGroups(message, original, [...answerByGroup.keys()], answerOf));
  }
  // Without the message, once retention has pruned it, the numbers alone say which order is meant.
  for (const answer of unseen) segments.push(orcOf(answer, undefined, original, profile, at));
  return buildMessage(segments, { delimiters: original.echo.delimiters });
}

/** The groups of the message that the answers are about, and the answers to requests that are not seen in it any more. */
export function findAnswered(
  answers: readonly ControlAnswer[],
  { message }: Original,
  profile: Hl7Profile,
): {
  readonly answerByGroup: ReadonlyMap<OrderGroup, ControlAnswer>;
  readonly unseen: readonly ControlAnswer[];
} {
  const answerByGroup = new Map<OrderGroup, ControlAnswer>();
  const unseen: ControlAnswer[] = [];
  for (const answer of answers) {
    const groups = message === undefined ? [] : tryFindGroups(message, profile, answer);
    for (const group of groups) answerByGroup.set(group, answer);
    if (groups.length === 0) unseen.push(answer);
  }
  return { answerByGroup, unseen };
}

/** ORC: what was decided of a request, how the order stands, and why. */
export function orcOf(
  answer: ControlAnswer,
  group: OrderGroup | undefined,
  { echo }: Original,
  profile: Hl7Profile,
  at: string,
): SegmentSpec {
  const { numbers, filler } = controlNumbers(answer, group, echo, profile);
  const { control, refusal, order } = answer;
  const orc: SegmentSpec = [
    "ORC",
    refusal ? controlCodes(control).refused : controlCodes(control).granted,
    numbers.placer,
    filler,
    echo.field(group?.orc, 4),
    statusOf({ control, refusal, order }, profile),
    ...blank(3),
    at,
    ...blank(6),
    refusal && [refusal.code, refusal.text, "L"],
  ];
  return withNumber(orc, numbers);
}

/** The numbers by which the lab finds the order that a request names. */
export function controlNumbers(
  { placerOrderNumber, fillerNumber, order }: ControlAnswer,
  group: OrderGroup | undefined,
  echo: Echo,
  profile: Hl7Profile,
): { readonly numbers: NumberFields; readonly filler: Field } {
  const numbers = order?.sharesNumber ? NO_NUMBERS : numberFields(group, placerOrderNumber, echo, profile);
  const named = fillerNumber && `${fillerNumber.kind === "request" ? "R" : "P"}${fillerNumber.id}`;
  const own = (order && fillerOrderNumber(order)) ?? named;
  // Where each OBR is an order, ORC has what is of several.
  const asked = profile.ordersEach === "OBR" ? (group?.obrs[0] ?? group?.orc) : group?.orc;
  const filler =
    numbers.filler ??
    echo.field(asked, 3) ??
    (own === undefined ? undefined : [own, profile.results.namespace]);
  return { numbers, filler };
}

/** ORC-5: how the order stands by the profile's map, or as it was requested to be. */
function statusOf(
  { control, refusal, order }: Pick<ControlAnswer, "control" | "refusal" | "order">,
  profile: Hl7Profile,
): string | undefined {
  if (refusal?.code.endsWith("_ORDER_UNKNOWN")) return STATUS_ORDER_NOT_FOUND;
  const asked = refusal || !isCancelling(control) ? undefined : STATUS_BY_CONTROL[control];
  if (asked !== undefined) return asked;
  if (order?.isHeld === true) return STATUS_HELD;
  return order && statusCodes(order.state, profile.results).orderStatus;
}

function nameOf(
  { placerOrderNumber, fillerNumber, order }: ControlAnswer,
  { results: { reasons } }: Hl7Profile,
): string {
  // In a table of the lab's words that lacks the word, the number says it alone.
  const named = (word: "order" | FillerNumber["kind"], number: string | number) =>
    [reasons === undefined ? word : (reasons[word] ?? ""), number].join(" ").trim();
  if (placerOrderNumber !== undefined && !order?.sharesNumber) return named("order", placerOrderNumber);
  if (fillerNumber === undefined) return labPhrase(reasons, "order", "the order");
  return named(fillerNumber.kind, fillerNumber.id);
}

/** None where a newer profile reads the message otherwise. */
function tryFindGroups(
  message: NonNullable<Original["message"]>,
  profile: Hl7Profile,
  answer: ControlAnswer,
): OrderGroup[] {
  try {
    return findControlGroups(message, profile, answer);
  } catch {
    return [];
  }
}
