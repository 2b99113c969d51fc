import type { AssigningAuthority } from "./assigning-authority.ts";
import type { FailureCode } from "./failures.ts";
import type { Order } from "./order.ts";
import type { OrderState } from "./order-state.ts";
import { isTerminal } from "./order-state.ts";
import type { OutcomeOrder } from "./outcome.ts";
import type { Phi } from "./phi.ts";

/**
 * What a message can want of an order that came before (ORC-1, table 0119): CA, DC, HD, RL, XO, RP and SS. The last one
 * asks how the order stands and changes nothing.
 */
export const CONTROLS = ["cancel", "discontinue", "hold", "release", "change", "replace", "status"] as const;
export type Control = (typeof CONTROLS)[number];

/** A number that we gave an order: `R` and the request's id, or `P` and the procedure's (ORC-3 of our results). */
export interface FillerNumber {
  readonly kind: "request" | "procedure";
  readonly id: number;
}

/** A message's wish about an order that it names. It has a placer order number, a filler number, or both. */
export interface Wish {
  readonly control: Control;
  /** ORC-2, or the CSV's `order_number`. */
  readonly placerOrderNumber?: string | undefined;
  /** Who assigned that number, where the message tells. */
  readonly placerAuthority?: AssigningAuthority | undefined;
  /** ORC-3 where it is one of ours. */
  readonly fillerNumber?: FillerNumber | undefined;
  /** Where the message names the subject, the order must be that subject's. */
  readonly subjectCode?: Phi | undefined;
  /** What the order is to ask for from now on; there for `change` and `replace`, and only there. */
  readonly content?: Order | undefined;
}

/** Why a wish isn't granted, in words for the lab; no patient's values. */
export interface WishRefusal {
  readonly code: FailureCode;
  readonly text: string;
}

/** What became of a wish, as the lab is told. */
export interface WishAnswer {
  readonly control: Control;
  readonly placerOrderNumber?: string | undefined;
  readonly fillerNumber?: FillerNumber | undefined;
  /** Absent: done as requested. */
  readonly refusal?: WishRefusal | undefined;
  /** The order as it stood then; absent where there is none, or where the wish was not about its subject. */
  readonly order?: OutcomeOrder | undefined;
}

/** What of an order decides whether a wish can be granted. */
export interface WishFacts {
  readonly state: OrderState;
  /** The service has a request or procedure of it. */
  readonly isAtService: boolean;
  /** A call that changes the service may be under way, and nobody knows yet what it did. */
  readonly hasIntent: boolean;
  /** The lab has put it on hold. */
  readonly isHeld?: boolean | undefined;
  /** It asks already for what a change or replacement wants it to ask for. */
  readonly isSame?: boolean | undefined;
}

/** What follows a wish. */
export type WishDecision =
  /** Nothing has left of the order: what is wished is done here. */
  | { readonly kind: "act"; readonly act: WishAct }
  /** A call may be under way, or a person looks into what it did: decided again when that is settled. */
  | { readonly kind: "wait" }
  /** The service has it, and its call to cancel is made. */
  | { readonly kind: "call" }
  /** The order is as it is wished to be; or its state was asked for, and is told. */
  | { readonly kind: "done" }
  /** The order goes on as it is, or has ended. */
  | { readonly kind: "unable"; readonly refusal: WishRefusal };

/** What is done to an order that the service doesn't have. */
export type WishAct = "cancel" | "hold" | "release" | "change";

const ACTS = {
  cancel: "cancel",
  discontinue: "cancel",
  hold: "hold",
  release: "release",
  change: "change",
  replace: "change",
} as const satisfies Record<Exclude<Control, "status">, WishAct>;

/** Whether the wish is to have the order not done: the one kind for which the service may offer a call. */
export function isCancelling(control: Control): control is "cancel" | "discontinue" {
  return control === "cancel" || control === "discontinue";
}

/**
 * Decides about a wish by the order as it stands at this moment. What the service has, or may have, is never touched
 * here: it offers no call to hold, release or change an order.
 *
 * @param order undefined when there is none of that number
 * @param isCallOffered whether the site configured the service's cancel call for the order's surface
 */
export function decideWish(
  control: Control,
  order: WishFacts | undefined,
  isCallOffered: boolean,
): WishDecision {
  if (order === undefined) return unable(control, "ORDER_UNKNOWN", "there is no such order");
  if (control === "status") return { kind: "done" };
  const { state, isAtService, hasIntent } = order;
  if (isTerminal(state)) {
    if (state === "cancelled" && isCancelling(control)) return { kind: "done" };
    return unable(
      control,
      "TOO_LATE",
      `${ENDED[state] ?? "the order had ended"} before it could be ${DONE[control]}`,
    );
  }
  // What a person has to look into first may belong to another order at the service.
  if (state === "parked" && (isAtService || hasIntent)) return { kind: "wait" };
  if (isAtService) {
    if (ACTS[control] === "change" && order.isSame === true) return { kind: "done" };
    if (isCancelling(control) && isCallOffered) return { kind: "call" };
    return unable(control, "NOT_OFFERED", NOT_OFFERED[control]);
  }
  if (hasIntent) return { kind: "wait" };
  if (isSo(control, order)) return { kind: "done" };
  return { kind: "act", act: ACTS[control] };
}

/** Whether the order is already as the wish wants it. */
function isSo(control: Exclude<Control, "status">, { isHeld = false, isSame = false }: WishFacts): boolean {
  switch (ACTS[control]) {
    case "hold":
      return isHeld;
    case "release":
      return !isHeld;
    case "change":
      return isSame;
    case "cancel":
      return false;
  }
}

/** What a wish wants to be done to the order, in words. */
export const DONE: Readonly<Record<Exclude<Control, "status">, string>> = {
  cancel: "cancelled",
  discontinue: "discontinued",
  hold: "put on hold",
  release: "released",
  change: "changed",
  replace: "replaced",
};

const STAFF = "only the facility's staff can still stop it";
const NOT_OFFERED: Readonly<Record<Exclude<Control, "status">, string>> = {
  cancel: `the storage service has the order and offers no call to cancel it, so the order goes on; ${STAFF}`,
  discontinue: `the storage service has the order and offers no call to discontinue it, so the order goes on; ${STAFF}`,
  hold: `the storage service has the order and offers no call to hold it, so the order goes on; ${STAFF}`,
  release: "the order is not on hold: the storage service has it, and it goes on",
  change: `the storage service has the order and offers no call to change it, so the order goes on as it was; ${STAFF}`,
  replace: `the storage service has the order and offers no call to replace it, so the order goes on as it was; ${STAFF}`,
};

const ENDED: Readonly<Partial<Record<OrderState, string>>> = {
  completed: "the order was completed",
  rejected: "the facility's staff had rejected the order",
  cancelled: "the order was cancelled",
  failed: "the order had failed",
  discarded: "an operator had discarded the order",
};

/** Why a wish is refused; cancelling has codes of its own. */
export type RefusalKind = "ORDER_UNKNOWN" | "ORDER_AMBIGUOUS" | "ORDER_DIFFERS" | "TOO_LATE" | "NOT_OFFERED";

/** The refusal of a wish under the code that fits what it wanted. */
export function refuseWish(control: Control, kind: RefusalKind, text: string): WishRefusal {
  return { code: isCancelling(control) ? `CANCEL_${kind}` : `CONTROL_${kind}`, text };
}

function unable(control: Control, kind: RefusalKind, text: string): WishDecision {
  return { kind: "unable", refusal: refuseWish(control, kind, text) };
}
