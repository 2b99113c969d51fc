import { hostname } from "node:os";
import type pg from "pg";
import { createConnector, keepTakenBack, profileOf, watchArchive } from "./app/connectors.ts";
import { openIntake, releaseAtStart } from "./app/intake.ts";
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
import { type Config, type ConnectorConfig, wayOfFacility } from "./config/config.ts";
import type { Connector } from "./connectors/connector.ts";
import { type Trouble, trouble } from "./core/alert.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import type { Failure } from "./core/failures.ts";
import type { MessageVerdict } from "./core/intake.ts";
import type { Logger } from "./core/logger.ts";
import type { TerminalState } from "./core/order-state.ts";
import { VERSION } from "./core/version.ts";
import type { Backoff } from "./jobs/backoff.ts";
import { composeMessages, composeTables } from "./jobs/deliver/compose.ts";
import { type DeliverDeps, type DeliveryTarget, deliverConnector } from "./jobs/deliver/deliver.ts";
import { LabBreaker } from "./jobs/deliver/lab-breaker.ts";
import { type Feeder, startFeeder } from "./jobs/feeder.ts";
import type { IntakeDeps } from "./jobs/intake/intake.ts";
import { type JobQueues, openQueues } from "./jobs/queues.ts";
import type { Abandoned, SubmitDeps } from "./jobs/submit/deps.ts";
import { submitBatch } from "./jobs/submit/submit.ts";
import { pollPauseMs, type TrackDeps, trackFacility } from "./jobs/track/track.ts";
import { acquireDaemonLock } from "./ledger/embedded/lock.ts";
import { findInstanceCode } from "./ledger/migrate.ts";
import { openOrderWriter } from "./ledger/order-writer.ts";
import { putBack } from "./ledger/orders/handing-over.ts";
import type { Epoch } from "./ledger/restored/epoch.ts";
import { takeResultNumber } from "./ledger/results/outcomes.ts";
import { joinWorkers, type Membership } from "./ledger/workers/membership.ts";
import { tellOthers } from "./ledger/workers/service-pause.ts";
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
/** Batches of orders that are worked on at the same time: while one ends, the next is under way. */
const BATCHES_AT_ONCE = 4;
/**
 * Orders of a batch for each call that a worker may have under way at once, and at most: more in hand share their commits, but each
 * also waits for its turn to call, while its lease runs.
 */
const ORDERS_A_CALL = 4;
const MOST_ORDERS_A_BATCH = 64;
/** After failures, of orders and of results alike. */
const BACKOFF: Backoff = { firstMs: 2_000, maxMs: 300_000 };
/** Files that are put into a folder at the same time; over MLLP each result waits for its acknowledgement. */
const FILES_AT_ONCE = 8;
/**
 * For so long the connection stays whole after the last result: a lab system may refuse what it acknowledged, and say nothing more
 * once we have hung up. One that still speaks then is heard.
 */
const LATE_ANSWER_MS = 300;
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
      others: tellOthers(ledger.pool, logger),
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
  const targets = deliveryTargets(context, connectors);
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
  await runJobs(context, {
    queues,
    service,
    nudge: nudge.current,
    abandoned,
    targets,
    epoch,
    requireNewestKnown: restored.requireNewestKnown,
  });
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

interface JobParts {
  readonly queues: JobQueues;
  readonly service: ServiceClient;
  /** Something may have become due. */
  readonly nudge: () => void;
  readonly abandoned: Abandoned;
  readonly targets: ReadonlyMap<string, DeliveryTarget>;
  readonly epoch: Epoch;
  readonly requireNewestKnown: () => Promise<void>;
}

