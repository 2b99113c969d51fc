import type { Clock } from "../core/clock.ts";
import type { OrderStep } from "../core/order-step.ts";
import type { BacklogView } from "../operator/service-columns.ts";
import type { CallLimit, ServiceClient } from "../service/client.ts";
import type { LedgerCounts } from "../standing/facts.ts";

/** What orders took of the calls within the last hour. */
export interface CallUse {
  /** Calls to submit orders, and how many orders left submission by them. */
  readonly submitting: { readonly calls: number; readonly orders: number };
  /** Calls for the places of containers, and how many orders were completed. */
  readonly locating: { readonly calls: number; readonly orders: number };
  /** Calls a minute that are for no single order. */
  readonly otherPerMinute: number;
}

interface Snapshot {
  readonly at: number;
  readonly submitting: number;
  readonly locating: number;
  readonly other: number;
  readonly submitted: number;
  readonly completed: number;
}

const EVERY_MS = 60_000;
const KEPT = 60;
/** What is for no single order is counted over so many of them. */
const LATELY = 5;

/** Measures how many calls orders take, by what this daemon sent and recorded. */
export class CallMeter {
  readonly #service: Pick<ServiceClient, "sent">;
  readonly #clock: Clock;
  readonly #snapshots: Snapshot[];
  #submitted = 0;
  #completed = 0;

  constructor(service: Pick<ServiceClient, "sent">, clock: Clock) {
    this.#service = service;
    this.#clock = clock;
    this.#snapshots = [this.#now()];
  }

  /** Orders moved, by what this daemon recorded. */
  moved(steps: readonly Pick<OrderStep, "stage" | "to">[]): void {
    for (const { stage, to } of steps) {
      if (to === undefined) continue;
      if (stage?.name === "submitting" && to !== "received") this.#submitted += 1;
      else if (to === "completed") this.#completed += 1;
    }
    this.#keep();
  }

  /** What is known by now. */
  read(): CallUse {
    this.#keep();
    const now = this.#now();
    const [first = now] = this.#snapshots;
    const lately = this.#snapshots.at(-LATELY) ?? first;
    const minutes = (now.at - lately.at) / 60_000;
    return {
      submitting: { calls: now.submitting - first.submitting, orders: now.submitted - first.submitted },
      locating: { calls: now.locating - first.locating, orders: now.completed - first.completed },
      otherPerMinute: minutes > 0 ? (now.other - lately.other) / minutes : 0,
    };
  }

  #keep(): void {
    const last = this.#snapshots.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
    if (this.#clock.monotonic() - last < EVERY_MS) return;
    this.#snapshots.push(this.#now());
    if (this.#snapshots.length > KEPT) this.#snapshots.shift();
  }

  #now(): Snapshot {
    const { byPurpose, calls } = this.#service.sent;
    const count = (purpose: "tokens" | "reconciling" | "submitting" | "locating") =>
      byPurpose.get(purpose) ?? 0;
    const submitting = count("submitting") + count("reconciling");
    const locating = count("locating");
    return {
      ...{ at: this.#clock.monotonic(), submitting, locating, other: calls - submitting - locating },
      ...{ submitted: this.#submitted, completed: this.#completed },
    };
  }
}

/** Until more is known an order takes as many calls; counted as so many orders that were measured. */
const ASSUMED = { submitting: 3, locating: 1, orders: 4 };
/** What is for no single order leaves at least this share of the calls to the orders. */
const LEAST_SHARE = 0.2;

/**
 * How many calls the open orders still need, and how long that takes; undefined where nothing waits. Orders that wait for staff or
 * a device are counted as if these were done: the time is that of the calls.
 *
 * @param use what orders took so far
 */
export function estimateBacklog(
  { byState }: Pick<LedgerCounts, "byState">,
  use: CallUse,
  { limit, lastMinute }: { readonly limit: CallLimit } & Pick<ServiceClient, "lastMinute">,
): BacklogView | undefined {
  const orders = byState.received + byState.submitting;
  if (orders === 0) return undefined;
  const submitting = perOrder(use.submitting, ASSUMED.submitting);
  const locating = perOrder(use.locating, ASSUMED.locating);
  const atService = byState.submitted + byState.accepted + byState.in_progress;
  const calls = submitting * orders + locating * (orders + atService);
  const perMinute = ratePerMinute(limit, lastMinute);
  const left = Math.max(perMinute * LEAST_SHARE, perMinute - use.otherPerMinute * limit.sharedBy);
  return {
    orders,
    callsPerOrder: Math.round((submitting + locating) * 10) / 10,
    calls: Math.round(calls),
    seconds: Math.round((calls / left) * 60),
  };
}

function perOrder({ calls, orders }: CallUse["submitting"], assumed: number): number {
  return (calls + assumed * ASSUMED.orders) / (orders + ASSUMED.orders);
}

/**
 * What leaves in a minute: what left, once that is a whole minute of work, since a slow service may take fewer than it allows; the
 * pauses that follow refusals are no measure.
 */
function ratePerMinute(
  { mostPerMinute, sharedBy, busyForMs }: CallLimit,
  { calls, refused }: ServiceClient["lastMinute"],
): number {
  if (busyForMs < 60_000 || refused > 0) return mostPerMinute;
  return Math.min(mostPerMinute, Math.max(1, calls) * sharedBy);
}
