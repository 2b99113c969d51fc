import { buildMessage, type SegmentSpec } from "../../formats/hl7/encode.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import { NO_NUMBERS, numberFields } from "../inbound/number-place.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { answeredOrders, answerNotes, type MessageAnswer, ON_HOLD } from "./answer-hl7.ts";
import type { Original } from "./original.ts";
import { labPhrase } from "./reasons.ts";
import { blank, DEFAULT_VERSION, reportObr, statusCodes, statusHeader } from "./result-parts.ts";
import { statusWord } from "./status-word.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/** OBR-4 where the message says nothing of what was ordered. */
const ANSWER = ["MESSAGE", "Answer to a message", "L"];

const STATUS = ["CRYO-STATUS", "Order status", "L"];
const MESSAGE = ["CRYO-MESSAGE", "Control id of the order's message", "L"];

const WORDS = {
  acknowledged: "Received",
  refused: "Refused; nothing was done",
  waiting: "On hold, nothing was done yet",
} as const;

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
): string {
  const { message, echo, header } = original;
  const { results } = profile;
  const version = header.version ?? DEFAULT_VERSION;
  const at = formatHl7Timestamp(outcome.occurredAt, results.timeZone);
  const { groups, unnamed, reasonsFor, orcOf, isOfEarlierOnly } = answeredOrders(outcome, original, profile);
  const onHold = outcome.kind === "waiting" ? `${labPhrase(results.reasons, "onHold", ON_HOLD)}: ` : "";
  const notesOf = (group: OrderGroup | undefined): string[] => [
    ...reasonsFor(group).map(({ text }, n) => (n === 0 ? `${onHold}${text}` : text)),
    ...answerNotes(outcome, profile, isOfEarlierOnly),
  ];
  // How an order stands that came again is reported by messages of its own, which this one may follow.
  const isRepeat = outcome.kind === "acknowledged" && outcome.isDuplicate;
  const resultStatus = isRepeat ? undefined : statusCodes(outcome.kind, results).resultStatus;
  const below = (group: OrderGroup | undefined, index: number): SegmentSpec[] => {
    const isNamed = group !== undefined && !unnamed.has(group);
    const numbers = isNamed ? numberFields(group, undefined, echo, profile) : NO_NUMBERS;
    const service = echo.field(group?.obrs[0], 4) ?? ANSWER;
    const { kind } = outcome;
    const word =
      (kind === "acknowledged" ? undefined : statusWord(results.words, kind, undefined)) ?? WORDS[kind];
    return [
      reportObr({ setId: index + 1, numbers, filler: numbers.filler, service, at, resultStatus }),
      ...notesOf(group).map((note, n) => ["NTE", n + 1, "L", note] as const),
      observation(1, "ST", MESSAGE, header.messageControlId, at),
      ...(isRepeat ? [] : [observation(2, "TX", STATUS, word, at)]),
    ];
  };
  const pid = message?.first("PID");
  return buildMessage(
    [
      statusHeader({ outcome, original, at, version, format }),
      ...(pid === undefined ? [] : [echo.segment(pid)]),
      ...(groups.length === 0
        ? below(undefined, 0)
        : [...groups, ...unnamed].flatMap((group, index) => [
            ...(unnamed.has(group) ? [] : [orcOf(group)]),
            ...below(group, index),
          ])),
    ],
    { delimiters: echo.delimiters },
  );
}

/** OBX-11 is F: it is the last word of this message. */
function observation(
  n: number,
  type: string,
  code: readonly string[],
  value: string | undefined,
  at: string,
): SegmentSpec {
  return ["OBX", n, type, code, undefined, value, ...blank(5), "F", ...blank(2), at];
}
