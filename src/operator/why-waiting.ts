import { type AtService, FAILURES, LASTING } from "../core/failures.ts";
import { isTerminal, type OrderState } from "../core/order-state.ts";
import { formatId } from "../ledger/ids.ts";
import type { PausedQueue } from "../ledger/operator/queues.ts";
import { openCallOf } from "../ledger/orders/calls.ts";
import type { LaneHolder } from "../ledger/orders/claiming.ts";
import { type LedgerOrder, linkOf } from "../ledger/orders/row.ts";
import { LIST_LAG_MS, type Mover } from "../ledger/orders/same-containers.ts";
import type { Rush, ServicePause } from "../ledger/workers/service-pause.ts";
import { type Known, readyHint } from "./ready-hint.ts";
import { perWindow } from "./service-columns.ts";
import { asSentence, counted, NO_DAEMON } from "./text.ts";
import { pausedInWords } from "./things/queues.ts";
import { localTime, relativeTime, roundToUnit } from "./times.ts";

/** What holds orders up whichever they are. */
export interface SiteStanding {
  readonly nowMs: number;
  /** Whether a daemon works on the ledger. */
  readonly isDaemonThere: boolean;
  readonly pausedQueues: readonly PausedQueue[];
  /** A restored ledger is still being compared with the service. */
  readonly isComparing?: boolean | undefined;
  /** What keeps all calls from the service. */
  readonly servicePause?: ServicePause | undefined;
  /** How many orders could be sent now, and how many calls the service is known to take for all of them. */
  readonly rush?: Rush | undefined;
}

/** What matters for an order's waiting and is not in its own row. */
export interface Surroundings extends SiteStanding {
  /** What an order that was put off waits for, as it stands now. */
  readonly mover?: Mover | undefined;
  /** What of the service may be a parked order's own. */
  readonly atService?: AtService | undefined;
  /** What it waits for in its lane. */
  readonly laneHolder?: LaneHolder | undefined;
}

interface Why {
  /** In a few words, for a line of a list: equal for orders that wait for the same, and so without times. */
  readonly brief: string;
  /** In sentences, with what a person can do about it. */
  readonly full: string;
}

/** What keeps an order from going on that has nothing to do with the order itself, the first of what there is. */
function obstacleOf(order: LedgerOrder, site: SiteStanding): Why | undefined {
  if (!site.isDaemonThere)
    return {
      brief: NO_DAEMON,
      full: asSentence(
        `${NO_DAEMON} right now, so nothing moves until one is started (\`cryobridge start\`)`,
      ),
    };
  const isLinked = linkOf(order) !== undefined;
  const queue = isLinked ? "track" : "submit";
  // A paused queue holds up no look for a call that has left.
  const paused = site.pausedQueues.find((each) => each.queue === queue);
  if (paused && order.state !== "submitting")
    return {
      brief: `the queue ${queue} is paused`,
      full: `The queue ${queue} is ${pausedInWords(paused)}. \`cryobridge queue resume ${queue}\` lets it go on.`,
    };
  if (site.isComparing === true && !isLinked)
    return {
      brief: "the restored ledger is compared with the service first",
      full: "The ledger was restored from an older copy, and nothing is submitted until each open order was compared with the service (`cryobridge status` shows how far that is).",
    };
  return undefined;
}

/** That no call leaves right now, and why; undefined while calls leave. */
function whyNoCalls({ servicePause, nowMs }: SiteStanding): Why | undefined {
  if (servicePause === undefined) return undefined;
  const { text, until } = servicePause;
  const next = untilNext(until, nowMs);
  if (text === undefined)
    return {
      brief: "the service asked for a pause",
      full: `The service asked for a pause; calls go on ${next}.`,
    };
  return {
    brief: "calls wait, since the service is in trouble",
    full: `Calls wait because the service is in trouble: ${text.replace(/\.$/, "")}; the next try follows ${next}.`,
  };
}

/** What is due for this long should have happened. */
const LONG_DUE_MS = 120_000;
/** Some, to submit one. */
const CALLS_OF_AN_ORDER = 4;

/**
 * The one answer to why an order waits, of which pages, lists, the queue, the command line and JSON have their words; undefined when it
 * has reached its end.
 */
export function whyWaiting(order: LedgerOrder, around: Surroundings): Why | undefined {
  const { state, failure } = order;
  if (isTerminal(state)) return undefined;
  if (state === "parked")
    return { brief: inBrief(failure) || "waits for a person", full: whyParked(order, around) };
  const held = whyHeld(order, around);
  if (held) return { brief: inBrief(failure, held.brief), full: held.full };
  const obstacle = obstacleOf(order, around);
  const noCalls = obstacle ?? whyNoCalls(around);
  const step = stepOf(order, around, noCalls !== undefined);
  return {
    brief: inBrief(failure, step.brief, noCalls?.brief) || (WAITS_FOR[state] ?? ""),
    full: obstacle?.full ?? [step.full, noCalls?.full].filter((each) => each !== undefined).join(" "),
  };
}

