import { Failure } from "../../core/failures.ts";
import type { Outcome, OutcomeOrder } from "../../core/outcome.ts";
import type { Encoding } from "../../formats/encoding.ts";
import { encodeHl7 } from "../../formats/hl7/encode.ts";
import { orderGroups, sharedSegments } from "../../formats/hl7/groups.ts";
import type { Hl7Message, Segment } from "../../formats/hl7/message.ts";
import { findMergeSegments } from "../inbound/merge-hl7.ts";
import { orderGroupsByNumber } from "../inbound/order-hl7.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { type Fillings, overrideFields } from "./field-overrides.ts";
import type { Original } from "./original.ts";
import { problemInWords } from "./reasons.ts";
import { fillerOrderNumber } from "./result-parts.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/** A composed message with the fields that the profile wants otherwise (`results.fields`). */
export function withSiteFields(
  text: string,
  outcome: Outcome,
  original: Original,
  profile: Hl7Profile,
): string {
  const { fields = [], timeZone } = profile.results;
  if (fields.length === 0) return text;
  const order = orderOf(outcome);
  const { message } = original;
  let scope: readonly Segment[] | undefined;
  return overrideFields(text, fields, {
    state: outcome.kind === "changed" ? outcome.order.state : outcome.kind,
    order,
    reason: reasonOf(outcome, profile),
    fillerOrderNumber: order && fillerOrderNumber(order),
    time: formatHl7Timestamp(outcome.occurredAt, timeZone),
    timeZone,
    hasContainers: outcome.kind === "changed",
    find: (path) => {
      if (message === undefined) return undefined;
      scope ??= scopeOf(message, order, profile);
      return message.get(path, scope);
    },
  });
}

/** An answer to a message with several orders is about none of them alone. */
function orderOf(outcome: Outcome): OutcomeOrder | undefined {
  switch (outcome.kind) {
    case "changed":
      return outcome.order;
    case "acknowledged":
      return outcome.orders.length === 1 ? outcome.orders[0] : undefined;
    default:
      return undefined;
  }
}

/** Why it isn't done: of the order, of the message, or of the one request that is answered. */
function reasonOf(outcome: Outcome, { results: { reasons } }: Hl7Profile): Fillings["reason"] {
  switch (outcome.kind) {
    case "refused":
    case "waiting": {
      const text = outcome.problems.map((problem) => problemInWords(problem, reasons)).join("; ");
      return { code: outcome.problems[0]?.code, text };
    }
    case "control":
      return outcome.answers.length === 1 ? outcome.answers[0]?.refusal : undefined;
    default:
      return orderOf(outcome)?.reason;
  }
}

/** What a value may be read from: never the segments of another order of the same message. */
function scopeOf(
  message: Hl7Message,
  order: OutcomeOrder | undefined,
  profile: Hl7Profile,
): readonly Segment[] {
  if (order?.operation === "MERGE") return findMergeSegments(message, profile, order) ?? message.all("MSH");
  try {
    const groups = orderGroups(message);
    if (groups.length <= 1) return message.segments;
    const number = order?.placerOrderNumber;
    const own = number === undefined ? [] : (orderGroupsByNumber(message, profile).get(number) ?? []);
    return [...own.flatMap(({ segments }) => segments), ...sharedSegments(message)];
  } catch {
    // It isn't known what belongs to which order, so only the header is safe.
    return message.all("MSH");
  }
}

/**
 * The bytes of an answer to a message. Its sender waits for it, so where the character set of the results can't hold
 * what it has to repeat, it goes out in that of the message itself, or else in UTF-8, as its own MSH-18 then says.
 *
 * @param compose the text of the answer, to the message as it is given
 */
export function encodeAnswer(original: Original, compose: (original: Original) => string): Buffer {
  const encode = (from: Original) => tryToEncode(compose(from), from.charset.encoding);
  return (
    encode(original) ??
    encode(original.writtenIn("as-received")) ??
    Buffer.from(compose(original.writtenIn("utf-8")), "utf8")
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
