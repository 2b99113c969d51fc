import { FAILURES, type FailureCode } from "../core/failures.ts";
import type { Operation } from "../core/order.ts";
import { isTerminal, ORDER_STATES, type OrderState } from "../core/order-state.ts";
import { askCounts, askReadiness, withDeadline } from "./ask.ts";
import type { ConsoleDeps, OrderRow } from "./deps.ts";

const RECENT = 25;
const STUCK = 50;

/** The document of `/api/status`. Keys are stable; times are ISO 8601. */
export interface Status {
  readonly version: string;
  readonly generatedAt: string;
  readonly isReady: boolean;
  readonly reasons: readonly string[];
  /** Every state, in the order in which orders pass them; null while the ledger is out of reach. */
  readonly states:
    | readonly { readonly state: OrderState; readonly count: number; readonly oldestSeconds: number | null }[]
    | null;
  readonly deliveries: { readonly pending: number; readonly parked: number } | null;
  /** Orders that need a person, longest waiting first; null while the ledger is out of reach. */
  readonly stuckOrders: readonly StatusOrder[] | null;
  /** The orders that changed last; null while the ledger is out of reach. */
  readonly recentOrders: readonly StatusOrder[] | null;
}

/** An order in the status document. */
export interface StatusOrder {
  readonly orderId: string;
  readonly placerOrderNumber: string | null;
  readonly connector: string;
  readonly operation: Operation;
  readonly facilityCode: string;
  readonly requestId: number | null;
  readonly state: OrderState;
  readonly changedAt: string;
  readonly reason: {
    readonly code: FailureCode | null;
    readonly text: string;
    readonly mend: string | null;
  } | null;
}

/** How things stand, as one document. Answers within seconds even while the ledger does not. */
export async function readStatus(deps: ConsoleDeps, version: string): Promise<Status> {
  const [readiness, counts, stuckOrders, recentOrders] = await Promise.all([
    askReadiness(deps),
    askCounts(deps),
    askOrders(deps, () => deps.stuckOrders(STUCK)),
    askOrders(deps, () => deps.recentOrders(RECENT)),
  ]);
  return {
    version,
    generatedAt: new Date(deps.clock.now()).toISOString(),
    isReady: readiness.ready,
    reasons: readiness.reasons,
    states:
      counts === undefined
        ? null
        : ORDER_STATES.map((state) => ({
            state,
            count: counts.byState[state],
            oldestSeconds: isTerminal(state) ? null : (counts.oldestSecondsByState[state] ?? null),
          })),
    deliveries:
      counts === undefined ? null : { pending: counts.deliveriesPending, parked: counts.deliveriesParked },
    stuckOrders,
    recentOrders,
  };
}

async function askOrders(
  deps: ConsoleDeps,
  ask: () => Promise<readonly OrderRow[]>,
): Promise<readonly StatusOrder[] | null> {
  try {
    return (await withDeadline(ask(), deps.clock)).map(toStatusOrder);
  } catch (error) {
    deps.logger.warn({ err: error }, "orders could not be listed");
    return null;
  }
}

/** Key by key, so that a row with more in it than it should have shows no more than this. */
function toStatusOrder(row: OrderRow): StatusOrder {
  const { reason } = row;
  const code = reason?.code;
  return {
    orderId: row.orderId,
    placerOrderNumber: row.placerOrderNumber ?? null,
    connector: row.connector,
    operation: row.operation,
    facilityCode: row.facilityCode,
    requestId: row.requestId ?? null,
    state: row.state,
    changedAt: row.changedAt.toISOString(),
    reason: reason
      ? { code: code ?? null, text: reason.text, mend: code === undefined ? null : FAILURES[code].mend }
      : null,
  };
}