/** Of how an order stands, its own part: nothing where no call leaves and that says it all; few words only where they say more than the state. */
interface Own {
  readonly brief?: string | undefined;
  readonly full?: string;
}

function stepOf(order: LedgerOrder, around: Surroundings, areCallsKept: boolean): Own {
  switch (order.state) {
    case "received":
      return whyReceived(order, around, areCallsKept);
    case "submitting":
      return whySubmitting(order, around, areCallsKept);
    default:
      return whyTracked(order, around, areCallsKept);
  }
}

function inBrief(failure: LedgerOrder["failure"], ...words: readonly (string | undefined)[]): string {
  return [failure && `${failure.code}: ${failure.text}`, ...words]
    .filter((each) => each !== undefined)
    .join("; ");
}

const WAITS_FOR: Readonly<Partial<Record<OrderState, string>>> = {
  received: "waits for its turn",
  submitting: "a worker submits it",
  submitted: "waits for the facility's staff",
  accepted: "waits for the device",
  in_progress: "the device works on it",
};

/** Whoever has a call open is looked for all the same. */
function whyHeld({ id, state, heldAt }: LedgerOrder, { nowMs }: SiteStanding): Why | undefined {
  if (heldAt === undefined || state === "submitting") return undefined;
  return {
    brief: "on hold by the lab",
    full: `The lab put it on hold ${relativeTime(heldAt, nowMs)} (ORC-1 HD); it goes on when the lab releases it (RL), or by \`cryobridge orders release ${formatId("o", id)}\`.`,
  };
}

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

function whyReceived(order: LedgerOrder, around: Surroundings, areCallsKept: boolean): Own {
  const { laneHolder, nowMs } = around;
  const { failure, attempts, nextAt } = order;
  const isLater = nextAt.getTime() > nowMs;
  if (isLater && attempts === 0) return whyPutOff(order, around);
  const tried = failure && `Try ${attempts} failed: ${failure.text} (${failure.code})`;
  if (isLater && tried) {
    return { full: `${tried}; the next one follows ${relativeTime(nextAt, nowMs)}.${whatToChange(order)}` };
  }
  if (laneHolder) return whyBehind(laneHolder);
  if (tried) return { full: `${tried}; the next one is due now.${areCallsKept ? "" : whatToChange(order)}` };
  if (areCallsKept) return {};
  return whyDue(order, around);
}

function whyBehind({ orderId, state, isLater }: LaneHolder): Own {
  const brief = `waits for ${orderId} of the same subject`;
  if (state === "parked") {
    return {
      brief,
      full: `Order ${orderId} of the same subject came first and waits for a person, and lanes.parkedBlocks is set.`,
    };
  }
  if (isLater) {
    return {
      brief,
      full: `Order ${orderId} of the same subject, which came later, was taken while this one could not go on, and is not submitted yet (\`cryobridge orders show ${orderId}\` says why); this one is sent after it.`,
    };
  }
  return {
    brief,
    full: `Order ${orderId} of the same subject (${state}) came first and has to be submitted before it.`,
  };
}

/** Of orders that could all be sent now, as many go as the service takes calls. */
function whyDue(order: LedgerOrder, { nowMs, rush }: SiteStanding): Own {
  const dueForMs = nowMs - Math.max(order.nextAt.getTime(), order.changedAt.getTime());
  const calls = rush && `at most ${counted(rush.quota.calls, "call")} ${perWindow(rush.quota.windowMs)}`;
  // Fewer are taken within moments, and what holds them up is something else.
  const neededMs = rush ? (rush.dueOrders * CALLS_OF_AN_ORDER * rush.quota.windowMs) / rush.quota.calls : 0;
  const isRush = neededMs > Math.max(dueForMs, LONG_DUE_MS);
  const brief = isRush ? `waits for its turn: the service takes ${calls}` : undefined;
  if (dueForMs < LONG_DUE_MS) return { brief, full: "It is due; a worker takes it within moments." };
  const due = `It has been due for ${roundToUnit(dueForMs)}`;
  if (rush && isRush) {
    return {
      brief,
      full: `${due}: ${counted(rush.dueOrders, "order")} are due, and the service takes ${calls} for all of them (\`cryobridge status\` says how long that takes).`,
    };
  }
  return {
    full: `${due}: all workers are busy with earlier orders, or the queue does not wake them (\`cryobridge status\` says so).`,
  };
}

/** What a person does about an order that is tried again, where no try gets through until something is changed. */
function whatToChange(order: LedgerOrder): string {
  return order.failure && LASTING.has(order.failure.code) ? ` ${hintFor(order)}` : "";
}

