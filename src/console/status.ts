import { FAILURES, type FailureCode } from "../core/failures.ts";
import type { Operation } from "../core/order.ts";
import { isTerminal, ORDER_STATES, type OrderState } from "../core/order-state.ts";
import { type TankAge, tankName } from "../jobs/tanks.ts";
import type { FailingDeliveries } from "../ledger/attention.ts";
import type { JournalState } from "../ledger/journal/journal.ts";
import type { LeftBehind } from "../ledger/left-behind.ts";
import type { TaskCount } from "../ledger/tasks.ts";
import type { WaitingCode } from "../ledger/waiting-messages.ts";
import {
  askAttention,
  askCounts,
  askLeftBehind,
  askReadiness,
  askRefills,
  askServiceChanges,
  askWaiting,
  withDeadline,
} from "./ask.ts";
import { type Attention, tellAttention } from "./attention.ts";
import type { ConsoleDeps, OrderRow } from "./deps.ts";
import { mendLeftBehind, needsPerson, tellLeftBehind } from "./tell-left-behind.ts";

const RECENT = 25;
const STUCK = 50;
const TANKS = 50;
const WAITING = 50;
/** Long enough for a person who looks once a week. */
const CHANGE_SHOWN_MS = 7 * 86_400_000;

/** The document of `/api/status`. Keys are stable; times are ISO 8601. */
export interface Status {
  readonly version: string;
  readonly generatedAt: string;
  readonly isReady: boolean;
  readonly reasons: readonly string[];
  /** All that somebody should know, in words, what needs a person first; empty when all is well. */
  readonly attention: readonly Attention[];
  /** Every state, in the order in which orders pass them; null while the ledger is out of reach. */
  readonly states:
    | readonly { readonly state: OrderState; readonly count: number; readonly oldestSeconds: number | null }[]
    | null;
  /** `held` of the pending ones wait behind another one of their order. */
  readonly deliveries: {
    readonly pending: number;
    readonly parked: number;
    readonly held: number;
    /** Those of the pending ones that fail for a reason of their own, while others get through. */
    readonly aside: number;
  } | null;
  /** Things for a person to do; null while the ledger is out of reach. */
  readonly tasks: { readonly open: number; readonly oldestSeconds: number | null } | null;
  /** Orders that need a person, longest waiting first; null while the ledger is out of reach. */
  readonly stuckOrders: readonly StatusOrder[] | null;
  /** The orders that changed last; null while the ledger is out of reach. */
  readonly recentOrders: readonly StatusOrder[] | null;
  /** What messages wait for, oldest first; null while the ledger is out of reach. */
  readonly waitingMessages: readonly StatusWaiting[] | null;
  /** Results that were tried and that the lab doesn't have, by connector and failure; null while that can't be told. */
  readonly failingDeliveries: readonly StatusDeliveries[] | null;
  /** Queues that an operator has paused; null while that can't be told. */
  readonly pausedQueues:
    | readonly { readonly queue: string; readonly since: string; readonly actor: string }[]
    | null;
  /** What was refused within a day among the last messages, by connector; null while that can't be told. */
  readonly refusals:
    | readonly { readonly connector: string; readonly count: number; readonly latestAt: string }[]
    | null;
  /** What waits of connectors that aren't configured; null while that can't be told. */
  readonly leftBehind: readonly StatusLeftBehind[] | null;
  /** Tanks that were not refilled for too long, longest first; null when no refills are followed. */
  readonly overdueTanks: readonly StatusTank[] | null;
  /** What the service changed in the last week, latest first; null while that can't be told. */
  readonly serviceChanges:
    | readonly { readonly finding: string; readonly text: string; readonly changedAt: string }[]
    | null;
  /** The journals in front of the ledger, by connector; empty where there are none. */
  readonly journals: readonly JournalState[];
}

/** Messages that wait for the same code, in the status document. */
export interface StatusWaiting {
  readonly kind: WaitingCode["kind"];
  readonly code: string | null;
  readonly connector: string;
  readonly messages: number;
  readonly since: string;
}

/** Results with one failure, in the status document. */
export interface StatusDeliveries {
  readonly connector: string;
  /** `pending` is tried again by itself, `parked` waits for a person. */
  readonly state: "pending" | "parked";
  readonly count: number;
  readonly since: string;
  readonly code: string;
  readonly text: string;
  readonly mend: string | null;
}

/** What waits of a connector that isn't configured, in the status document. */
export interface StatusLeftBehind {
  readonly connector: string;
  readonly results: number;
  readonly orders: number;
  readonly messages: number;
  readonly since: string;
  readonly text: string;
  readonly mend: string;
}

/** A tank in the status document. */
export interface StatusTank {
  readonly facilityCode: string;
  readonly storageId: number | null;
  /** Its name, or words that stand for it. */
  readonly storage: string;
  readonly lastRefillAt: string | null;
  /** What its age is counted from: the last refill, or when it was first seen. */
  readonly since: string;
}

