import type { Outcome, OutcomeOrder } from "../../core/outcome.ts";
import type { AckWants } from "../../formats/hl7/ack.ts";
import { encodeHl7 } from "../../formats/hl7/encode.ts";
import { composeAnswer } from "./answer-hl7.ts";
import { assemble } from "./echo.ts";
import { resultFileName } from "./file-name.ts";
import { writtenNumbers } from "../inbound/number-place.ts";
import { isAnswer, type Original, readOriginal } from "./original.ts";
import { type Hl7Profile, isTold, type Profile } from "../profile/profile.ts";
import { orderStatus } from "./result-order.ts";
import { statusContext } from "./result-parts.ts";
import { specimenStatus } from "./result-ssu.ts";
import { withoutNumber } from "./shared-number.ts";
import { withSiteFields } from "./site-fields.ts";
import { composeWishAnswer } from "./wish-answer-hl7.ts";
import { encodeAnswer } from "./written.ts";

/**
 * The HL7 message that tells the lab about an outcome, as a file to deliver; undefined when the profile does not tell
 * it, or when there was no readable MSH to answer. The same outcome gives the same bytes, whenever it is composed.
 *
 * @throws Failure RESULT_NOT_ENCODABLE for a result that the character set of the results can't hold; answers to messages
 * go out in another one then
 */
export function composeHl7(
  outcome: Outcome,
  profile: Profile,
): { fileName: string; bytes: Buffer } | undefined {
  if (profile.format !== "hl7") return undefined;
  const original = readOriginal(outcome.message, profile.results);
  if (!isComposed(outcome, original, profile)) return undefined;
  const compose = (from: Original) =>
    withoutSharedNumbers(
      withSiteFields(composeText(outcome, from, profile), outcome, from, profile),
      outcome,
      from,
      profile,
    );
  const bytes =
    outcome.kind === "changed"
      ? encodeHl7(compose(original), original.charset.encoding)
      : encodeAnswer(original, compose);
  return { fileName: resultFileName(outcome), bytes };
}

/** Whether the lab is told, and there is something to answer to. */
function isComposed(outcome: Outcome, original: Original, profile: Hl7Profile): boolean {
  // Who wants something of an earlier order is always told what became of it.
  if (outcome.kind === "control") return true;
  if (!isTold(profile, outcome.kind === "changed" ? outcome.order.state : outcome.kind)) return false;
  return outcome.kind === "changed" || (original.isAnswerable && !isAnswer(original, profile.accept));
}

function composeText(outcome: Outcome, original: Original, profile: Hl7Profile): string {
  if (outcome.kind === "control") return composeWishAnswer(outcome, original, profile);
  if (outcome.kind === "changed") {
    const context = statusContext(outcome, original, profile);
    const segments = context.format === "ssu" ? specimenStatus(context) : orderStatus(context);
    return assemble(segments, original.echo.delimiters);
  }
  return composeAnswer(outcome, original, profile, wantsApplicationAck(original) ? ACCEPT_ACK : undefined);
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
 * The application acknowledgement of enhanced mode begins an exchange of its own: it is acknowledged when it is accepted,
 * and never more than that (HL7 chapter 2.9.3).
 */
const ACCEPT_ACK: AckWants = { accept: "AL", application: "NE" };

function wantsApplicationAck({ header }: Original): boolean {
  return header.applicationAckType !== undefined && header.applicationAckType !== "NE";
}
