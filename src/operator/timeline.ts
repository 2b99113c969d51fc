import { DONE } from "../core/order-control.ts";
import { isTerminal, type OrderState } from "../core/order-state.ts";
import type { OrderEvent } from "../ledger/operator/views.ts";
import { localTime, roundToUnit } from "./times.ts";

type Detail = OrderEvent["detail"];

const WORDS: Readonly<Record<string, (detail: Detail) => string>> = {
  received: (detail) => `came in${after(detail.place, " as ")}`,
  repeated: (detail) => `came in once more${after(detail.messageId, " with ")}; nothing was started again`,
  subject_registered: () => "its subject was registered at the service",
  subject_compared: (detail) =>
    `the service knows its subject, and doesn't show the ${text(detail.unshown) ?? "data"}, which could not be compared`,
  registered: () => "the service knows the subject; nothing else was asked for",
  waits: (detail) => `waits for ${text(detail.for) ?? "something else"}`,
  submitted: (detail) => `submitted; the service made ${linkWords(detail) || "a request of unknown number"}`,
  check_failed: (detail) =>
    `the service could not be searched for the lost call${reason(detail)}; it is searched again`,
  unanswered: (detail) =>
    `a call got no definite answer${reason(detail)}; the service is searched for what it did`,
  again: (detail) =>
    `try ${text(detail.attempt) ?? "?"} failed${reason(detail)}; the next${inMs(detail.nextInMs)}`,
  rechecked: (detail) =>
    `checked once more at the service, since it was sent again: ${text(detail.found) ?? "nothing else"}`,
  refused_for_now: (detail) =>
    `try ${text(detail.attempt) ?? "?"} was refused for now${reason(detail)}; the service is checked for it before the next one, which${inMs(detail.nextInMs)}`,
  checked: (detail) => `${checkWords(detail)}; the next check${inMs(detail.nextInMs)}`,
  reconciled: (detail) =>
    detail.isRefused === true
      ? "the service shows nothing of the refused call; the order is sent again"
      : detail.found === "subject"
        ? "the lost call had registered the subject; the order goes on"
        : `the lost call had no effect${after(detail.checks, ", found in ", " checks")}; the order goes on`,
  not_at_service: (detail) =>
    `not at the service, says ${text(detail.actor) ?? "an operator"}${after(detail.reason, ": ")}; a last check found nothing, and the order is sent again`,
  compared: () => "the ledger was restored from an older copy; the service has nothing of the order",
  adopted: (detail) =>
    detail.isRestored === true
      ? `the ledger was restored from an older copy; the service has ${linkWords(detail)}, which is this order's`
      : `the lost call had made ${linkWords(detail)}; it is this order's`,
  status: (detail) => `the service says ${text(detail.status) ?? "nothing new"}`,
  unknown_status: (detail) =>
    `the service gave a status that nobody knows: ${text(detail.status)}; it is followed on`,
  went_back: (detail) => `the service went back to ${text(detail.status)}, which is not believed`,
  missing: (detail) =>
    `the service no longer knows ${after(detail.procedureId, "procedure ") || linkWords(detail)}`,
  accepted: (detail) => `accepted by staff${after(detail.procedureId, "; procedure ")}`,
  in_progress: (detail) => `the device began${after(detail.procedureId, " procedure ")}`,
  completed: (detail) => `completed${reason(detail)}`,
  locating: (detail) => `done at the service; the places of its containers are asked for${reason(detail)}`,
  interrupted: () => "the worker was lost in the middle of it; the order goes on",
  rejected: (detail) => `rejected${reason(detail)}`,
  cancelled: (detail) => `cancelled${reason(detail)}`,
  cancel_asked: (detail) =>
    `to be cancelled, says ${text(detail.by) ?? "the lab"}${after(detail.messageId, " by ")}${after(detail.reason, ": ")}`,
  cancel_called: (detail) => `the service is asked to cancel it${after(detail.attempt, " (call ", ")")}`,
  cancel_refused: (detail) => `not cancelled${reason(detail)}`,
  control_asked: (detail) =>
    `to be ${wanted(detail)}, says ${text(detail.by) ?? "the lab"}${after(detail.messageId, " by ")}`,
  control_refused: (detail) => `not ${wanted(detail)}${reason(detail)}`,
  held: () => "put on hold for the lab; it waits until it is released",
  released: (detail) =>
    `not on hold any more${after(detail.actor, ", says ")}${after(detail.reason, ": ")}; the order goes on`,
  changed: () => "asks for something else now, as the lab wanted; nothing had been sent",
  corrected: (detail) =>
    `corrected by the lab${after(detail.messageId, " with ")}, which came under its number; nothing had been sent, and the order goes on`,
  subject_merged: (detail) =>
    `its subject was merged into another by the lab${after(detail.mergedBy, " (order ", ")")}`,
  task_done: (detail) =>
    `${text(detail.actor) ?? "an operator"} has done task ${text(detail.task) ?? ""}${after(detail.reason, ": ")}`,
  failed: (detail) => `failed${reason(detail)}`,
  parked: (detail) => `parked for a person${reason(detail)}`,
  retried: (detail) => `retried by ${text(detail.actor) ?? "an operator"}`,
  overridden: (detail) =>
    `to be done although another order is like it, says ${text(detail.actor) ?? "an operator"}${after(detail.reason, ": ")}`,
  discarded: (detail) => `discarded by ${text(detail.actor) ?? "an operator"}${after(detail.reason, ": ")}`,
  resolved: (detail) =>
    `linked to ${linkWords(detail)} by ${text(detail.actor) ?? "an operator"}${after(detail.reason, ": ")}`,
  resend_asked: (detail) =>
    `result ${text(detail.deliveryId) ?? ""} is sent to the lab again, says ${text(detail.actor) ?? "an operator"}${after(detail.reason, ": ")}`,
  result_sent: (detail) =>
    `sent to the lab${after(detail.file, " in ") || " over MLLP"}${after(detail.deliveryId, " (", ")")}`,
};

