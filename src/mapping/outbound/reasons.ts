import type { FailureCode } from "../../core/failures.ts";
import type { Outcome, OutcomeOrder } from "../../core/outcome.ts";
import type { ResultSettings } from "../profile/profile.ts";

/** What of an outcome has words for people in it. */
type Answer = Outcome | Extract<Outcome, { kind: "acknowledged" | "refused" | "waiting" }>;

/**
 * An outcome with its reasons in the lab's words, where the profile has some for their failure code. The codes stay, and so
 * do places and the words of people, which have no code.
 */
export function inLabWords<T extends Answer>(outcome: T, { reasons }: Pick<ResultSettings, "reasons">): T {
  if (reasons === undefined) return outcome;
  const word = (code: FailureCode | undefined, text: string) => labWords(reasons, code, text);
  const ofOrder = (order: OutcomeOrder): OutcomeOrder =>
    order.reason === undefined
      ? order
      : { ...order, reason: { ...order.reason, text: word(order.reason.code, order.reason.text) } };
  switch (outcome.kind) {
    case "acknowledged":
      return { ...outcome, orders: outcome.orders.map(ofOrder) };
    case "changed":
      return { ...outcome, order: ofOrder(outcome.order) };
    case "refused":
    case "waiting":
      return {
        ...outcome,
        problems: outcome.problems.map((problem) => ({
          ...problem,
          message: word(problem.code, problem.message),
        })),
      };
    case "control":
      return {
        ...outcome,
        answers: outcome.answers.map(({ refusal, order, ...answer }) => ({
          ...answer,
          refusal: refusal && { ...refusal, text: word(refusal.code, refusal.text) },
          order: order && ofOrder(order),
        })),
      };
  }
}

/** A reason in the lab's words where the profile has some for its code. */
export function labWords(
  reasons: ResultSettings["reasons"],
  code: FailureCode | undefined,
  text: string,
): string {
  const words = code === undefined || reasons === undefined ? undefined : reasons[code];
  return words === undefined ? text : words.replaceAll("{text}", () => text);
}
