import { type AtService, FAILURES, LASTING } from "../core/failures.ts";
import { isTerminal, type OrderState } from "../core/order-state.ts";
import { formatId } from "../ledger/ids.ts";
import { openCallOf } from "../ledger/orders/calls.ts";
import { type LedgerOrder, linkOf } from "../ledger/orders/row.ts";
import { LIST_LAG_MS, type Mover } from "../ledger/orders/same-containers.ts";
import type { ServicePause } from "../ledger/workers/service-pause.ts";
import { type Known, readyHint } from "./ready-hint.ts";
import { localTime, relativeTime, roundToUnit } from "./times.ts";

/** What holds orders up whichever they are. */
export interface SiteStanding {
  readonly nowMs: number;
  /** Whether a daemon works on the ledger. */
  readonly isDaemonThere: boolean;
  readonly pausedQueues: ReadonlySet<string>;
  /** A restored ledger is still being compared with the service. */
  readonly isComparing?: boolean | undefined;
  /** What keeps all calls from the service. */
  readonly servicePause?: ServicePause | undefined;
}

/** What matters for an order's waiting and is not in its own row. */
export interface Surroundings extends SiteStanding {
  /** What an order that was put off waits for, as it stands now. */
  readonly mover?: Mover | undefined;
  /** What of the service may be a parked order's own. */
  readonly atService?: AtService | undefined;
  /** An earlier order of the same subject that has to be submitted first. */
  readonly laneHolder?: { readonly orderId: string; readonly state: OrderState } | undefined;
}

/** What keeps an order from going on that has nothing to do with the order itself. */
type Obstacle =
  | { readonly kind: "noDaemon" }
  | { readonly kind: "paused"; readonly queue: "submit" | "track" }
  | { readonly kind: "comparing" }
  | { readonly kind: "noCalls"; readonly pause: ServicePause };

/**
 * The one answer to what holds an order up besides itself; pages, lists, the command line and JSON have their words from it. The first
 * that fits: no daemon, its queue is paused, a restored ledger is compared, no call leaves. A paused queue holds up no look for a call
 * that has left.
 */
function obstacleOf(order: LedgerOrder, site: SiteStanding): Obstacle | undefined {
  if (!site.isDaemonThere) return { kind: "noDaemon" };
  const isLinked = linkOf(order) !== undefined;
  const queue = isLinked ? "track" : "submit";
  if (site.pausedQueues.has(queue) && order.state !== "submitting") return { kind: "paused", queue };
  if (site.isComparing === true && !isLinked) return { kind: "comparing" };
  return site.servicePause && { kind: "noCalls", pause: site.servicePause };
}

/** In a sentence. */
function describeObstacle(obstacle: Obstacle, nowMs: number): string {
  switch (obstacle.kind) {
    case "noDaemon":
      return "No daemon works on this ledger right now, so nothing moves until one is started (`cryobridge start`).";
    case "paused":
      return `The queue ${obstacle.queue} is paused by an operator; \`cryobridge queue resume ${obstacle.queue}\` lets it go on.`;
    case "comparing":
      return "The ledger was restored from an older copy, and nothing is submitted until each open order was compared with the service (`cryobridge status` shows how far that is).";
    case "noCalls": {
      const { text, until } = obstacle.pause;
      if (text === undefined) return `The service asked for a pause; calls go on ${untilNext(until, nowMs)}.`;
      return `Calls wait because the service is in trouble: ${text.replace(/\.$/, "")}; the next try follows ${untilNext(until, nowMs)}.`;
    }
  }
}

/** In a few words. */
function nameObstacle(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case "noDaemon":
      return "no daemon works on this ledger";
    case "paused":
      return `the queue ${obstacle.queue} is paused`;
    case "comparing":
      return "the restored ledger is compared with the service first";
    case "noCalls":
      return obstacle.pause.text === undefined
        ? "the service asked for a pause"
        : "calls wait, since the service is in trouble";
  }
}

/** What is due for this long should have happened. */
const LONG_DUE_MS = 120_000;

/** One sentence for an operator on why an order waits; undefined when it has reached its end. */
export function whyWaiting(order: LedgerOrder, around: Surroundings): string | undefined {
  if (isTerminal(order.state)) return undefined;
  if (order.state === "parked") return whyParked(order, around);
  if (order.heldAt) {
    return `The lab put it on hold ${relativeTime(order.heldAt, around.nowMs)} (ORC-1 HD); it goes on when the lab releases it (RL), or by \`cryobridge orders release ${formatId("o", order.id)}\`.`;
  }
  const obstacle = obstacleOf(order, around);
  if (obstacle && obstacle.kind !== "noCalls") return describeObstacle(obstacle, around.nowMs);
  switch (order.state) {
    case "received":
      return whyReceived(order, around);
    case "submitting":
      return whySubmitting(order, around);
    default:
      return whyTracked(order, around);
  }
}

