import { isOn } from "../core/alert.ts";
import { type AlertCondition, isAlerted } from "../core/condition.ts";
import { FAILURES, type FailureCode } from "../core/failures.ts";
import { OPEN_STATES, TERMINAL_STATES } from "../core/order-state.ts";
import { whoSeesTo } from "../core/who.ts";
import { type TankAge, tankName } from "../jobs/refills/tanks.ts";
import { formatId } from "../ledger/ids.ts";
import type { TaskCount } from "../ledger/operator/tasks.ts";
import type { Restored } from "../ledger/restored/restore.ts";
import type { WorkerView } from "../ledger/workers/roster.ts";
import { readyHint } from "../operator/ready-hint.ts";
import { standingOf } from "../operator/worker-columns.ts";
import { type Answers, askAll, haltOf, isReady, reasonsOf } from "./ask.ts";
import type { AskedDeps } from "./asked.ts";
import { listAttention, listConditions } from "./attention/conditions.ts";
import { orphanedWords } from "./attention/orphaned.ts";
import { describeRestored } from "./attention/restored.ts";
import type { LedgerCounts } from "./facts.ts";
import { partsOf } from "./parts.ts";
import type {
  DaemonConnector,
  Json,
  Status,
  StatusConnector,
  StatusRestored,
  StatusTank,
  StatusWorker,
} from "./status-document.ts";

type Facts = Omit<Status, "version" | "attention" | "parts" | "connectors"> & {
  readonly connectors: readonly Omit<StatusConnector, "isLabAway">[] | null;
};

const TANKS = 50;
const WAITING = 50;

/** How things stand, as one document. Answers within seconds even while the ledger does not. */
export async function readStatus(deps: AskedDeps, version: string): Promise<Status> {
  const answers = await askAll(deps, ["takers"]);
  const facts = factsOf(deps, answers);
  const conditions = listConditions(facts, answers);
  const away = new Set(conditions.flatMap(({ part, about }) => (part === "lab" ? [about] : [])));
  const connectors = facts.connectors?.map((each) => ({ ...each, isLabAway: away.has(each.connector) }));
  const all = { ...facts, connectors: connectors ?? null };
  return {
    ...{ version, ...all, attention: listAttention(conditions, all) },
    parts: partsOf(all, conditions, answers.own),
  };
}

function factsOf(deps: AskedDeps, answers: Answers): Facts {
  const { own, counts, refills, waiting, attention: still, orphaned, restored, workers } = answers;
  const gone = new Set(orphaned?.map(({ connector }) => connector));
  return {
    generatedAt: new Date(deps.clock.now()).toISOString(),
    isReady: isReady(own),
    reasons: reasonsOf(own),
    ...countsStatus(counts),
    stillOrders: still?.orders.map(withHint) ?? null,
    waitingMessages: waiting?.slice(0, WAITING).map((each) => json({ hint: undefined, ...each })) ?? null,
    failingDeliveries:
      still?.deliveries.filter(({ connector }) => !gone.has(connector)).map(withHint) ?? null,
    pausedQueues: still?.pausedQueues.map(json) ?? null,
    failingAlertPlaces: still?.alertPlaces.map(json) ?? null,
    refusals: still?.refusals.map(json) ?? null,
    restored: restored ? toStatusRestored(restored) : null,
    orphaned:
      orphaned?.map((each) => ({
        ...json(each),
        ...orphanedWords(each),
      })) ?? null,
    untakenFiles: untakenStatus(deps),
    connectors: deps.connectors?.().map((each) => toStatusConnector(each, answers)) ?? null,
    service: deps.service?.(counts) ?? null,
    limits: answers.limits ? [...answers.limits, ...(answers.machine ?? [])] : null,
    workers: workers?.flatMap((worker) => toStatusWorker(worker, workers)) ?? null,
    overdueTanks:
      refills?.tanks
        .filter(({ isOverdue }) => isOverdue)
        .slice(0, TANKS)
        .map(toStatusTank) ?? null,
  };
}

function countsStatus(
  counts: LedgerCounts | undefined,
): Pick<Status, "states" | "endedLastDay" | "deliveries" | "tasks"> {
  if (counts === undefined) return { states: null, endedLastDay: null, deliveries: null, tasks: null };
  const { byState, oldestSecondsByState, deliveriesPending: pending, deliveriesParked: parked } = counts;
  return {
    states: OPEN_STATES.map((state) => ({
      ...{ state, count: byState[state], oldestSeconds: oldestSecondsByState[state] ?? null },
    })),
    endedLastDay: TERMINAL_STATES.map((state) => ({ state, count: byState[state] })),
    deliveries: { pending, parked },
    tasks: sumTasks(counts.tasks),
  };
}

