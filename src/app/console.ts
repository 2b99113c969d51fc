import type pg from "pg";
import type { Daemon } from "../app.ts";
import type { Config } from "../config/config.ts";
import { listSecrets } from "../config/secret.ts";
import type { Connector } from "../connectors/connector.ts";
import type { MllpConnector } from "../connectors/mllp/mllp.ts";
import type { ConsoleDeps, ConsoleUser } from "../console/deps.ts";
import { createMetrics, type Metrics } from "../console/metrics.ts";
import { type RunningConsole, startConsole } from "../console/server.ts";
import type { Clock } from "../core/clock.ts";
import { type Condition, condition } from "../core/condition.ts";
import type { Logger } from "../core/logger.ts";
import { ORDER_STATES, type OrderState } from "../core/order-state.ts";
import { SecretMask } from "../core/secret-mask.ts";
import { COUNTED_PURPOSES } from "../core/service-quota.ts";
import { listWaitingCodes } from "../ledger/messages/waiting.ts";
import { findTakers } from "../ledger/operator/activity.ts";
import { countOpenDeliveries, countOrders, readAttention } from "../ledger/operator/still-orders.ts";
import { countOpenTasks } from "../ledger/operator/tasks.ts";
import { findRestored } from "../ledger/restored/restore.ts";
import { isWorkerThere, listWorkers } from "../ledger/workers/roster.ts";
import type { CountedPurpose, ServiceView } from "../operator/service-columns.ts";
import { readOrphaned } from "../operator/things/orphaned.ts";
import type { ServiceClient } from "../service/client.ts";
import type { AskedDeps } from "../standing/asked.ts";
import { restoredCondition } from "../standing/attention/restored.ts";
import type { LedgerCounts, ListenerRow } from "../standing/facts.ts";
import type { DaemonConnector } from "../standing/status-document.ts";
import { createActs } from "./acts/create-acts.ts";
import { CallMeter, estimateBacklog } from "./call-use.ts";
import { endingSecrets, exceededLimitsOf } from "./exceeded.ts";
import { listUntaken } from "./own-conditions.ts";
import { refillOverviewOf } from "./refills.ts";
import { openService } from "./service.ts";

interface OpenConsoleDeps {
  readonly version: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Where the program of an alert's command is looked for. */
  readonly path?: string | undefined;
  /** What no answer may hold. */
  readonly secrets?: SecretMask | undefined;
}

/**
 * Starts the console of a running daemon. Close it before the daemon is stopped.
 * @throws Failure CONSOLE_…
 */
export async function openConsole(
  daemon: Daemon,
  { version, logger, clock, path, secrets = secretsOf(daemon.configuration.config) }: OpenConsoleDeps,
): Promise<RunningConsole> {
  const { pool } = daemon;
  const { config } = daemon.configuration;
  const metrics = createMetrics(version, {
    logLines: () => daemon.log?.missingInAll ?? 0,
    spans: daemon.droppedSpans,
  });
  const meter = daemon.service && new CallMeter(daemon.service, clock);
  const unwatch = watch(daemon, metrics, meter);
  const deps: ConsoleDeps = {
    ...daemonView(daemon, clock),
    listeners: () => daemon.connectors.flatMap(toListenerRow),
    service: (counts) => serviceViewOf(daemon, clock, meter, counts),
    records: {
      pool,
      config,
      queues: daemon.queues,
      acts: createActs({
        ...{
          pool,
          config,
          profiles: daemon.configuration.profiles,
          alertParts: { version, logger, clock, path },
        },
        withService: (work) => withServiceOf(daemon, clock, logger, work),
      }),
    },
    metrics,
    logger,
    clock,
    mask: (text) => secrets.mask(text),
  };
  const { host, port, trustedProxies } = config.console;
  const running = await startConsole(
    { host, port, users: consoleUsers(config), trustedProxies, version },
    deps,
  );
  return {
    url: running.url,
    close: async () => {
      unwatch();
      await running.close();
    },
  };
}

