import { hostname } from "node:os";
import type pg from "pg";
import { Configuration } from "./app/configuration.ts";
import { connectorOf, createConnector, keepTakenBack } from "./app/connectors.ts";
import { type Context, type DaemonObserver, type DaemonOptions, report } from "./app/context.ts";
import { machineConditionsOf } from "./app/exceeded.ts";
import { openIntake, releaseKnown, releaseLate } from "./app/intake.ts";
import { type OpenLedger, openLedger } from "./app/open-ledger.ts";
import { noteOrphaned } from "./app/orphaned.ts";
import {
  connectorConditions,
  noteOwnConditions,
  untakenConditions,
  watchEventLoop,
} from "./app/own-conditions.ts";
import { compileProfiles } from "./app/profiles.ts";
import { openReload, type Reload } from "./app/reload.ts";
import { epochConditions, openEpoch } from "./app/restored.ts";
import { startTracing, tracingConditions } from "./app/tracing.ts";
import { startWorker } from "./app/worker.ts";
import type { Config } from "./config/config.ts";
import type { Connector } from "./connectors/connector.ts";
import { aboutOn } from "./core/alert.ts";
import { systemClock } from "./core/clock.ts";
import { type Condition, condition } from "./core/condition.ts";
import { formatMinute } from "./core/duration.ts";
import type { FailureCode } from "./core/failures.ts";
import type { LogTarget } from "./core/log-target.ts";
import { noTracer } from "./core/order-step.ts";
import type { Away } from "./core/outage.ts";
import { PeerCertificates } from "./core/peer-certificates.ts";
import { ROLES } from "./core/role.ts";
import { VERSION } from "./core/version.ts";
import { within } from "./core/within.ts";
import type { IntakeDeps } from "./jobs/intake/intake.ts";
import type { JobQueues } from "./jobs/queues.ts";
import { acquireDaemonLock } from "./ledger/embedded/lock.ts";
import { droppedFilesOf } from "./ledger/messages/dropped-files.ts";
import { findInstanceCode } from "./ledger/migrate.ts";
import { joinWorkers, type Membership } from "./ledger/workers/membership.ts";
import type { ProfileDefinition } from "./mapping/profile/schema.ts";
import type { ServiceClient } from "./service/client.ts";

/** How long the start waits for a look at the folders of results: a share on a server that hangs holds up no other part, ms. */
const OPEN_WITHIN_MS = 2_000;

/** A running daemon. */
export interface Daemon {
  /** What it works by; its parts that a reload takes over change in place. */
  readonly configuration: Configuration;
  readonly pool: pg.Pool;
  readonly log: LogTarget | undefined;
  /** How many spans no collector took since the start. */
  droppedSpans(): number;
  readonly queues: JobQueues | undefined;
  readonly service: ServiceClient | undefined;
  readonly connectors: readonly Connector[];
  /** Which limits of its machine are exceeded. */
  machineConditions(): Promise<readonly Condition[]>;
  /** Whether it takes what comes in. */
  readonly isTaking: boolean;
  /** That the lab takes no results through a connector, as far as this daemon sends them; undefined while it does. */
  labOutage(connector: string): Away<FailureCode> | undefined;
  /** Reports what happens, until the returned function is called; for metrics. */
  observe(observer: DaemonObserver): () => void;
  /** Why orders can't be taken or worked off right now; empty when all is well. */
  conditions(): Condition[];
  /** Its number among the workers of the ledger right now. */
  readonly workerId: number;
  /** Does something that one daemon at a time may do; see {@link Membership.exclusively}. */
  readonly exclusively: Membership["exclusively"];
  /** Takes over a configuration that was changed; see {@link Reload.reload}. Does nothing where it can't be read again. */
  reload(): Promise<void>;
  /** Stops in the order in which work flows, and waits for what is in hand. */
  stop(): Promise<void>;
}

/**
 * Starts the daemon: ledger first, then what an earlier run left in hand, then queues, workers and connectors, so that
 * nothing is taken in before it can be kept.
 *
 * @throws Failure with what is in the way; everything that was started is stopped again.
 */
