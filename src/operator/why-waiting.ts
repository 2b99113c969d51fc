import { FAILURES } from "../core/failures.ts";
import { isTerminal, type OrderState } from "../core/order-state.ts";
import { formatId } from "../ledger/ids.ts";
import { type LedgerOrder, linkOf } from "../ledger/orders/row.ts";
import { localTime, relativeTime, roundToUnit } from "./times.ts";

/** What matters for an order's waiting and is not in its own row. */
export interface Surroundings {
  readonly nowMs: number;
  /** Whether a daemon works on the ledger. */
  readonly isDaemonThere: boolean;
  readonly pausedQueues: ReadonlySet<string>;
  /** A restored ledger is still being compared with the service. */
  readonly isComparing?: boolean | undefined;
  /** An earlier order of the same subject that has to be submitted first. */
  readonly laneHolder?: { readonly orderId: string; readonly state: OrderState } | undefined;
}

/** Workers take a queued order within moments; after this time something keeps them from it. */
const LONG_QUEUED_MS = 60_000;
/** A reading of the service that is due for this long should have happened. */
const LONG_DUE_MS = 120_000;

/** One sentence for an operator on why an order waits; undefined when it has reached its end. */
export function whyWaiting(order: LedgerOrder, around: Surroundings): string | undefined {
  if (isTerminal(order.state)) return undefined;
  if (order.state === "parked") return whyParked(order);
  if (order.heldAt) {
    return `The lab put it on hold ${relativeTime(order.heldAt, around.nowMs)} (ORC-1 HD); it goes on when the lab releases it (RL), or by \`cryobridge orders release ${formatId("o", order.id)}\`.`;
  }
  if (!around.isDaemonThere) {
    return "No daemon works on this ledger right now, so nothing moves until one is started (`cryobridge start`).";
  }
  const queue = linkOf(order) === undefined ? "submit" : "track";
  if (around.pausedQueues.has(queue) && order.state !== "queued") {
    return `The queue ${queue} is paused by an operator; \`cryobridge queue resume ${queue}\` lets it go on.`;
  }
  if (around.isComparing === true && linkOf(order) === undefined && order.state !== "queued") {
    return "The ledger was restored from an older copy, and nothing is submitted until each open order was compared with the service (`cryobridge status` shows how far that is).";
  }
  switch (order.state) {
    case "received":
      return whyReceived(order, around);
    case "queued":
      return whyQueued(order, around);
    case "submitting":
      return whySubmitting(order, around);
    default:
      return whyTracked(order, around);
  }
}

/**
 * The same in a few words, by the order's own row, for a line of a list; with the failure of its last step. Undefined for an
 * order that has reached its end.
 */
export function waitsFor(order: LedgerOrder): string | undefined {
  if (isTerminal(order.state)) return undefined;
  const { failure, state } = order;
  const words = [
    order.heldAt && state !== "submitting" ? "on hold by the lab" : undefined,
    failure && `${failure.code}: ${failure.text}`,
    state === "submitting" && order.intent !== undefined && (failure || order.checks > 0)
      ? "the service is searched for its call"
      : undefined,
    order.missingSince && "the service does not know it any more",
    order.locatingSince && "its containers' places are looked up",
  ].filter((each) => each !== undefined);
  return words.length > 0 ? words.join("; ") : WAITS_FOR[state];
}

const WAITS_FOR: Readonly<Partial<Record<OrderState, string>>> = {
  received: "waits for its turn",
  queued: "waits for a worker",
  submitting: "a worker submits it",
  submitted: "waits for the facility's staff",
  accepted: "waits for the device",
  in_progress: "the device works on it",
};

function whyParked({ failure }: LedgerOrder): string {
  if (!failure) return "It waits for a person.";
  return `It waits for a person: ${failure.text} (${failure.code}). ${FAILURES[failure.code]?.hint ?? ""}`.trim();
}