/** Who may use the console. */
export function consoleUsers({ console: { token, users } }: Pick<Config, "console">): ConsoleUser[] {
  const own =
    token === undefined ? [] : [{ name: "operator", token: token.reveal(), role: "operator" as const }];
  const named = Object.entries(users).map(([name, each]) => ({
    name,
    token: each.token.reveal(),
    role: each.role,
  }));
  return [...own, ...named];
}

/** The service by the daemon's own client, or, where the daemon has none, by one for the time of the work. */
async function withServiceOf<T>(
  { service, configuration: { config } }: Daemon,
  clock: Clock,
  logger: Logger,
  work: (service: ServiceClient) => Promise<T>,
): Promise<T> {
  if (service) return work(service);
  const own = openService(config, { clock, logger });
  try {
    return await work(own);
  } finally {
    await own.close();
  }
}

function secretsOf(config: Config): SecretMask {
  const secrets = new SecretMask();
  for (const secret of listSecrets(config)) secrets.add(secret);
  return secrets;
}

/** What the console shows of the ledger alone, with or without a daemon. */
export function ledgerView(
  pool: pg.Pool,
  config: Pick<Config, "connectors" | "lanes" | "refills">,
  clock: Clock,
): Pick<
  ConsoleDeps,
  "counts" | "refills" | "waiting" | "orphaned" | "attention" | "takers" | "restored" | "workers"
> {
  return {
    counts: () => readCounts(pool),
    refills: refillOverviewOf(pool, config.refills, clock),
    waiting: () => listWaitingCodes(pool),
    orphaned: () => readOrphaned({ pool, config }),
    attention: () => readAttention(pool, config.lanes.parkedBlocks),
    takers: () =>
      findTakers(
        pool,
        config.connectors.map(({ name }) => name),
      ),
    restored: async () => (await findRestored(pool)) ?? null,
    workers: () => listWorkers(pool),
  };
}

/** How a daemon and its ledger stand, for the console and for alerts. */
export function daemonView(daemon: Daemon, clock: Clock): Omit<AskedDeps, "logger" | "clock" | "mask"> {
  return {
    ...ledgerView(daemon.pool, daemon.configuration.config, clock),
    // Its own conditions are among the reasons, as they are right now.
    workers: async () =>
      (await listWorkers(daemon.pool)).map((worker) =>
        worker.id === daemon.workerId ? { ...worker, conditions: [] } : worker,
      ),
    own: daemon.conditions,
    byLedger: () => readByLedger(daemon),
    machine: async () => [
      ...(await daemon.machineConditions()),
      ...endingSecrets(daemon.configuration.config, new Date(clock.now())),
    ],
    limits: exceededLimitsOf(daemon.pool, daemon.configuration.config, clock),
    untaken: () => listUntaken(daemon.connectors),
    connectors: () => daemon.connectors.map((connector) => toConnectorRow(connector, daemon)),
  };
}

/** Keeps the metrics up to date until the returned function is called. */
function watch({ service, observe }: Daemon, metrics: Metrics, meter: CallMeter | undefined): () => void {
  const unobserve = observe({
    serviceCalled: ({ route, outcome, ms }) =>
      metrics.recordServiceRequest({ route, outcome, seconds: ms / 1_000 }),
    messagesCommitted: (connector, verdicts) => {
      for (const { verdict } of verdicts) metrics.recordMessages(connector, verdict);
    },
    messagesTaken: ({ connector, ms }) => metrics.recordIntake(connector, ms / 1_000),
    ordersMoved: (steps) => {
      for (const step of steps) metrics.recordStep(step);
      meter?.moved(steps);
    },
    resultsSent: (results) => {
      for (const { connector, seconds } of results) metrics.recordStage(connector, "result", seconds);
    },
    jobFinished: ({ queue, outcome, ms }) => metrics.recordJob(queue, outcome, ms / 1_000),
  });
  if (service) metrics.setBreaker(service.breaker.state);
  const unwatchBreaker = service?.breaker.onChange(({ state }) => metrics.setBreaker(state));
  return () => {
    unobserve();
    unwatchBreaker?.();
  };
}

