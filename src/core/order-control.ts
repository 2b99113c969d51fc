import type { FailureCode } from "./failures.ts";
import type { AssigningAuthority, Order } from "./order.ts";
import { isTerminal, type OrderState } from "./order-state.ts";
import type { Phi } from "./phi.ts";

/**
 * What a message can ask of an order that came before (ORC-1, table 0119): CA, DC, HD, RL, XO, RP and SS. The last one
 * asks how the order stands and changes nothing.
 */
export const CONTROLS = ["cancel", "discontinue", "hold", "release", "change", "replace", "status"] as const;
export type Control = (typeof CONTROLS)[number];

/** A number that we gave an order: `R` and the request's id, or `P` and the procedure's (ORC-3 of our results). */
export interface FillerNumber {
  readonly kind: "request" | "procedure";
  readonly id: number;
}

/** What a message asks of an order that it names. It has a placer order number, a filler number, or both. */
export interface ControlRequest {
  readonly control: Control;
  /** ORC-2, or the CSV's `order_number`. */
  readonly placerOrderNumber?: string | undefined;
  /** Who assigned that number, where the message says so. */
  readonly placerAuthority?: AssigningAuthority | undefined;
  /** ORC-3 where it is one of ours. */
  readonly fillerNumber?: FillerNumber | undefined;
  /** Where the message names the subject, the order must be that subject's. */
  readonly subjectCode?: Phi | undefined;
  /** What the order is to ask for from now on; there for `change` and `replace`, and only there. */
  readonly content?: Order | undefined;
}

/** Why a request isn't granted, in words for the lab; no patient's values. */
export interface ControlRefusal {
  readonly code: FailureCode;
  readonly text: string;
}

/** What of an order decides whether a request can be granted. */
export interface ControlFacts {
  readonly state: OrderState;
  /** The service has a request or procedure of it. */
  readonly isAtService: boolean;
  /** A call that changes the service may be under way, and nobody knows yet what it did. */
  readonly isCalled: boolean;
  /** The ledger is an older copy, and may have forgotten a call for what the order asks for now. */
  readonly mayBeForgotten?: boolean | undefined;
  /** The lab has put it on hold. */
  readonly isHeld?: boolean | undefined;
  /** It asks already for what a change or replacement wants it to ask for. */
  readonly isSame?: boolean | undefined;
}

/** What is done to an order of which nothing was sent. */
export type ControlAct = "cancel" | "hold" | "release" | "change";

/** What follows a request. */
type ControlDecision =
  /** Nothing was sent of the order: what is asked for is done here. */
  | { readonly kind: "act"; readonly act: ControlAct }
  /** A cancellation: a call may be under way, or a person looks into what it did. Decided once that is known. */
  | ({ readonly kind: "wait" } & Forgotten)
  /** A cancellation of what the service has: its cancel call is made. */
  | { readonly kind: "call" }
  /** The order is as requested already; or its state was asked for. */
  | { readonly kind: "done" }
  /** The order goes on as it is, or has ended. */
  | ({ readonly kind: "unable"; readonly refusal: ControlRefusal } & Forgotten);

/** Of an order that a call may have left of which a restored ledger doesn't know: the service is looked at for it at once. */
interface Forgotten {
  readonly isForgotten?: boolean | undefined;
}

/** A control that would change something. */
type ChangingControl = Exclude<Control, "status">;

export const ACT_BY_CONTROL = {
  cancel: "cancel",
  discontinue: "cancel",
  hold: "hold",
  release: "release",
  change: "change",
  replace: "change",
} as const satisfies Record<ChangingControl, ControlAct>;

/** Whether the order is not to be done: what alone may stay open, and for which alone the service may offer a call. */
export function isCancelling(control: Control): control is "cancel" | "discontinue" {
  return control === "cancel" || control === "discontinue";
}

