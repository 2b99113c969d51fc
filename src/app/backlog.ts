import type { LedgerCounts } from "../console/facts.ts";
import type { BacklogView } from "../operator/service-columns.ts";
import type { CallLimit, ServiceClient } from "../service/client.ts";
import type { CallUse } from "./call-use.ts";

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
