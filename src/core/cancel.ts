import type { FailureCode } from "./failures.ts";
import type { OrderState } from "./order-state.ts";
import { isTerminal } from "./order-state.ts";
import type { OutcomeOrder } from "./outcome.ts";
import type { Phi } from "./phi.ts";

/** A number that we gave an order: `R` and the request's id, or `P` and the procedure's (ORC-3 of our results). */
export interface FillerNumber {
  readonly kind: "request" | "procedure";
  readonly id: number;
}

/** A message's wish that an order it names be not done. It has a placer order number, a filler number, or both. */
export interface CancelWish {
  /** ORC-2, or the CSV's `order_number`. */
  readonly placerOrderNumber?: string | undefined;
  /** ORC-3 where it is one of ours. */
  readonly fillerNumber?: FillerNumber | undefined;
  /** Where the message names the subject, the order must be that subject's. */
  readonly subjectCode?: Phi | undefined;
}

/** Why an order can't be cancelled, in words for the lab; no patient's values. */
export interface CancelRefusal {
  readonly code: FailureCode;
  readonly text: string;
}

/** What became of a wish, as the lab is told. */
export interface CancelAnswer {
  readonly placerOrderNumber?: string | undefined;
  readonly fillerNumber?: FillerNumber | undefined;
  /** Absent: cancelled as requested. */
  readonly refusal?: CancelRefusal | undefined;
  /** The order as it stood then; absent where there is none, or where the wish was not about its subject. */
  readonly order?: OutcomeOrder | undefined;
}

/** What of an order decides whether it can be cancelled. */
export interface CancelFacts {
  readonly state: OrderState;
  /** The service has a request or procedure of it. */
  readonly isAtService: boolean;
  /** A call that changes the service may be under way, and nobody knows yet what it did. */
  readonly hasIntent: boolean;
}

/** What follows a wish to cancel an order. */
export type CancelDecision =
  /** Nothing has left and nothing will: it is cancelled here. */
  | { readonly kind: "cancel" }
  /** A call may be under way, or a person looks into what it did: decided again when that is settled. */
  | { readonly kind: "wait" }
  /** The service has it, and its call to cancel is made. */
  | { readonly kind: "call" }
  /** It is cancelled already. */
  | { readonly kind: "done" }
  /** The order goes on, or has ended otherwise. */
  | { readonly kind: "unable"; readonly refusal: CancelRefusal };

/**
 * Decides about a wish to cancel an order as it stands at this moment.
 *
 * @param order undefined when there is none of that number
 * @param isCallOffered whether the site configured the service's cancel call for the order's surface
 */
export function decideCancel(order: CancelFacts | undefined, isCallOffered: boolean): CancelDecision {
  if (order === undefined) return unable("CANCEL_ORDER_UNKNOWN", "there is no such order");
  if (order.state === "cancelled") return { kind: "done" };
  if (isTerminal(order.state)) return unable("CANCEL_TOO_LATE", ENDED[order.state] ?? "the order has ended");
  // What a person has to look into first may belong to another order at the service.
  if (order.state === "parked" && (order.isAtService || order.hasIntent)) return { kind: "wait" };
  if (order.isAtService) {
    if (isCallOffered) return { kind: "call" };
    return unable(
      "CANCEL_NOT_OFFERED",
      "the storage service has the order and offers no call to cancel it, so the order goes on; only the facility's staff can still stop it",
    );
  }
  return order.hasIntent ? { kind: "wait" } : { kind: "cancel" };
}

const ENDED: Readonly<Partial<Record<OrderState, string>>> = {
  completed: "the order was completed before it could be cancelled",
  rejected: "the facility's staff had rejected the order before it could be cancelled",
  failed: "the order had failed before it could be cancelled",
  discarded: "an operator had discarded the order before it could be cancelled",
};

function unable(code: FailureCode, text: string): CancelDecision {
  return { kind: "unable", refusal: { code, text } };
}