/** An entry of an order's timeline in words. An entry of an unknown kind is shown as it stands. */
export function describeEvent({ kind, detail }: Pick<OrderEvent, "kind" | "detail">): string {
  const words = Object.hasOwn(WORDS, kind) ? WORDS[kind] : undefined;
  if (words) return words(detail);
  return Object.keys(detail).length === 0 ? kind : `${kind} ${JSON.stringify(detail)}`;
}

/** A step of an order's timeline: an entry, or several that say the same one after the other. */
interface Step {
  readonly at: Date;
  /** When the last of them was. */
  readonly until: Date;
  readonly times: number;
  readonly words: string;
  readonly toState: OrderEvent["toState"];
}

/** Tries and checks that differ in their number and their next time alone. */
const REPEATED: ReadonlySet<string> = new Set(["again", "refused_for_now", "checked", "check_failed"]);

/** The steps of a timeline, in order; of tries that failed alike one after the other the last one's words. */
export function stepsOf(events: readonly OrderEvent[]): Step[] {
  const steps: Step[] = [];
  let former: OrderEvent | undefined;
  for (const event of events) {
    const { at, toState } = event;
    const words = describeEvent(event);
    const last = steps.at(-1);
    if (last && former && isSameStep(former, event))
      steps[steps.length - 1] = { ...last, words, until: at, times: last.times + 1 };
    else steps.push({ at, until: at, times: 1, words, toState });
    former = event;
  }
  return steps;
}

function isSameStep(one: OrderEvent, other: OrderEvent): boolean {
  if (one.kind !== other.kind || one.toState !== other.toState) return false;
  return REPEATED.has(one.kind)
    ? one.detail.code === other.detail.code
    : describeEvent(one) === describeEvent(other);
}

/** A step in words. */
export function describeStep({ words, times, until }: Step): string {
  return times === 1 ? words : `${words} (${times} times, last at ${localTime(until)})`;
}

/** A state that an order was in, and for how long. */
export interface Stage {
  readonly state: OrderState;
  readonly ms: number;
}

/** The states that an order was in so far, one after the other; the last one lasts until now, unless an order ends in it. */
export function stagesOf(events: readonly OrderEvent[], nowMs: number): Stage[] {
  const changes = events.flatMap(({ at, toState }) =>
    toState === undefined ? [] : [{ at, state: toState }],
  );
  const stages: Stage[] = [];
  for (const [index, { at, state }] of changes.entries()) {
    const next = changes[index + 1]?.at.getTime() ?? (isTerminal(state) ? at.getTime() : nowMs);
    const ms = Math.max(0, next - at.getTime());
    const last = stages.at(-1);
    if (last?.state === state) stages[stages.length - 1] = { state, ms: last.ms + ms };
    else stages.push({ state, ms });
  }
  return stages;
}

/** `request 17`, or `procedure 17` for an order of the external surface. */
function linkWords({ requestId, procedureId }: Detail): string {
  return after(requestId, "request ") || after(procedureId, "procedure ");
}

function checkWords({ found }: Detail): string {
  const seen = text(found);
  return seen === undefined || seen === "nothing"
    ? "the service shows no trace of the lost call yet"
    : `nothing is certain yet about the lost call: ${seen}`;
}

function wanted({ control }: Detail): string {
  return typeof control === "string" && Object.hasOwn(DONE, control)
    ? DONE[control as keyof typeof DONE]
    : "changed";
}

function text(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function after(value: unknown, before: string, end = ""): string {
  const shown = text(value);
  return shown === undefined ? "" : `${before}${shown}${end}`;
}

function reason({ text: words, code }: Detail): string {
  return `${after(words, ": ")}${after(code, " (", ")")}`;
}

function inMs(value: unknown): string {
  return typeof value === "number" ? ` follows in ${roundToUnit(value)}` : " follows later";
}
