import { FAILURES, type FailureCode } from "../core/failures.ts";
import { OPEN_STATES, TERMINAL_STATES } from "../core/order-state.ts";
import { type TankAge, tankName } from "../jobs/refills/tanks.ts";
import type { FailingDeliveries } from "../ledger/operator/attention.ts";
import type { TaskCount } from "../ledger/operator/tasks.ts";
import type { Restored } from "../ledger/restored/restore.ts";
import type { Orphaned } from "../ledger/results/orphaned.ts";
import type { WorkerView } from "../ledger/workers/roster.ts";
import {
  askAttention,
  askCounts,
  askLimits,
  askOrders,
  askOrphaned,
  askReadiness,
  askRefills,
  askRestored,
  askWaiting,
  askWorkers,
} from "./ask.ts";
import { describeRestored, listAttention } from "./attention.ts";
import type { AskedDeps } from "./deps.ts";
import type { OrderRow } from "./facts.ts";
import { describeOrphaned, hintForOrphaned } from "./orphaned.ts";
import type {
  Status,
  StatusDeliveries,
  StatusOrder,
  StatusOrphaned,
  StatusRestored,
  StatusTank,
  StatusWorker,
} from "./status-document.ts";

const RECENT = 25;
const STUCK = 50;
const TANKS = 50;
const WAITING = 50;

/** How things stand, as one document. Answers within seconds even while the ledger does not. */
export async function readStatus(deps: AskedDeps, version: string): Promise<Status> {
  const [readiness, counts, stuck, recent, refills, waiting, still, left, restored, workers, limits] =
    await Promise.all([
      askReadiness(deps),
      askCounts(deps),
      askOrders(deps, () => deps.stuckOrders(STUCK)),
      askOrders(deps, () => deps.recentOrders(RECENT)),
      askRefills(deps),
      askWaiting(deps),
      askAttention(deps),
      askOrphaned(deps),
      askRestored(deps),
      askWorkers(deps),
      askLimits(deps),
    ]);
  const unread = [
    ...(counts === undefined ? ["how many orders and results wait"] : []),
    ...(stuck === undefined ? ["which orders are parked"] : []),
    ...(deps.waiting && waiting === undefined ? ["which messages wait for a code"] : []),
    ...(deps.attention && still === undefined ? ["which results fail and which queues are paused"] : []),
    ...(deps.orphaned && left === undefined ? ["what waits of former connectors"] : []),
    ...(deps.restored && restored === undefined ? ["whether it was restored from an older copy"] : []),
    ...(deps.workers && workers === undefined ? ["which daemons work"] : []),
    ...(deps.limits && limits === undefined ? ["which limits are exceeded"] : []),
    ...(deps.refills && refills === undefined ? ["which tanks are overdue"] : []),
  ];
  const gone = new Set(left?.map(({ connector }) => connector));
  const facts = {
    version,
    generatedAt: new Date(deps.clock.now()).toISOString(),
    isReady: readiness.ready,
    reasons: readiness.reasons,
    states:
      counts === undefined
        ? null
        : OPEN_STATES.map((state) => ({
            state,
            count: counts.byState[state],
            oldestSeconds: counts.oldestSecondsByState[state] ?? null,
          })),
    endedLastDay:
      counts === undefined ? null : TERMINAL_STATES.map((state) => ({ state, count: counts.byState[state] })),
    deliveries:
      counts === undefined
        ? null
        : {
            pending: counts.deliveriesPending,
            parked: counts.deliveriesParked,
          },
    tasks: counts === undefined ? null : sumTasks(counts.tasks),
    stuckOrders: stuck?.map(toStatusOrder) ?? null,
    stillOrders:
      still?.orders.map(({ kind, count, since, code, text }) => ({
        ...{ kind, count, since: since.toISOString() },
        ...{ code: code ?? null, text: text ?? null, hint: hintOfCode(code) },
      })) ?? null,
    recentOrders: recent?.map(toStatusOrder) ?? null,
    waitingMessages:
      waiting?.slice(0, WAITING).map(({ kind, code, connector, messages, since, hint }) => ({
        ...{ kind, code: code ?? null, connector, messages },
        since: since.toISOString(),
        hint: hint ?? null,
      })) ?? null,
    failingDeliveries:
      still?.deliveries.filter(({ connector }) => !gone.has(connector)).map(toStatusDeliveries) ?? null,
    pausedQueues:
      still?.pausedQueues.map(({ queue, pausedAt, actor }) => ({
        queue,
        since: pausedAt.toISOString(),
        actor,
      })) ?? null,
    refusals:
      still?.refusals.map(({ kind, connector, count, latestAt }) => ({
        kind,
        connector,
        count,
        latestAt: latestAt.toISOString(),
      })) ?? null,
    restored: restored ? toStatusRestored(restored) : null,
    orphaned: left?.map(toStatusOrphaned) ?? null,
    untakenFiles: untakenStatus(deps),
    limits: limits ?? null,
    workers: workers?.flatMap(toStatusWorker) ?? null,
    overdueTanks:
      refills?.tanks
        .filter(({ isOverdue }) => isOverdue)
        .slice(0, TANKS)
        .map(toStatusTank) ?? null,
  };
  return { ...facts, attention: listAttention(facts, unread, readiness.subjectByReason) };
}

