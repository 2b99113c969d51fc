/**
 * The life of an order in the ledger.
 *
 * - `received`: mapped and durable, waiting for its turn in its lane.
 * - `submitting`: owned by a worker; or with a call that may have left, and is looked for at the service.
 * - `submitted`: the service has the procedure request, or on the external surface the procedure; staff are to act.
 * - `accepted`: staff accepted it; a procedure exists and waits for a device.
 * - `in_progress`: a device runs the procedure.
 * - `completed`, `rejected`, `failed`: the service's last word; `failed` also where it has no call for what is asked.
 * - `cancelled`: at the service, or here before anything was sent.
 * - `parked`: needs a person; carries a failure code.
 * - `discarded`: a person decided that it will not be done.
 */
export const ORDER_STATES = [
  "received",
  "submitting",
  "submitted",
  "accepted",
  "in_progress",
  "completed",
  "rejected",
  "cancelled",
  "failed",
  "parked",
  "discarded",
] as const;
export type OrderState = (typeof ORDER_STATES)[number];

/** States that nothing leaves by itself. */
export const TERMINAL_STATES = [
  "completed",
  "rejected",
  "cancelled",
  "failed",
  "discarded",
] as const satisfies readonly OrderState[];
export type TerminalState = (typeof TERMINAL_STATES)[number];

/** Ends that left nothing done. */
const WITHOUT_EFFECT: ReadonlySet<OrderState> = new Set(["rejected", "cancelled", "failed", "discarded"]);

/** States in which the service is followed by polling. */
export const TRACKED_STATES = [
  "submitted",
  "accepted",
  "in_progress",
] as const satisfies readonly OrderState[];

const NEXT: Readonly<Record<OrderState, readonly OrderState[]>> = {
  received: ["submitting", "cancelled", "parked", "discarded"],
  submitting: ["submitted", "completed", "received", "cancelled", "failed", "parked"],
  submitted: ["accepted", "in_progress", "completed", "rejected", "cancelled", "failed", "parked"],
  accepted: ["in_progress", "completed", "rejected", "cancelled", "failed", "parked"],
  in_progress: ["completed", "rejected", "cancelled", "failed", "parked"],
  completed: [],
  rejected: [],
  cancelled: [],
  failed: ["received", "discarded"],
  parked: ["received", "submitting", "submitted", "cancelled", "discarded"],
  discarded: [],
};

/** Whether an order may go from one state to another. Forward jumps while tracked are allowed; going back is not. */
export function mayMove(from: OrderState, to: OrderState): boolean {
  return NEXT[from].includes(to);
}

/** Whether the order has reached its end. */
export function isTerminal(state: OrderState): state is TerminalState {
  return (TERMINAL_STATES as readonly OrderState[]).includes(state);
}

/** The states of orders that haven't ended. */
export const OPEN_STATES: readonly OrderState[] = ORDER_STATES.filter((state) => !isTerminal(state));

/** Whether the order has ended and nothing of it was done. */
export function endedWithoutEffect(state: OrderState): boolean {
  return WITHOUT_EFFECT.has(state);
}