export async function startDaemon(given: Config<ProfileDefinition>, options: DaemonOptions): Promise<Daemon> {
  const { logger } = options;
  const clock = options.clock ?? systemClock;
  const host = options.host ?? hostname();
  const workerName = given.worker.name ?? host;
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
    const configuration = new Configuration({ config: given, profiles: await compileProfiles(given) });
    const { config } = configuration;
    for (const role of options.roles) onClose(await acquireDaemonLock(config.dataDir, clock, role));
    const observers = new Set<DaemonObserver>();
    const certificates = new PeerCertificates(clock);
    const ledger = await openLedger(config, {
      ...{ clock, logger, isDaemon: true, connections: options.connections },
      observer: {
        ordersMoved: (steps) => report({ observers, logger }, (observer) => observer.ordersMoved(steps)),
        resultsSent: (results) => report({ observers, logger }, (observer) => observer.resultsSent(results)),
      },
    });
    onClose(ledger.close);
    const traces = await startTracing(config, {
      ...{ workerName, pool: ledger.pool, clock, logger, onClose },
      observe: (each) => observers.add({ ...each, messagesCommitted: () => {}, jobFinished: () => {} }),
    });
    const watchdog = watchEventLoop(host, clock, logger);
    onClose(async () => watchdog.stop());
    const membership = await join(config, { ...options, host, workerName }, ledger);
    onClose(() => membership.leave());
    const epoch = await openEpoch(config, {
      ...{ pool: ledger.pool, logger, clock, roles: options.roles, worker: membership },
      onWentBack: options.onFatal,
    });
    membership.watch(epoch);
    const context: Context = {
      ...{ configuration, options, host, clock, logger, ledger, membership, epoch },
      ...{ observers, certificates, tracer: traces ?? noTracer, onClose },
    };
    const connectors = await createConnectors(context);
    // One that is not there yet is looked at when a result goes to it.
    await Promise.all(
      connectors.map(async (connector) => {
        const opened = connector.openResults?.().catch(() => undefined);
        if (opened) await within(opened, OPEN_WITHIN_MS, clock);
      }),
    );
    if (options.roles.has("worker")) await noteOrphaned(ledger.pool, config, logger);
    const worker = options.roles.has("worker") ? await startWorker(context, connectors) : undefined;
    if (options.roles.has("intake")) {
      await releaseKnown(ledger.pool, configuration, logger);
      await startConnectors(connectors, onClose);
    }
    const conditions = () => [
      ...connectorConditions(connectors, host),
      ...logConditions(options.log, host),
      ...tracingConditions(traces, host),
      ...watchdog.conditions(),
      ...epochConditions(epoch, { host, roles: options.roles }),
      ...(worker?.conditions() ?? []),
    ];
    const machineConditions = machineConditionsOf(config, { host, clock, peers: certificates });
    onClose(
      noteOwnConditions({
        ...{ pool: ledger.pool, clock, logger, worker: membership, machineConditions },
        conditions: () => [...conditions(), ...untakenConditions(connectors)],
      }),
    );
    const reload = startReload(context);
    membership.onReload((request) => void reload?.reload(request));
    return {
      ...{ configuration, log: options.log },
      droppedSpans: () => traces?.losses.droppedInAll ?? 0,
      pool: ledger.pool,
      queues: worker?.queues,
      service: worker?.service,
      connectors,
      get workerId() {
        return membership.id;
      },
      machineConditions,
      isTaking: options.roles.has("intake"),
      labOutage: (connector) => worker?.labOutage(connector),
      observe: (observer) => {
        observers.add(observer);
        return () => observers.delete(observer);
      },
      conditions,
      exclusively: (name, work) => membership.exclusively(name, work),
      reload: async () => reload?.reload(),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** That lines of the log are missing, as long as none can be written. */
function logConditions(log: LogTarget | undefined, host: string): Condition[] {
  const missing = log?.missing;
  if (missing === undefined) return [];
  const { lines, since, why } = missing;
  const words: Readonly<Record<string, string>> = {
    EAGAIN: "nobody reads it",
    EBUSY: "writing takes too long",
  };
  const reason = words[why] ?? why;
  const text = `the log can't be written (${reason}): ${lines} lines are missing since ${formatMinute(since)}`;
  return [condition("daemonTrouble", aboutOn(host, "log"), text)];
}

/** Enters this daemon among those that work with the ledger. */
function join(
  config: Config,
  {
    roles,
    host,
    workerName: name,
    clock = systemClock,
    logger,
    onDrain,
  }: DaemonOptions & { readonly host: string; readonly workerName: string },
  { connection, pool }: OpenLedger,
): Promise<Membership> {
  const self = {
    ...{ name, host, pid: process.pid, version: VERSION },
    roles: ROLES.filter((role) => roles.has(role)),
    connectors: config.connectors.map(({ name }) => name),
  };
  return joinWorkers({
    ...{ connection, pool, self, clock, logger },
    onDrain: () => {
      logger.info("a person asked this worker to stop");
      onDrain?.();
    },
  });
}

async function createConnectors({
  configuration,
  clock,
  logger,
  ledger,
  membership,
  observers,
  certificates,
}: Context): Promise<readonly Connector[]> {
  const onCommitted: IntakeDeps["onCommitted"] = (connector, verdicts) => {
    membership.wake();
    report({ observers, logger }, (observer) => observer.messagesCommitted(connector, verdicts));
  };
  const onTaken: IntakeDeps["onTaken"] = (taken) =>
    report({ observers, logger }, (observer) => observer.messagesTaken(taken));
  const onStale = () => void releaseLate(ledger.pool, configuration, logger);
  const intake = await openIntake(configuration, {
    pool: ledger.pool,
    worker: membership,
    clock,
    logger,
    onCommitted,
    onTaken,
    onStale,
  });
  const takenBack = keepTakenBack(ledger.pool, logger);
  const dropped = droppedFilesOf(ledger.pool, await findInstanceCode(ledger.pool), membership);
  const deps = { intake, dropped, clock, logger, certificates, takenBack };
  return configuration.config.connectors.map(({ name }) =>
    createConnector(connectorOf(configuration, name), deps),
  );
}

/** Takes over changes of the configuration for this daemon; undefined where it can't be read again. */
function startReload({
  configuration,
  options,
  clock,
  logger,
  ledger,
  membership,
  onClose,
}: Context): Reload | undefined {
  const { readAgain, roles } = options;
  if (!readAgain) return undefined;
  const reload = openReload({
    ...{ configuration, read: readAgain, pool: ledger.pool, worker: membership, clock, logger },
    onTakenOver: async () => {
      if (roles.has("intake")) await releaseLate(ledger.pool, configuration, logger);
    },
  });
  onClose(() => reload.stop());
  return reload;
}

async function startConnectors(connectors: readonly Connector[], onClose: Context["onClose"]): Promise<void> {
  for (const connector of connectors) {
    onClose(() => connector.stop());
    await connector.start();
  }
}
