import type { CancelAnswer } from "../core/cancel.ts";
import type { Outcome } from "../core/outcome.ts";
import type { OrderGroup } from "../formats/hl7/groups.ts";
import { answerHead, answerType, echoGroups, UNABLE_TO_CANCEL } from "./answer-hl7.ts";
import { findCancelGroups } from "./cancel-hl7.ts";
import { assemble, type OutSegment } from "./echo.ts";
import type { Original } from "./original.ts";
import type { Hl7Profile } from "./profile.ts";
import { statusCodes } from "./status-map.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/** ORC-1, table 0119: cancelled as requested. In MSA-1 the same letters mean something else. */
const CANCELLED_AS_REQUESTED = "CR";
/** ORC-5, table 0038. */
const STATUS_CANCELLED = "CA";
const STATUS_ORDER_NOT_FOUND = "ER";

/**
 * The order response to a message's wishes to cancel (HL7 chapter 4, ORC-1 CR and UC): ORR^O02, or the ORL of what came
 * in, with the message's own groups. MSA-1 is AA, since the message was understood; what became of each wish stands in
 * its ORC, with the reason in ORC-16 and, for people, in NTE.
 */
export function composeCancelAnswer(
  outcome: Extract<Outcome, { kind: "cancellation" }>,
  original: Original,
  profile: Hl7Profile,
): string {
  const reasons = outcome.answers.flatMap((answer) =>
    answer.refusal ? [`${nameOf(answer)}: ${answer.refusal.text}`] : [],
  );
  const segments = answerHead(outcome, original, profile, {
    code: "AA",
    text: reasons.join("; "),
    type: answerType(original) ?? ["ORR", "O02"],
  });
  for (const [index, reason] of reasons.entries()) segments.push(["NTE", index + 1, "L", reason]);
  const at = formatHl7Timestamp(outcome.occurredAt, profile.results.timeZone);
  const { message } = original;
  const answerByGroup = new Map<OrderGroup, CancelAnswer>();
  const unseen: CancelAnswer[] = [];
  for (const answer of outcome.answers) {
    const groups = message === undefined ? [] : tryFindGroups(message, profile, answer);
    for (const group of groups) answerByGroup.set(group, answer);
    if (groups.length === 0) unseen.push(answer);
  }
  if (message !== undefined && answerByGroup.size > 0) {
    const answerOf = (group: OrderGroup, placer: OutSegment[1]) =>
      orcOf(answerByGroup.get(group) as CancelAnswer, group, placer, original, profile, at);
    segments.push(...echoGroups(message, original, [...answerByGroup.keys()], answerOf));
  }
  // Without the message, once retention has pruned it, the numbers alone tell which order is meant.
  for (const answer of unseen) segments.push(orcOf(answer, undefined, undefined, original, profile, at));
  return assemble(segments, original.echo.delimiters);
}

function orcOf(
  { placerOrderNumber, fillerNumber, refusal, order }: CancelAnswer,
  group: OrderGroup | undefined,
  placer: OutSegment[1],
  { echo }: Original,
  profile: Hl7Profile,
  at: string,
): OutSegment {
  const { namespace } = profile.results;
  const known = order?.requestId ?? order?.procedureId;
  const own = known === undefined ? undefined : `${order?.requestId === undefined ? "P" : "R"}${known}`;
  const named = fillerNumber && `${fillerNumber.kind === "request" ? "R" : "P"}${fillerNumber.id}`;
  const filler = own ?? named;
  const blank = [undefined, undefined, undefined];
  return [
    "ORC",
    refusal ? UNABLE_TO_CANCEL : CANCELLED_AS_REQUESTED,
    placer ?? placerOrderNumber,
    echo.field(group?.orc, 3) ?? (filler === undefined ? undefined : [filler, namespace]),
    echo.field(group?.orc, 4),
    refusal ? statusOf({ refusal, order }, profile) : STATUS_CANCELLED,
    ...blank,
    at,
    ...blank,
    ...blank,
    refusal && [refusal.code, refusal.text, "L"],
  ];
}

/** ORC-5 of an order that goes on, or ended otherwise; of one that there is not, table 0038 has a value of its own. */
function statusOf(
  { refusal, order }: Pick<CancelAnswer, "refusal" | "order">,
  profile: Hl7Profile,
): string | undefined {
  if (refusal?.code === "CANCEL_ORDER_UNKNOWN") return STATUS_ORDER_NOT_FOUND;
  return order && statusCodes(order.state, profile.results).orderStatus;
}

function nameOf({ placerOrderNumber, fillerNumber }: CancelAnswer): string {
  if (placerOrderNumber !== undefined) return `order ${placerOrderNumber}`;
  return fillerNumber ? `${fillerNumber.kind} ${fillerNumber.id}` : "the order";
}

/** None where a newer profile reads the message otherwise. */
function tryFindGroups(
  message: NonNullable<Original["message"]>,
  profile: Hl7Profile,
  answer: CancelAnswer,
): OrderGroup[] {
  try {
    return findCancelGroups(message, profile, answer);
  } catch {
    return [];
  }
}
