import type { Control } from "../../core/order-control.ts";
import type { ControlAnswer } from "../../core/outcome.ts";
import type { Decision } from "../profile/results-schema.ts";

const DECISIONS: Readonly<Record<Control, readonly [granted: Decision | undefined, refused: Decision]>> = {
  cancel: ["cancelled", "cancel_refused"],
  discontinue: ["cancelled", "cancel_refused"],
  hold: ["held", "hold_refused"],
  release: ["released", "release_refused"],
  change: ["changed", "change_refused"],
  replace: ["replaced", "replace_refused"],
  status: [undefined, "status_refused"],
};

/** What was decided of a request, in one word; undefined of a question for the state that has an answer. */
export function decisionOf({ control, refusal }: ControlAnswer): Decision | undefined {
  const [granted, refused] = DECISIONS[control];
  return refusal === undefined ? granted : refused;
}

/**
 * What became of a request, in one word: the column `status` of CSV results, and `{state}` in fields of HL7. A question for the
 * state gets that of the order.
 */
export function controlEnd(answer: ControlAnswer): string {
  const { order } = answer;
  return decisionOf(answer) ?? (order?.isHeld === true ? "held" : (order?.state ?? ""));
}