/** What it waits for may have ended since it was put off: the ledger's word of now counts. */
function whyPutOff(order: LedgerOrder, { mover, nowMs }: Surroundings): Own {
  const next = untilNext(order.nextAt, nowMs);
  if (mover === undefined) return { full: `It waits for nothing but its next try, which follows ${next}.` };
  const { orderId, operation, state, label, changedAt } = mover;
  if (state !== "completed") {
    const moves = operation === "STORE" ? "stores" : "retrieves";
    return {
      brief: `waits for ${orderId}, which ${moves} its container`,
      full: `Order ${orderId}, which came first and is ${state.replace("_", " ")}, still ${moves} its container ${label}; it goes on as soon as that one has ended, and is tried again ${next}.`,
    };
  }
  const until = roundToUnit(LIST_LAG_MS);
  return {
    brief: "waits for the service to list its container",
    full: `Order ${orderId} stored its container ${label} ${relativeTime(changedAt, nowMs)}, and the service did not list the container when it was asked last; it is asked again ${next}, and ${until} after the storage a person is asked. The container may have been taken out at the service meanwhile.`,
  };
}

/** When something follows that is tried at a time: `in 45s`, or `now` once that has passed. */
function untilNext(at: Date, nowMs: number): string {
  return at.getTime() <= nowMs ? "now" : relativeTime(at, nowMs);
}

function whySubmitting(order: LedgerOrder, { nowMs }: SiteStanding, areCallsKept: boolean): Own {
  const call = openCallOf(order);
  if (call === undefined) {
    return {
      full: areCallsKept
        ? "A worker has it in hand."
        : "A worker asks the service for its subject and containers right now.",
    };
  }
  const creation = order.surface === "external" ? "creation of the procedure" : "procedure request";
  const what = call.kind === "subject" ? "registration of the subject" : creation;
  if (call.lookAt === undefined) return { full: `The ${what} is on its way to the service.` };
  const brief = "the service is searched for its call";
  const next = `${untilNext(call.lookAt, nowMs)}.`;
  const { failure } = order;
  if (call.isPresumed) {
    return {
      brief,
      full: `The ledger was restored from an older copy, so the service is searched for what it may have of the order before anything is sent; next check ${next}`,
    };
  }
  if (call.answer === "refused") {
    const said = failure ? `: ${failure.text} (${failure.code})` : "";
    return {
      brief,
      full: `Try ${order.attempts} was refused${said}; the service is checked for it before it is sent again, ${next}`,
    };
  }
  const { checks } = call;
  const times = checks === 0 ? "" : `, ${checks} ${checks === 1 ? "time" : "times"} so far`;
  const said = failure ? ` (${failure.text})` : "";
  // The failure of a check takes the place of the call's.
  const [ofCall, ofCheck] = call.failedChecks > 0 ? ["", `; the last check failed${said}`] : [said, ""];
  return {
    brief,
    full: `No sure answer came to the ${what}${ofCall}, so the service is searched for what it did before anything is sent again${times}${ofCheck}; next check ${next} If you have looked there and it has nothing: \`cryobridge orders retry ${formatId("o", order.id)} --not-at-service --reason TEXT\`.`,
  };
}

/** What an order becomes parked for whose request the service has forgotten. */
const GONE = { code: "REQUEST_GONE", text: "" } as const;

function whyTracked(order: LedgerOrder, { nowMs }: SiteStanding, areCallsKept: boolean): Own {
  if (order.missingSince) {
    return {
      brief: "the service does not know it any more",
      full: `The service has not known its ${nameLink(order)} since ${localTime(order.missingSince)}, or does not let it be read. ${hintFor({ ...order, failure: GONE }) ?? ""}`,
    };
  }
  if (order.locatingSince) {
    return {
      brief: "its containers' places are looked up",
      full: `It is done at the service, and where its containers stand has been looked up since ${localTime(order.locatingSince)}; after a day, or when the service shows no place, it is completed with what is known.`,
    };
  }
  const says = order.remoteStatus === undefined ? "" : ` (the service says ${order.remoteStatus})`;
  const procedure = order.procedureId === undefined ? "its procedure" : `procedure ${order.procedureId}`;
  const what = {
    submitted: `The facility's staff have not ${order.surface === "external" ? "acted" : "decided"} on ${nameLink(order)} yet${says}`,
    accepted: `Staff accepted it, and ${procedure} waits for the device${says}`,
    in_progress: `The device runs ${procedure}${says}`,
  }[order.state as "submitted" | "accepted" | "in_progress"];
  if (areCallsKept) return { full: `${what}, as far as it was asked.` };
  const dueForMs = nowMs - order.nextAt.getTime();
  if (dueForMs > LONG_DUE_MS) {
    return {
      full: `${what}; asking the service is overdue by ${roundToUnit(dueForMs)}, so it may be out of reach (\`cryobridge check\` shows it).`,
    };
  }
  return { full: `${what}; the service is asked again ${untilNext(order.nextAt, nowMs)}.` };
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