/** Dropped files that aren't taken, as the status has them. */
export function untakenStatus({ untaken }: Pick<AskedDeps, "untaken">): Status["untakenFiles"] {
  const found = untaken?.().map(({ connector, reason, count, since, marker }) => ({
    ...{ connector, reason, count, since: since.toISOString() },
    marker: marker ?? null,
  }));
  return found ?? null;
}

function toStatusDeliveries(found: FailingDeliveries): StatusDeliveries {
  const { connector, state, count, since, code, text } = found;
  return { connector, state, count, since: since.toISOString(), code, text, hint: hintOfCode(code) };
}

/** A code in the ledger may be one that this release doesn't know. */
function hintOfCode(code: string | undefined): string | null {
  return FAILURES[code as FailureCode]?.hint ?? null;
}

function toStatusOrphaned(left: Orphaned): StatusOrphaned {
  const { connector, results, orders, messages, since } = left;
  return {
    ...{ connector, results, orders, messages },
    since: since.toISOString(),
    text: describeOrphaned(left),
    hint: hintForOrphaned(left),
  };
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
    reason: reason ? { code: code ?? null, text: reason.text, hint: hintOfCode(code) } : null,
  };
}

/** One that stopped by itself is nobody's business. */
function toStatusWorker(worker: WorkerView): StatusWorker[] {
  const { id, name, host, version, roles, isAlive, isLeader, drainAt, endedAs } = worker;
  if (endedAs === "stopped") return [];
  const works = isLeader ? "leads" : "works";
  return [
    {
      ...{ id: `w${id}`, name, host, version, roles },
      state: endedAs === "lost" ? "lost" : !isAlive ? "gone" : drainAt ? "stopping" : works,
      since: worker.startedAt.toISOString(),
      seenAt: worker.heartbeatAt.toISOString(),
      ordersInHand: worker.inHand,
    },
  ];
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

function toStatusRestored(restored: Restored): StatusRestored {
  const { at, forgottenSince, watchedUntil, open, uncompared } = restored;
  return {
    text: describeRestored(restored),
    noticedAt: at.toISOString(),
    forgottenSince: forgottenSince.toISOString(),
    watchedUntil: watchedUntil.toISOString(),
    openOrders: open,
    uncomparedOrders: uncompared,
  };
}

function sumTasks(tasks: readonly TaskCount[]): Status["tasks"] {
  const oldest = tasks.map(({ oldestSeconds }) => oldestSeconds);
  return {
    open: tasks.reduce((sum, { count }) => sum + count, 0),
    oldestSeconds: oldest.length === 0 ? null : Math.max(...oldest),
  };
}
