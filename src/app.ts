import { hostname } from "node:os";
import type pg from "pg";
import { createConnector, keepTakenBack, profileOf, watchArchive } from "./app/connectors.ts";
import { openIntake, releaseAtStart } from "./app/intake.ts";
import { deliveryTargets, runJobs } from "./app/jobs.ts";
import { type OpenLedger, openLedger, openQueueBackend } from "./app/open-ledger.ts";
import { noteOrphaned } from "./app/orphaned.ts";
import { compileProfiles } from "./app/profiles.ts";
import { startRefills } from "./app/refills.ts";
import { openEpoch, startRestored } from "./app/restored.ts";
import { ROLES, type Role } from "./app/roles.ts";
import { openService, serviceTrouble, shapeTroubles } from "./app/service.ts";
import { watchService } from "./app/service-watch.ts";
import { startSideLoops } from "./app/side-loops.ts";
import { watchEventLoop } from "./app/watch-event-loop.ts";
import type { Config } from "./config/config.ts";
import type { Connector } from "./connectors/connector.ts";
import { type Trouble, trouble } from "./core/alert.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import type { Failure } from "./core/failures.ts";
import type { MessageVerdict } from "./core/intake.ts";
import type { Logger } from "./core/logger.ts";
import type { TerminalState } from "./core/order-state.ts";
import { VERSION } from "./core/version.ts";
import { type Feeder, startFeeder } from "./jobs/feeder.ts";
import type { IntakeDeps } from "./jobs/intake/intake.ts";
import { type JobQueues, openQueues } from "./jobs/queues.ts";
import type { Abandoned } from "./jobs/submit/deps.ts";
import { pollPauseMs } from "./jobs/track/track.ts";
import { acquireDaemonLock } from "./ledger/embedded/lock.ts";
import { findInstanceCode } from "./ledger/migrate.ts";
import { joinWorkers, type Membership } from "./ledger/workers/membership.ts";
import { reportToOthers } from "./ledger/workers/service-pause.ts";
import type { Profile } from "./mapping/profile/profile.ts";
import type { ProfileDefinition } from "./mapping/profile/schema.ts";
import type { ServiceClient } from "./service/client.ts";
import { LONGEST_RETRY_MS } from "./service/http/answer.ts";
import type { ObservedCall } from "./service/http/transport.ts";

export interface DaemonOptions {
  readonly roles: ReadonlySet<Role>;
  readonly logger: Logger;
  readonly clock?: Clock | undefined;
  /** Reads the configuration again, for secrets that were rotated while the daemon runs. */
  readonly readAgain?: (() => Config<ProfileDefinition>) | undefined;
  /** Called when the daemon can't go on, such as when the ledger was put back under it. */
  readonly onFatal: (failure: Failure) => void;
  /** Called when a person asked this worker to stop. */
  readonly onDrain?: (() => void) | undefined;
}

/** Is called with what a daemon does. Must not throw. */
export interface DaemonObserver {
  serviceCalled(call: ObservedCall): void;
  messagesCommitted(connector: string, verdicts: readonly MessageVerdict[]): void;
  /** The states in which orders ended, as far as this daemon recorded it. */
  ordersEnded(states: readonly TerminalState[]): void;
}

/** A running daemon. */
export interface Daemon {
  readonly config: Config<ProfileDefinition>;
  readonly pool: pg.Pool;
  readonly queues: JobQueues | undefined;
  readonly service: ServiceClient | undefined;
  readonly connectors: readonly Connector[];
  /** Whether it takes what comes in. */
  readonly isTaking: boolean;
  /** Whether the lab takes no results through a connector, as far as this daemon sends them. */
  isLabAway(connector: string): boolean;
  /** Reports what happens, until the returned function is called; for metrics. */
  observe(observer: DaemonObserver): () => void;
  /** Why orders can't be taken or worked off right now; empty when all is well. */
  troubles(): Trouble[];
  /** Whether this daemon does now what one does for all. */
  isLeader(): boolean;
  /** Stops in the order in which work flows, and waits for what is in hand. */
  stop(): Promise<void>;
}

/** Orders handed to the submit queue at once for each worker: enough to keep it busy, few enough to stay quick to claim. */
const WINDOW = 1_000;
/**
 * Orders of a batch for each call that a worker may have under way at once, and at most: more in hand share their commits, but each
 * also waits for its turn to call, while its lease runs.
 */
const ORDERS_A_CALL = 4;
const MOST_ORDERS_A_BATCH = 64;
const TICK_MS = 1_000;
/** A feeder that has not read the ledger for this long hangs. */
const FEEDER_SILENT_MS = 120_000;

/**
 * Starts the daemon: ledger first, then what an earlier run left in hand, then queues, workers and connectors, so that
 * nothing is taken in before it can be kept.
 *
 * @throws Failure with what is in the way; everything that was started is stopped again.
 */