/**
 * With what this daemon alone doesn't know of a connector: whether its lab has ever taken a result. What halts the whole intake keeps the
 * connector, too. Whether the lab is away is among the conditions, whichever daemon says so.
 */
function toStatusConnector(
  row: DaemonConnector,
  { own, takers }: Answers,
): Omit<StatusConnector, "isLabAway"> {
  const { connector, isTaking, trouble } = row;
  return {
    ...row,
    trouble: trouble ?? (isTaking ? haltOf(own)?.text : undefined) ?? null,
    hasTakenResults: takers?.has(connector) ?? null,
  };
}

/** Dropped files that aren't taken, as the status has them. */
export function untakenStatus({ untaken }: Pick<AskedDeps, "untaken">): Status["untakenFiles"] {
  return untaken?.().map((each) => json({ marker: undefined, ...each })) ?? null;
}

function json<Row extends object>(row: Row): Json<Row> {
  const values = Object.entries(row).map(([key, value]) => [
    key,
    value instanceof Date ? value.toISOString() : (value ?? null),
  ]);
  return Object.fromEntries(values);
}

interface Group {
  readonly code: string | undefined;
  readonly count: number;
  readonly orderId?: string;
  readonly deliveryId?: string;
}

/** With what to do by its code, which may be one that this release doesn't know; for a single one with its id. */
function withHint<Row extends Group>(row: Row) {
  const { code, count, orderId: order, deliveryId: result } = row;
  const hint = FAILURES[code as FailureCode]?.hint;
  return {
    ...json(row),
    who: whoSeesTo(code ?? "UNCLASSIFIED"),
    hint: hint === undefined ? null : readyHint(hint, count === 1 ? { order, result } : {}),
  };
}

/** One that stopped by itself is nobody's business. */
function toStatusWorker(worker: WorkerView, all: readonly WorkerView[]): StatusWorker[] {
  const { id, name, host, version, roles, isAlive, configuration } = worker;
  const state = standingOf(worker);
  if (state === "stopped") return [];
  return [
    {
      ...{ id: formatId("w", id), name, host, version, roles, state },
      since: worker.startedAt.toISOString(),
      seenAt: worker.heartbeatAt.toISOString(),
      ordersInHand: worker.inHand,
      configuration: configuration && {
        changed: configuration.changed,
        restart: configuration.restart,
        problems: configuration.problems,
      },
      conditions: isAlive ? worker.conditions : lastingConditions(worker, all),
    },
  ];
}

/**
 * What is wrong with a machine is not over because its daemon died: that holds until another daemon of the machine can say. What is true
 * of the service or the ledger the others say themselves.
 */
function lastingConditions({ host, heartbeatAt, conditions }: WorkerView, all: readonly WorkerView[]) {
  const isReplaced = all.some((each) => each.host === host && (each.isAlive || each.startedAt > heartbeatAt));
  return isReplaced ? [] : conditions.filter(({ about }) => isOn(host, about));
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
  const { at, forgottenSince, watchedUntil, open, uncompared, adopted, parked, free } = restored;
  return {
    text: describeRestored(restored),
    noticedAt: at.toISOString(),
    forgottenSince: forgottenSince.toISOString(),
    watchedUntil: watchedUntil.toISOString(),
    openOrders: open,
    uncomparedOrders: uncompared,
    adoptedOrders: adopted,
    parkedOrders: parked,
    freeOrders: free,
  };
}

function sumTasks(tasks: readonly TaskCount[]): Status["tasks"] {
  const oldest = tasks.map(({ oldestSeconds }) => oldestSeconds);
  return {
    open: tasks.reduce((sum, { count }) => sum + count, 0),
    oldestSeconds: oldest.length === 0 ? null : Math.max(...oldest),
  };
}

/** The conditions of alerts that hold; undefined while the ledger did not answer everything, since what is unknown is not over. */
export function conditionsOf(deps: AskedDeps, answers: Answers): AlertCondition[] | undefined {
  if (answers.unread.length > 0) return undefined;
  return listConditions(factsOf(deps, answers), answers).filter(isAlerted);
}