/** Orders are taken while the ledger answers, also where nobody works them off. */
async function readByLedger({ queues, pool }: Daemon): Promise<Condition[]> {
  const isWorkedOff = queues !== undefined || (await isWorkerThere(pool));
  const restored = await findRestored(pool);
  const isComparing = restored !== undefined && restored.uncompared > 0;
  return [
    ...(isWorkedOff
      ? []
      : [
          condition("daemonTrouble", "", NO_WORKER, {
            part: "daemons",
            brief: { words: "none has the role worker: nothing is sent to the service or the lab" },
          }),
        ]),
    ...(isComparing ? [restoredCondition(restored)] : []),
  ];
}

/** For a daemon whose work another one does. */
const NO_WORKER =
  "no daemon with the role worker works on this ledger: orders are taken, and nothing is sent to the service or the lab until one is started";

async function readCounts(pool: pg.Pool): Promise<LedgerCounts> {
  const [orders, deliveries, tasks] = await Promise.all([
    countOrders(pool),
    countOpenDeliveries(pool),
    countOpenTasks(pool),
  ]);
  const counts = new Map(orders.map(({ state, count }) => [state, count]));
  return {
    byState: Object.fromEntries(ORDER_STATES.map((state) => [state, counts.get(state) ?? 0])) as Record<
      OrderState,
      number
    >,
    oldestSecondsByState: Object.fromEntries(
      orders.flatMap(({ state, oldestSeconds }) =>
        oldestSeconds === undefined ? [] : [[state, oldestSeconds]],
      ),
    ),
    deliveriesPending: deliveries.pending,
    deliveriesParked: deliveries.parked,
    tasks,
  };
}

function toConnectorRow(connector: Connector, daemon: Daemon): DaemonConnector {
  const { name, type, trouble = null, warning = null } = connector;
  const outage = daemon.labOutage(name);
  return {
    ...{ connector: name, type, isTaking: daemon.isTaking, trouble, warning },
    labOutage: outage
      ? { since: outage.since.toISOString(), nextTryAt: outage.nextTryAt.toISOString() }
      : null,
    connections: listeningOf(connector)?.connections ?? null,
  };
}

function serviceViewOf(
  { service, configuration: { config } }: Daemon,
  clock: Clock,
  meter: CallMeter | undefined,
  counts: LedgerCounts | undefined,
): ServiceView | undefined {
  if (service === undefined) return undefined;
  const { breaker, tokenLife, callsAtOnce, sent, lastMinute } = service;
  const { calls, windowMs, source } = service.limit.quota;
  const { state, opening, isAnswering = null, lastAnswerAt } = breaker;
  const { maxRequestsPerSecond, maxRequestsPerMinute = null } = config.service;
  return {
    ...{ breaker: state, callsAtOnce, maxRequestsPerSecond, maxRequestsPerMinute },
    opening: opening
      ? {
          ...{ since: opening.since.toISOString(), text: opening.cause.text },
          nextTryAt: opening.nextTryAt.toISOString(),
        }
      : null,
    isReachable: state === "closed" ? isAnswering : false,
    answeredAt: lastAnswerAt?.toISOString() ?? null,
    hasApiToken: "apiToken" in config.service.auth,
    tokenEndsAt: tokenLife ? new Date(clock.now() + tokenLife.leftMs).toISOString() : null,
    callsLastMinute: lastMinute.calls,
    refusedLastMinute: lastMinute.refused,
    callsByPurpose: byPurpose(lastMinute.byPurpose),
    limit: { calls, seconds: windowMs / 1_000, source },
    backlog: (counts && meter && estimateBacklog(counts, meter.read(), service)) ?? null,
    calls: sent.calls,
    refused: sent.refused,
    callsByPurposeInAll: byPurpose(sent.byPurpose),
  };
}

function byPurpose(counts: ReadonlyMap<CountedPurpose, number>): Record<CountedPurpose, number> {
  const entries = COUNTED_PURPOSES.map((purpose) => [purpose, counts.get(purpose) ?? 0]);
  return Object.fromEntries(entries) as Record<CountedPurpose, number>;
}

function listeningOf(connector: Connector): MllpConnector["listening"] {
  return "listening" in connector ? (connector as MllpConnector).listening : undefined;
}

function toListenerRow(connector: Connector): ListenerRow[] {
  const listening = listeningOf(connector);
  return listening === undefined ? [] : [{ connector: connector.name, ...listening }];
}