async function runJobs(context: Context, parts: JobParts): Promise<void> {
  const { config, clock, logger, ledger, membership } = context;
  const { queues, service, nudge, abandoned } = parts;
  const { pool } = ledger;
  const backoff = BACKOFF;
  const wayOf = (facilityId: number) => wayOfFacility(config, facilityId);
  const common = { pool, service, clock, logger, random: Math.random };
  const submit: SubmitDeps = {
    ...common,
    writer: openOrderWriter(pool, parts.epoch),
    worker: membership,
    abandoned,
    requireNewestKnown: parts.requireNewestKnown,
    settings: {
      backoff,
      reconcile: config.service.reconcile,
      firstPollMs: config.service.polling.firstMs,
      subjectRequires: config.service.subjectRequires,
      correlation: config.service.correlation,
      sameContainer: config.guards.sameContainer,
      labelOfTwoSubjects: config.guards.labelOfTwoSubjects,
      wayOf,
    },
  };
  const { polling, concurrency } = config.service;
  const track: TrackDeps = {
    ...common,
    service: service.following,
    worker: membership,
    polling,
    concurrency,
    wayOf,
  };
  const deliver: Omit<DeliverDeps, "mayDeliver"> = {
    ...common,
    backoff,
    targetByConnector: parts.targets,
    parkAfter: config.delivery.parkAfter,
  };
  const ending = new AbortController();
  context.onClose(async () => ending.abort());
  await queues.work("submit", BATCHES_AT_ONCE, async ({ batch }, signal) => {
    // A job that ends without having done anything is missed only after seconds.
    if (!(await membership.untilSure(AbortSignal.any([signal, ending.signal])))) return;
    // A job that was given out right when calls began to be held back.
    if (service.breaker.state === "closed") await submitBatch(batch, submit, signal);
    else await putBack(pool, [batch]);
    nudge();
  });
  await queues.work("track", Math.max(1, Math.ceil(concurrency / 2)), async ({ facilityId }, signal) => {
    if (service.breaker.state === "open") return;
    // What a former leader handed over may still run: two that read the same would take twice as long.
    await membership.exclusively(`track ${facilityId}`, () => trackFacility(facilityId, track, signal));
    nudge();
  });
  await queues.work("deliver", 1, async ({ connector }, signal) => {
    // One worker at a time, so that what an order's lane holds back leaves in its order.
    await membership.exclusively(`deliver ${connector}`, async (isHeld) => {
      try {
        await deliverConnector(connector, { ...deliver, mayDeliver: isHeld }, signal);
      } finally {
        const hangUp = parts.targets.get(connector)?.hangUp;
        // Another worker may send next, and a lab system may take one connection at a time.
        if (hangUp && membership.workers > 1) {
          await clock.sleep(LATE_ANSWER_MS, signal).catch(() => undefined);
          await hangUp();
        }
      }
    });
  });
}

function deliveryTargets(
  { config, clock, profiles, ledger }: Context,
  connectors: readonly Connector[],
): ReadonlyMap<string, DeliveryTarget> {
  const byName = new Map(connectors.map((connector) => [connector.name, connector]));
  return new Map(
    config.connectors.flatMap((settings) => {
      const connector = byName.get(settings.name);
      if (!connector) return [];
      const profile = profileOf(settings, profiles);
      const takeNumber = (inputName: string) => takeResultNumber(ledger.pool, settings.name, inputName);
      const target: DeliveryTarget = {
        // HL7 outcomes come with their original messages, which may be large.
        composeAtOnce: profile.format === "hl7" ? 100 : 2_000,
        compose: async (open) =>
          profile.format === "hl7"
            ? composeMessages(open, profile)
            : composeTables(open, profile, takeNumber),
        sendAtOnce: isSentByMllp(settings) ? 1 : FILES_AT_ONCE,
        deliver: (file) => connector.deliver(file),
        hangUp: connector.hangUp,
        breaker: new LabBreaker(clock, BACKOFF, Math.random),
      };
      return [[settings.name, target] as const];
    }),
  );
}

const isSentByMllp = (settings: ConnectorConfig): boolean =>
  settings.type === "mllp" && !("directory" in settings.results);