/** An order in the status document. */
export interface StatusOrder {
  readonly orderId: string;
  readonly placerOrderNumber: string | null;
  /** Who assigned that number, where a message told. */
  readonly placerAuthority: string | null;
  readonly connector: string;
  readonly operation: Operation;
  readonly facilityCode: string;
  readonly requestId: number | null;
  readonly procedureId: number | null;
  readonly state: OrderState;
  readonly changedAt: string;
  readonly reason: {
    readonly code: FailureCode | null;
    readonly text: string;
    readonly mend: string | null;
  } | null;
}

/** What the document is made of: all that the console has but its metrics and listeners. */
export type StatusDeps = Omit<ConsoleDeps, "metrics" | "listeners">;

/** How things stand, as one document. Answers within seconds even while the ledger does not. */
export async function readStatus(deps: StatusDeps, version: string): Promise<Status> {
  const [readiness, counts, stuckOrders, recentOrders, refills, changes, waiting, still, left] =
    await Promise.all([
      askReadiness(deps),
      askCounts(deps),
      askOrders(deps, () => deps.stuckOrders(STUCK)),
      askOrders(deps, () => deps.recentOrders(RECENT)),
      askRefills(deps),
      askServiceChanges(deps),
      askWaiting(deps),
      askAttention(deps),
      askLeftBehind(deps),
    ]);
  const facts = {
    unread: [
      ...(counts === undefined ? ["how many orders and results wait"] : []),
      ...(stuckOrders === null ? ["which orders are parked"] : []),
      ...(deps.waiting && waiting === undefined ? ["which messages wait for a code"] : []),
      ...(deps.attention && still === undefined ? ["which results fail and which queues are paused"] : []),
      ...(deps.leftBehind && left === undefined ? ["what waits of former connectors"] : []),
      ...(deps.refills && refills === undefined ? ["which tanks are overdue"] : []),
    ],
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
      counts === undefined
        ? null
        : {
            pending: counts.deliveriesPending,
            parked: counts.deliveriesParked,
            held: counts.deliveriesHeld,
            aside: counts.deliveriesAside,
          },
    tasks: counts === undefined ? null : sumTasks(counts.tasks),
    stuckOrders,
    recentOrders,
    waitingMessages:
      waiting?.slice(0, WAITING).map(({ kind, code, connector, messages, since }) => ({
        ...{ kind, code: code ?? null, connector, messages },
        since: since.toISOString(),
      })) ?? null,
    failingDeliveries: still?.deliveries.map(toStatusDeliveries) ?? null,
    pausedQueues:
      still?.pausedQueues.map(({ queue, pausedAt, actor }) => ({
        queue,
        since: pausedAt.toISOString(),
        actor,
      })) ?? null,
    refusals:
      still?.refusals.map(({ connector, count, latestAt }) => ({
        connector,
        count,
        latestAt: latestAt.toISOString(),
      })) ?? null,
    leftBehind: left?.filter(needsPerson).map(toStatusLeftBehind) ?? null,
    overdueTanks:
      refills?.tanks
        .filter(({ isOverdue }) => isOverdue)
        .slice(0, TANKS)
        .map(toStatusTank) ?? null,
    serviceChanges:
      changes
        ?.filter(({ changedAt }) => deps.clock.now() - changedAt.getTime() < CHANGE_SHOWN_MS)
        .map(({ finding, text, changedAt }) => ({ finding, text, changedAt: changedAt.toISOString() })) ??
      null,
    journals: deps.journals?.() ?? [],
  };
  const { unread, ...told } = facts;
  return { ...told, attention: tellAttention(told, unread) };
}

function toStatusDeliveries(found: FailingDeliveries): StatusDeliveries {
  const { connector, state, count, since, code, text } = found;
  return { connector, state, count, since: since.toISOString(), code, text, mend: mendOfCode(code) };
}

/** A code in the ledger may be one that this release doesn't know. */
function mendOfCode(code: string | undefined): string | null {
  return FAILURES[code as FailureCode]?.mend ?? null;
}

function toStatusLeftBehind(left: LeftBehind): StatusLeftBehind {
  const { connector, results, orders, messages, since } = left;
  return {
    ...{ connector, results, orders, messages },
    since: since.toISOString(),
    text: tellLeftBehind(left),
    mend: mendLeftBehind(left),
  };
}

async function askOrders(
  deps: StatusDeps,
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
    placerAuthority: row.placerAuthority ?? null,
    connector: row.connector,
    operation: row.operation,
    facilityCode: row.facilityCode,
    requestId: row.requestId ?? null,
    procedureId: row.procedureId ?? null,
    state: row.state,
    changedAt: row.changedAt.toISOString(),
    reason: reason ? { code: code ?? null, text: reason.text, mend: mendOfCode(code) } : null,
  };
}

function toStatusTank(tank: TankAge): StatusTank {
  return {
    facilityCode: tank.facilityCode,
    storageId: tank.storageId ?? null,
    storage: tankName(tank),
    lastRefillAt: tank.lastRefillAt?.toISOString() ?? null,
    since: tank.since.toISOString(),
  };
}

function sumTasks(tasks: readonly TaskCount[]): Status["tasks"] {
  const oldest = tasks.map(({ oldestSeconds }) => oldestSeconds);
  return {
    open: tasks.reduce((sum, { count }) => sum + count, 0),
    oldestSeconds: oldest.length === 0 ? null : Math.max(...oldest),
  };
}
