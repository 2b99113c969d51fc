import { type Control, DONE } from "../../core/order-control.ts";
import type { ControlAnswer, Outcome } from "../../core/outcome.ts";
import { buildMessage, type SegmentSpec } from "../../formats/hl7/encode.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { controlNumbers, findAnswered, orcOf } from "./control-answer-hl7.ts";
import { Observations, observe } from "./observations.ts";
import type { Original } from "./original.ts";
import { decisionOf, labPhrase } from "./reasons.ts";
import {
  DEFAULT_VERSION,
  reportObr,
  SERVICE_BY_OPERATION,
  statusCodes,
  statusHeader,
} from "./result-parts.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

type Answered = readonly [answer: ControlAnswer, group: OrderGroup | undefined];

/** What the parts of one message have in common. */
interface Context {
  readonly original: Original;
  readonly profile: Hl7Profile;
  readonly version: string;
  readonly at: string;
}

/**
 * The answer to a message's requests about earlier orders as a result, for labs that take nothing else: ORU^R01, or ORM^O01,
 * with an ORC and an OBR for each order. ORC-1 and ORC-16 are those of the order response; the decision stands in an OBX too.
 */
export function composeControlResult(
  outcome: Extract<Outcome, { kind: "control" }>,
  original: Original,
  profile: Hl7Profile,
): string {
  const { results } = profile;
  const version = original.header.version ?? DEFAULT_VERSION;
  const at = formatHl7Timestamp(outcome.occurredAt, results.timeZone);
  // SSU is about containers and has no place for a decision.
  const format = results.format === "ssu" ? "oru" : results.format;
  const context = { original, profile, version, at };
  const { answerByGroup, unseen } = findAnswered(outcome.answers, original, profile);
  const answered: Answered[] = [
    ...[...answerByGroup].map(([group, answer]) => [answer, group] as const),
    ...unseen.map((answer) => [answer, undefined] as const),
  ];
  let setId = 0;
  const segments: SegmentSpec[] = [statusHeader({ outcome, original, at, version, format })];
  const pid = original.message?.first("PID");
  if (pid !== undefined) segments.push(original.echo.segment(pid));
  // Without one in the message each order is its own subject's, and an order that there is not is nobody's.
  const byPatient =
    pid !== undefined
      ? new Map([[undefined, answered]])
      : Map.groupBy(withoutOrderFirst(answered), ([{ order }]) => order?.subjectCode.reveal());
  for (const [patient, own] of byPatient) {
    if (patient !== undefined) segments.push(["PID", 1, undefined, patient]);
    for (const [answer, group] of own) {
      setId += 1;
      segments.push(...reportAnswer(answer, group, setId, context));
    }
  }
  return buildMessage(segments, { delimiters: original.echo.delimiters });
}

/** Below the PID of another order they would be read as that patient's. */
function withoutOrderFirst(answered: readonly Answered[]): Answered[] {
  return answered.toSorted(
    ([one], [other]) => Number(one.order !== undefined) - Number(other.order !== undefined),
  );
}

/** ORC, OBR, the reason in NTE, and OBX. */
function reportAnswer(
  answer: ControlAnswer,
  group: OrderGroup | undefined,
  setId: number,
  context: Context,
): SegmentSpec[] {
  const { control, refusal, order } = answer;
  const { original, profile, at } = context;
  const { numbers, filler } = controlNumbers(answer, group, original.echo, profile);
  const service = order === undefined ? REQUESTED[control] : SERVICE_BY_OPERATION[order.operation];
  const codes = order && statusCodes(order.state, profile.results);
  return [
    orcOf(answer, group, original, profile, at),
    reportObr({
      ...{ setId, numbers, filler, at },
      service: original.echo.field(group?.obrs[0], 4) ?? service,
      resultStatus: order === undefined ? NO_ORDER : (codes?.resultStatus ?? RECEIVED),
    }),
    ...(refusal === undefined ? [] : [["NTE", 1, "L", refusal.text] as const]),
    ...numbered([...decisionObx(answer, context), ...observeOrder(answer, context)]),
  ];
}

/** How the order stands; what is known of its containers answers only a question for that. */
function observeOrder({ control, order }: ControlAnswer, { profile, version, at }: Context): SegmentSpec[] {
  if (order === undefined) return [];
  const { timeZone, words } = profile.results;
  const settings = { timeZone, words, version, at, messageControlId: undefined };
  if (control === "status") return observe(order, settings);
  const observations = new Observations(order, settings);
  observations.addOrder();
  return observations.segments;
}

/** OBR-25 (table 0123): no order on record. */
const NO_ORDER = "Y";
/** OBR-25 of an order of which nothing was sent yet. */
const RECEIVED = "O";

/** OBR-4 where neither the message nor an order says what was ordered. */
const REQUESTED: Readonly<Record<Control, readonly [string, string, "L"]>> = {
  cancel: ["CANCEL", "Cancellation of an order", "L"],
  discontinue: ["DISCONTINUE", "Discontinuation of an order", "L"],
  hold: ["HOLD", "Hold of an order", "L"],
  release: ["RELEASE", "Release of an order", "L"],
  change: ["CHANGE", "Change of an order", "L"],
  replace: ["REPLACE", "Replacement of an order", "L"],
  status: ["STATUS", "Status of an order", "L"],
};

/** The decision in words, which is final (OBX-11). */
function decisionObx(answer: ControlAnswer, { profile, at }: Context): SegmentSpec[] {
  const { control, refusal } = answer;
  const decision = decisionOf(answer);
  if (decision === undefined) return [];
  const done = control === "status" ? "reported" : DONE[control];
  const shipped = refusal === undefined ? `The order is ${done}` : `The order is not ${done}`;
  const { reasons } = profile.results;
  // Beside a reason in the lab's words the shipped sentence would be of another language.
  const said =
    reasons === undefined || refusal === undefined
      ? labPhrase(reasons, decision, shipped)
      : reasons[decision];
  const words = [...(said === undefined ? [] : [said]), ...(refusal ? [refusal.text] : [])];
  const code = ["CRYO-REQUEST", "Decision on the request", "L"];
  return [["OBX", 1, "TX", code, undefined, words.join(": "), ...NONE, "F", undefined, undefined, at]];
}

/** OBX-6 to OBX-10. */
const NONE = new Array<undefined>(5).fill(undefined);

/** OBX-1 counts them all. */
function numbered(segments: readonly SegmentSpec[]): SegmentSpec[] {
  return segments.map(([name, , ...fields], index) => [name, index + 1, ...fields]);
}