function whyReceived(order: LedgerOrder, { laneHolder, nowMs }: Surroundings): string {
  const isLater = order.nextAt.getTime() > nowMs;
  if (isLater && order.attempts === 0) {
    return `An earlier order still moves one of its containers; it is tried again ${relativeTime(order.nextAt, nowMs)}.`;
  }
  if (isLater && order.failure) {
    return `Try ${order.attempts} failed: ${order.failure.text} (${order.failure.code}); the next one follows ${relativeTime(order.nextAt, nowMs)}.`;
  }
  if (laneHolder?.state === "parked") {
    return `Order ${laneHolder.orderId} of the same subject came first and waits for a person, and lanes.parkedBlocks is set.`;
  }
  if (laneHolder) {
    return `Order ${laneHolder.orderId} of the same subject (${laneHolder.state}) came first and has to be submitted before it.`;
  }
  if (order.failure)
    return `Try ${order.attempts} failed: ${order.failure.text} (${order.failure.code}); the next one is due now.`;
  return "It is due and is handed to the submit queue as soon as there is room in it and the service is in reach.";
}

function whyQueued(order: LedgerOrder, { nowMs }: Surroundings): string {
  const forMs = nowMs - order.changedAt.getTime();
  if (forMs < LONG_QUEUED_MS) return "It is in the submit queue; a worker takes it within moments.";
  return `It has been in the submit queue for ${roundToUnit(forMs)}: all workers are busy, or calls wait because the service is in trouble.`;
}

function whySubmitting(order: LedgerOrder, { nowMs }: Surroundings): string {
  if (order.intent === undefined) {
    return "A worker asks the service for its subject and containers right now.";
  }
  const creation = order.surface === "external" ? "creation of the procedure" : "procedure request";
  const what = order.intent === "subject" ? "registration of the subject" : creation;
  if (order.isRefused) {
    const said = order.failure ? `: ${order.failure.text} (${order.failure.code})` : "";
    return `Try ${order.attempts} was refused${said}; the service is checked for it before it is sent again, ${relativeTime(order.nextAt, nowMs)}.`;
  }
  if (order.failure || order.checks > 0) {
    const checks =
      order.checks === 0 ? "" : `, ${order.checks} ${order.checks === 1 ? "time" : "times"} so far`;
    const said = order.failure ? ` (${order.failure.text})` : "";
    return `No sure answer came to the ${what}${said}, so the service is searched for what it did before anything is sent again${checks}; next check ${relativeTime(order.nextAt, nowMs)}. If you have looked there and it has nothing: \`cryobridge orders retry ${formatId("o", order.id)} --not-at-service --reason TEXT\`.`;
  }
  return `The ${what} is on its way to the service.`;
}

function whyTracked(order: LedgerOrder, { nowMs }: Surroundings): string {
  if (order.missingSince) {
    return `The service has not known its ${nameLink(order)} since ${localTime(order.missingSince)}; after a day a person is asked.`;
  }
  if (order.locatingSince) {
    return `It is done at the service, and where its containers stand has been looked up since ${localTime(order.locatingSince)}; after a day, or when the service shows no place, it is completed with what is known.`;
  }
  const says = order.remoteStatus === undefined ? "" : ` (the service says ${order.remoteStatus})`;
  const procedure = order.procedureId === undefined ? "its procedure" : `procedure ${order.procedureId}`;
  const what = {
    submitted: `The facility's staff have not ${order.surface === "external" ? "acted" : "decided"} on ${nameLink(order)} yet${says}`,
    accepted: `Staff accepted it, and ${procedure} waits for the device${says}`,
    in_progress: `The device runs ${procedure}${says}`,
  }[order.state as "submitted" | "accepted" | "in_progress"];
  const dueForMs = nowMs - order.nextAt.getTime();
  if (dueForMs > LONG_DUE_MS) {
    return `${what}; asking the service is overdue by ${roundToUnit(dueForMs)}, so it may be out of reach (\`cryobridge check\` shows it).`;
  }
  const next = dueForMs > 0 ? "now" : relativeTime(order.nextAt, nowMs);
  return `${what}; the service is asked again ${next}.`;
}

/** `request 17`, or `procedure 17` for an order of the external surface. */
function nameLink(order: LedgerOrder): string {
  const link = linkOf(order);
  if (!link) return "request";
  return link.surface === "request" ? `request ${link.requestId}` : `procedure ${link.procedureId}`;
}

/** Whether the surroundings matter: only an order that waits in its lane needs to know what holds the lane. */
export function needsLaneHolder(order: LedgerOrder): boolean {
  return order.state === "received";
}

/** The order's name in sentences: `o17`, or `o17 (P-1001)` with its placer order number. */
export function nameOf(order: Pick<LedgerOrder, "id" | "placerOrderNumber">): string {
  const id = formatId("o", order.id);
  return order.placerOrderNumber === undefined ? id : `${id} (${order.placerOrderNumber})`;
}