/**
 * The same in a few words, for a line of a list; with the failure of its last step. Undefined for an order that has reached its end.
 *
 * @param site what holds up all orders; without it the order's own row is all that is known
 */
export function waitsFor(order: LedgerOrder, site?: SiteStanding): string | undefined {
  if (isTerminal(order.state)) return undefined;
  const { failure, state } = order;
  const isHeld = order.heldAt !== undefined && state !== "submitting";
  const isWithPerson = state === "parked" || isHeld;
  const obstacle = site && !isWithPerson ? obstacleOf(order, site) : undefined;
  const words = [
    isHeld ? "on hold by the lab" : undefined,
    failure && `${failure.code}: ${failure.text}`,
    state === "submitting" && openCallOf(order)?.lookAt ? "the service is searched for its call" : undefined,
    order.missingSince && "the service does not know it any more",
    order.locatingSince && "its containers' places are looked up",
    obstacle && nameObstacle(obstacle),
  ].filter((each) => each !== undefined);
  return words.length > 0 ? words.join("; ") : WAITS_FOR[state];
}

const WAITS_FOR: Readonly<Partial<Record<OrderState, string>>> = {
  received: "waits for its turn",
  submitting: "a worker submits it",
  submitted: "waits for the facility's staff",
  accepted: "waits for the device",
  in_progress: "the device works on it",
};

function whyParked(order: LedgerOrder, { atService }: Surroundings): string {
  const { failure } = order;
  if (!failure) return "It waits for a person.";
  return `It waits for a person: ${failure.text} (${failure.code}). ${hintFor(order, { atService }) ?? ""}`.trim();
}

/** What a hint for an order needs of it. */
export type Failed = Pick<LedgerOrder, "id" | "failure"> &
  Partial<Pick<LedgerOrder, "placerOrderNumber" | "surface">>;

/** What a person does about the order, with what is known of it in the commands. */
export function hintFor(
  { id, failure, placerOrderNumber, surface }: Failed,
  more: Pick<Known, "atService" | "task"> = {},
): string | undefined {
  const hint = failure && FAILURES[failure.code]?.hint;
  return hint && readyHint(hint, { order: formatId("o", id), number: placerOrderNumber, surface, ...more });
}

function whyReceived(order: LedgerOrder, around: Surroundings): string {
  const { laneHolder, nowMs } = around;
  const isLater = order.nextAt.getTime() > nowMs;
  if (isLater && order.attempts === 0) return whyPutOff(order, around);
  if (isLater && order.failure) {
    return `Try ${order.attempts} failed: ${order.failure.text} (${order.failure.code}); the next one follows ${relativeTime(order.nextAt, nowMs)}.${whatToChange(order)}`;
  }
  if (laneHolder?.state === "parked") {
    return `Order ${laneHolder.orderId} of the same subject came first and waits for a person, and lanes.parkedBlocks is set.`;
  }
  if (laneHolder) {
    return `Order ${laneHolder.orderId} of the same subject (${laneHolder.state}) came first and has to be submitted before it.`;
  }
  const outage = whyNoCalls(around);
  if (order.failure)
    return `Try ${order.attempts} failed: ${order.failure.text} (${order.failure.code}); the next one is due now.${outage === undefined ? whatToChange(order) : ` ${outage}`}`;
  if (outage !== undefined) return outage;
  const dueForMs = nowMs - Math.max(order.nextAt.getTime(), order.changedAt.getTime());
  if (dueForMs < LONG_DUE_MS) return "It is due; a worker takes it within moments.";
  return `It has been due for ${roundToUnit(dueForMs)}: all workers are busy with earlier orders, or the queue does not wake them (\`cryobridge status\` says so).`;
}

/** What a person does about an order that is tried again, where no try gets through until something is changed. */
function whatToChange(order: LedgerOrder): string {
  return order.failure && LASTING.has(order.failure.code) ? ` ${hintFor(order)}` : "";
}