export async function startDaemon(
  config: Config<ProfileDefinition>,
  options: DaemonOptions,
): Promise<Daemon> {
  const { logger } = options;
  const clock = options.clock ?? systemClock;
  const closers: (() => Promise<unknown>)[] = [];
  const onClose = (close: () => Promise<unknown>) => closers.unshift(close);
  const stop = async () => {
    for (const close of closers.splice(0)) {
      await close().catch((error: unknown) =>
        logger.error({ err: error }, "a part could not be stopped cleanly"),
      );
    }
  };
  try {
    const profiles = await compileProfiles(config);
    for (const role of options.roles) onClose(await acquireDaemonLock(config.dataDir, clock, role));
    const observers = new Set<DaemonObserver>();
    const ledger = await openLedger(config, {
      ...{ clock, logger, isDaemon: true },
      onOrdersEnded: (states) => {
        for (const observer of observers) observer.ordersEnded(states);
      },
    });
    onClose(ledger.close);
    const watchdog = watchEventLoop(clock, logger);
    onClose(async () => watchdog.stop());
    const feeder: { current: Feeder | undefined } = { current: undefined };
    const membership = await join(config, options, ledger, () => feeder.current?.nudge());
    onClose(() => membership.leave());
    const context: Context = {
      ...{ config, options, profiles, clock, logger, ledger, membership, observers, onClose },
    };
    const connectors = await createConnectors(context, () => {
      feeder.current?.nudge();
      membership.wakeLeader();
    });
    if (options.roles.has("worker")) await noteOrphaned(ledger.pool, config, logger);
    const worker = options.roles.has("worker") ? await startWorker(context, connectors) : undefined;
    feeder.current = worker?.feeder;
    if (options.roles.has("intake")) {
      await releaseAtStart(ledger.pool, config, profiles, logger);
      await startConnectors(connectors, onClose);
    }
    return {
      config,
      pool: ledger.pool,
      queues: worker?.queues,
      service: worker?.service,
      connectors,
      isTaking: options.roles.has("intake"),
      isLabAway: (connector) => worker?.isLabAway(connector) === true,
      observe: (observer) => {
        observers.add(observer);
        return () => observers.delete(observer);
      },
      troubles: () => [
        ...connectors.flatMap(({ name, trouble: down, warning }) =>
          [down, warning].flatMap((words) =>
            words ? [trouble("connectorDown", name, `connector ${name}: ${words}`)] : [],
          ),
        ),
        ...watchdog.troubles().map((text) => trouble("daemonTrouble", "event loop", text)),
        ...(worker?.troubles() ?? []),
      ],
      isLeader: () => worker !== undefined && membership.isLeader,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Enters this daemon among those that work with the ledger. */
function join(
  config: Config,
  { roles, clock = systemClock, logger, onDrain }: DaemonOptions,
  { connection, pool }: OpenLedger,
  onWake: () => void,
): Promise<Membership> {
  const host = hostname();
  const self = {
    ...{ name: config.worker.name ?? host, host, pid: process.pid, version: VERSION },
    roles: ROLES.filter((role) => roles.has(role)),
    connectors: config.connectors.map(({ name }) => name),
  };
  return joinWorkers({
    ...{ connection, pool, self, clock, logger, onWake },
    onDrain: () => {
      logger.info("a person asked this worker to stop");
      onDrain?.();
    },
  });
}

interface Context {
  readonly config: Config<ProfileDefinition>;
  readonly options: DaemonOptions;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ledger: OpenLedger;
  readonly membership: Membership;
  readonly observers: ReadonlySet<DaemonObserver>;
  /** Later parts are closed first. */
  readonly onClose: (close: () => Promise<unknown>) => void;
}

async function createConnectors(
  { config, profiles, clock, logger, ledger, observers }: Context,
  nudge: () => void,
): Promise<readonly Connector[]> {
  const onCommitted: IntakeDeps["onCommitted"] = (connector, verdicts) => {
    nudge();
    for (const observer of observers) observer.messagesCommitted(connector, verdicts);
  };
  const intake = await openIntake(config, { pool: ledger.pool, clock, logger, profiles, onCommitted });
  const takenBack = keepTakenBack(ledger.pool, logger);
  const deps = { intake, archiveWatch: watchArchive(ledger.pool), clock, logger, takenBack };
  return config.connectors.map((connector) =>
    createConnector(connector, profileOf(connector, profiles), deps),
  );
}

async function startConnectors(connectors: readonly Connector[], onClose: Context["onClose"]): Promise<void> {
  for (const connector of connectors) {
    onClose(() => connector.stop());
    await connector.start();
  }
}

interface RunningWorker {
  readonly queues: JobQueues;
  readonly service: ServiceClient;
  readonly feeder: Feeder;
  isLabAway(connector: string): boolean;
  troubles(): Trouble[];
}

async function startWorker(context: Context, connectors: readonly Connector[]): Promise<RunningWorker> {
  const { config, options, clock, logger, ledger, membership, onClose } = context;
  const epoch = await openEpoch(config, {
    ...{ pool: ledger.pool, logger, worker: membership },
    onWentBack: options.onFatal,
  });
  membership.watch(epoch);

  const service = openService(
    config,
    {
      clock,
      logger,
      onCall: (call) => {
        for (const observer of context.observers) observer.serviceCalled(call);
      },
      others: reportToOthers(ledger.pool, logger),
    },
    options.readAgain,
  );
  onClose(() => service.close());
  let hasOthers = false;
  const unfollow = membership.onNews((news) => {
    service.follow(news);
    // The one that came may be the next to send results.
    if (news.workers > 1 && !hasOthers) for (const { hangUp } of connectors) void hangUp?.();
    hasOthers = news.workers > 1;
  });
  onClose(async () => unfollow());
  const { backend, close } = openQueueBackend(config, ledger.connection, {
    instanceCode: await findInstanceCode(ledger.pool),
    logger,
    connections: 10,
    applicationName: "cryobridge-queue",
  });
  onClose(close);
  const connectorNames = config.connectors.map(({ name }) => name);
  const queues = await openQueues(backend, connectorNames, logger);
  onClose(() => queues.close(config.worker.stopWithinMs));
  for (const { message, hint } of await queues.findRisks()) logger.warn({ hint }, message);

  const nudge = { current: () => {} };
  const isServiceReachable = () => membership.isSure && service.breaker.state !== "open";
  /** For what one worker does for all. */
  const mayCallForAll = () => membership.isLeader && isServiceReachable();
  const abandoned: Abandoned = { fences: new Set(), claims: new Set() };
  const restored = startRestored(config, {
    ...{ pool: ledger.pool, service, clock, logger, epoch },
    mayCall: mayCallForAll,
    worker: membership,
    onProgress: () => nudge.current(),
  });
  onClose(() => restored.stop());
  const targets = deliveryTargets({ ...context, pool: ledger.pool }, connectors);
  const feeder = startFeeder({
    pool: ledger.pool,
    queues,
    clock,
    logger,
    worker: membership,
    abandoned,
    isServiceReachable,
    mayTryLab: (connector) => targets.get(connector)?.breaker.mayTry === true,
    maySubmit: restored.maySubmit,
    settings: {
      window: WINDOW,
      batchSize: () => Math.min(service.callsAtOnce * ORDERS_A_CALL, MOST_ORDERS_A_BATCH),
      tickMs: TICK_MS,
      pollPauseMs: pollPauseMs(config.service.polling),
      longestPauseMs: Math.max(
        config.service.polling.maxMs,
        config.service.reconcile.giveUpAfterMs,
        LONGEST_RETRY_MS,
      ),
      connectors: new Set(connectorNames),
      gatherMsByConnector: new Map(
        config.connectors.flatMap((connector) =>
          connector.type === "csv-drop" ? [[connector.name, connector.resultsEveryMs] as const] : [],
        ),
      ),
      doesParkedBlock: config.lanes.parkedBlocks,
    },
  });
  nudge.current = () => {
    feeder.nudge();
    membership.wakeLeader();
  };
  onClose(() => feeder.stop());
  await runJobs(
    { ...context, pool: ledger.pool },
    {
      queues,
      service,
      nudge: nudge.current,
      abandoned,
      targets,
      epoch,
      requireNewestKnown: restored.requireNewestKnown,
    },
  );
  const side = { ...context, pool: ledger.pool, service };
  onClose(
    startSideLoops(config, {
      ...side,
      mayCall: mayCallForAll,
      mayPrune: () => membership.isLeader,
      onProgress: nudge.current,
    }),
  );
  const refills = await startRefills(config, { ...side, mayRead: mayCallForAll });
  onClose(() => refills.stop());
  onClose(watchService(config, { service, queues, clock, logger }));
  membership.mayLead(() => service.breaker.state === "closed");
  return {
    queues,
    service,
    feeder,
    isLabAway: (connector) => targets.get(connector)?.breaker.isOpen === true,
    troubles: () => {
      const troubles: Trouble[] = [];
      const report = (about: string, text: string) => troubles.push(trouble("daemonTrouble", about, text));
      if (!membership.isSure) report("ledger", "the ledger does not answer: nothing is sent until it does");
      if (queues.trouble) report("queue", queues.trouble);
      const { opening } = service.breaker;
      if (opening) troubles.push(trouble("serviceUnreachable", "", serviceTrouble(opening, clock.now())));
      if (clock.monotonic() - feeder.lastLookAt > FEEDER_SILENT_MS)
        report("feeder", "the feeder has not read the ledger for two minutes");
      for (const text of refills.troubles()) report("refills", text);
      for (const text of shapeTroubles(service, clock)) report("service shape", text);
      return troubles;
    },
  };
}