/**
 * Decides about a request by the order as it stands at this moment. Only a cancellation is ever left open. What the service
 * has, or may have, is never touched here: it offers no call to hold, release or change an order.
 *
 * @param order undefined when there is none of that number
 * @param isCallOffered whether the site configured the service's cancel call for the order's surface
 */
export function decideControl(
  control: Control,
  order: ControlFacts | undefined,
  isCallOffered: boolean,
): ControlDecision {
  if (order === undefined) return unable(control, "ORDER_UNKNOWN", "there is no such order");
  if (control === "status") return { kind: "done" };
  const { state, isAtService, isCalled } = order;
  if (isTerminal(state)) {
    if (state === "cancelled" && isCancelling(control)) return { kind: "done" };
    return unable(
      control,
      "TOO_LATE",
      `${ENDED[state] ?? "the order had ended"} before ${becoming(control)}`,
    );
  }
  const act = ACT_BY_CONTROL[control];
  if (act === "change" && order.isSame === true) return { kind: "done" };
  const isHeld = order.isHeld === true;
  // Also while a refused call of it is checked: it stays on hold meanwhile, and nothing but reads leave.
  if (act === "hold" && isHeld && !isAtService) return { kind: "done" };
  // What the service has of a parked order may belong to another one: a person looks into it first.
  const isUnclear = isAtService ? state === "parked" : isCalled;
  if (isUnclear && isCancelling(control)) return { kind: "wait" };
  if (isUnclear) return unable(control, "UNDER_WAY", UNDER_WAY[state === "parked" ? "parked" : "submitting"]);
  // One that is released is looked for before it is sent.
  const isForgotten = order.mayBeForgotten === true && act !== "release";
  if (isForgotten && isCancelling(control)) return { kind: "wait", isForgotten };
  if (isForgotten)
    return { kind: "unable", refusal: { code: "CONTROL_UNDER_WAY", text: UNDER_WAY.forgotten }, isForgotten };
  if (isAtService) {
    if (isCancelling(control) && isCallOffered) return { kind: "call" };
    return unable(control, "NOT_OFFERED", NOT_OFFERED[control]);
  }
  if (act === "release" && !isHeld) return { kind: "done" };
  return { kind: "act", act };
}

/** What a request wants to be done to the order, in words. */
export const DONE: Readonly<Record<ChangingControl, string>> = {
  cancel: "cancelled",
  discontinue: "discontinued",
  hold: "put on hold",
  release: "released",
  change: "changed",
  replace: "replaced",
};

const becoming = (control: ChangingControl) => `it could be ${DONE[control]}`;

const UNDER_WAY = {
  submitting:
    "a call to the storage service is under way, so nothing was changed; send the request again once the order has been answered",
  forgotten:
    "the storage service is being asked whether it has the order already, so nothing was changed; send the request again in a few minutes",
  parked:
    "an operator is finding out what the storage service has of the order, so nothing was changed; send the request again once the order has been answered",
};

const STAFF = "only the facility's staff can still stop it";
const NOT_OFFERED: Readonly<Record<ChangingControl, string>> = {
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

/** Why a request is refused; cancelling has codes of its own. */
type ControlRefusalKind = "ORDER_UNKNOWN" | "ORDER_AMBIGUOUS" | "ORDER_DIFFERS" | "TOO_LATE" | "NOT_OFFERED";

/** The refusal of a request under the code that fits what it asked for. */
export function refuseControl(control: Control, kind: ControlRefusalKind, text: string): ControlRefusal {
  return { code: isCancelling(control) ? `CANCEL_${kind}` : `CONTROL_${kind}`, text };
}

function unable(control: Control, kind: ControlRefusalKind | "UNDER_WAY", text: string): ControlDecision {
  const refusal =
    kind === "UNDER_WAY"
      ? ({ code: "CONTROL_UNDER_WAY", text } as const)
      : refuseControl(control, kind, text);
  return { kind: "unable", refusal };
}
