import { inSequence } from "../../core/lab-text.ts";
import type { Outcome, OutcomeOrder } from "../../core/outcome.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { type Fillings, overrideFields } from "./field-overrides.ts";
import type { Original } from "./original.ts";
import { controlEnd, problemInWords, worded } from "./reasons.ts";
import { fillerOrderNumber } from "./result-hl7.ts";
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
  const { state, order, orderNumber, reason } = subjectOf(outcome, profile);
  const found = original.foundOf(order);
  return overrideFields(text, fields, {
    state,
    order,
    orderNumber,
    reason,
    fillerOrderNumber: order && fillerOrderNumber(order),
    time: formatHl7Timestamp(outcome.occurredAt, timeZone),
    timeZone,
    hasContainers:
      outcome.kind === "changed" ||
      (outcome.kind === "control" && profile.results.controlAnswers === "result"),
    find: ({ path }, container) => {
      if (container === undefined) return found?.order[path];
      const own = found?.containers.find(([label]) => label === container.label);
      return (own?.[1] ?? found?.other)?.[path];
    },
  });
}

/** What fields are filled with; an answer about several orders is about none of them alone. */
function subjectOf(
  outcome: Outcome,
  { results: { reasons } }: Hl7Profile,
): Pick<Fillings, "state" | "order" | "orderNumber" | "reason"> {
  const ofOrder = (state: string | undefined, order: OutcomeOrder | undefined) => {
    const orderNumber = order?.sharesNumber ? undefined : order?.placerOrderNumber;
    return { state, order, orderNumber, reason: worded(order?.reason, reasons) };
  };
  switch (outcome.kind) {
    case "changed":
      return ofOrder(outcome.order.state, outcome.order);
    case "acknowledged":
      return ofOrder(outcome.kind, outcome.orders.length === 1 ? outcome.orders[0] : undefined);
    case "control": {
      const { answers } = outcome;
      const [answer] = answers;
      const ends = new Set(answers.map(controlEnd));
      const state = ends.size === 1 ? [...ends][0] : undefined;
      if (answer === undefined || answers.length > 1) return ofOrder(state, undefined);
      const { order, placerOrderNumber, refusal } = answer;
      const own = ofOrder(state, order);
      return {
        ...own,
        orderNumber: order?.sharesNumber ? undefined : (placerOrderNumber ?? own.orderNumber),
        reason: worded(refusal, reasons) ?? own.reason,
      };
    }
    default: {
      const { kind, problems } = outcome;
      const text = inSequence(
        problems.map((problem) => problemInWords(problem, reasons)),
        "; ",
      );
      return { ...ofOrder(kind, undefined), reason: { code: problems[0]?.code, text } };
    }
  }
}