/** What it waits for may have ended since it was put off: the ledger's word of now counts. */
function whyPutOff(order: LedgerOrder, { mover, nowMs }: Surroundings): string {
  const next = untilNext(order.nextAt, nowMs);
  if (mover === undefined) return `It waits for nothing but its next try, which follows ${next}.`;
  const { orderId, operation, state, label, changedAt } = mover;
  if (state !== "completed") {
    const moves = operation === "STORE" ? "stores" : "retrieves";
    return `Order ${orderId}, which came first and is ${state.replace("_", " ")}, still ${moves} its container ${label}; it goes on as soon as that one has ended, and is tried again ${next}.`;
  }
  const until = roundToUnit(LIST_LAG_MS);
  return `Order ${orderId} stored its container ${label} ${relativeTime(changedAt, nowMs)}, and the service did not list the container when it was asked last; it is asked again ${next}, and ${until} after the storage a person is asked. The container may have been taken out at the service meanwhile.`;
}

/** That no call leaves right now, and why; undefined while calls leave. */
function whyNoCalls({ servicePause, nowMs }: SiteStanding): string | undefined {
  return servicePause && describeObstacle({ kind: "noCalls", pause: servicePause }, nowMs);
}

/** When something follows that is tried at a time: `in 45s`, or `now` once that has passed. */
function untilNext(at: Date, nowMs: number): string {
  return at.getTime() <= nowMs ? "now" : relativeTime(at, nowMs);
}

function whySubmitting(order: LedgerOrder, around: Surroundings): string {
  const { nowMs } = around;
  const outage = whyNoCalls(around);
  const call = openCallOf(order);
  if (call === undefined) {
    if (outage !== undefined) return `A worker has it in hand. ${outage}`;
    return "A worker asks the service for its subject and containers right now.";
  }
  const creation = order.surface === "external" ? "creation of the procedure" : "procedure request";
  const what = call.kind === "subject" ? "registration of the subject" : creation;
  if (call.lookAt === undefined) return `The ${what} is on its way to the service.`;
  const next = `${untilNext(call.lookAt, nowMs)}.${outage === undefined ? "" : ` ${outage}`}`;
  const { failure } = order;
  if (call.isPresumed) {
    return `The ledger was restored from an older copy, so the service is searched for what it may have of the order before anything is sent; next check ${next}`;
  }
  if (call.answer === "refused") {
    const said = failure ? `: ${failure.text} (${failure.code})` : "";
    return `Try ${order.attempts} was refused${said}; the service is checked for it before it is sent again, ${next}`;
  }
  const { checks } = call;
  const times = checks === 0 ? "" : `, ${checks} ${checks === 1 ? "time" : "times"} so far`;
  const said = failure ? ` (${failure.text})` : "";
  // The failure of a check takes the place of the call's.
  const [ofCall, ofCheck] = call.failedChecks > 0 ? ["", `; the last check failed${said}`] : [said, ""];
  return `No sure answer came to the ${what}${ofCall}, so the service is searched for what it did before anything is sent again${times}${ofCheck}; next check ${next} If you have looked there and it has nothing: \`cryobridge orders retry ${formatId("o", order.id)} --not-at-service --reason TEXT\`.`;
}

/** What an order becomes parked for whose request the service has forgotten. */
const GONE = { code: "REQUEST_GONE", text: "" } as const;

function whyTracked(order: LedgerOrder, around: Surroundings): string {
  const { nowMs } = around;
  if (order.missingSince) {
    return `The service has not known its ${nameLink(order)} since ${localTime(order.missingSince)}, or does not let it be read. ${hintFor({ ...order, failure: GONE }) ?? ""}`;
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
  const outage = whyNoCalls(around);
  if (outage !== undefined) return `${what}, as far as it was asked. ${outage}`;
  const dueForMs = nowMs - order.nextAt.getTime();
  if (dueForMs > LONG_DUE_MS) {
    return `${what}; asking the service is overdue by ${roundToUnit(dueForMs)}, so it may be out of reach (\`cryobridge check\` shows it).`;
  }
  return `${what}; the service is asked again ${untilNext(order.nextAt, nowMs)}.`;
}

/** `request 17`, or `procedure 17` for an order of the external surface. */
function nameLink(order: LedgerOrder): string {
  const link = linkOf(order);
  if (!link) return "request";
  return link.surface === "request" ? `request ${link.requestId}` : `procedure ${link.procedureId}`;
}

/** The order's name in sentences: `o17`, or `o17 (P-1001)` with its placer order number. */
export function nameOf(order: Pick<LedgerOrder, "id" | "placerOrderNumber">): string {
  const id = formatId("o", order.id);
  return order.placerOrderNumber === undefined ? id : `${id} (${order.placerOrderNumber})`;
}
