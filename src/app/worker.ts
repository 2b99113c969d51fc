import type { Config } from "../config/config.ts";
import type { Connector } from "../connectors/connector.ts";
import { aboutOn } from "../core/alert.ts";
import { type Condition, condition } from "../core/condition.ts";
import { EVERY_MS } from "../core/every.ts";
import type { FailureCode } from "../core/failures.ts";
import type { Away } from "../core/outage.ts";
import { labConditions } from "../jobs/deliver/lab-breaker.ts";
import { startFeeder } from "../jobs/feeder.ts";
import { type JobQueues, openQueues } from "../jobs/queues.ts";
import type { IsSent } from "../jobs/submit/deps.ts";
import { InHand } from "../jobs/submit/in-hand.ts";
import { pollPauseMs } from "../jobs/track/track.ts";
import { UnreadFacilities } from "../jobs/track/unread.ts";
import { findInstanceCode } from "../ledger/migrate.ts";
import { reportToOthers } from "../ledger/workers/service-pause.ts";
import type { ServiceClient } from "../service/client.ts";
import { LONGEST_RETRY_MS } from "../service/http/answer.ts";
import { isSent as isSentTo } from "./acts/sent-to.ts";
import { connectorOf } from "./connectors.ts";
import { type Context, type DaemonOptions, report } from "./context.ts";
import { BATCHES_AT_ONCE, deliveryTargets, runJobs } from "./jobs.ts";
import { openQueueBackend } from "./open-ledger.ts";
import { UntakenValues, watchAudit } from "./own-conditions.ts";
import { startRefills } from "./refills.ts";
import { watchRestored } from "./restored.ts";
import { openService, serviceCondition, shapeConditions, watchService } from "./service.ts";
import { createSideWork } from "./side-work.ts";

/**
 * Orders of a batch for each call that a worker may have under way at once, and at most: more in hand share their commits, but each
 * also waits for its turn to call, while its lease runs.
 */
const ORDERS_A_CALL = 4;
const MOST_ORDERS_A_BATCH = 64;
/** At a low rate no more than what the calls of so many seconds begin: what is in hand waits for its turn, and what comes later behind it. */
const SECONDS_A_BATCH = 2;
/** A feeder that has not read the ledger for this long hangs. */
const FEEDER_SILENT_MS = 120_000;

/** What the role `worker` runs: it hands out, submits, follows and sends. */
interface RunningWorker {
  readonly queues: JobQueues;
  readonly service: ServiceClient;
  labOutage(connector: string): Away<FailureCode> | undefined;
  conditions(): Condition[];
}

/** Starts it. @throws Failure with what is in the way */
export async function startWorker(
  context: Context,
  connectors: readonly Connector[],
): Promise<RunningWorker> {
  const { configuration, options, host, clock, logger, ledger, membership, epoch, onClose } = context;
  const { config } = configuration;
  const service = openService(
    config,
    {
      ...{ clock, logger, certificates: context.certificates, wire: options.wire },
      // After a machine slept, it is behind until the next heartbeat.
      ledgerNow: () => (membership.isSure ? membership.ledgerNow() : undefined),
      onCall: (call) => report(context, (observer) => observer.serviceCalled(call)),
      others: reportToOthers(ledger.pool, logger),
    },
    options.readAgain,
  );
  onClose(() => service.close());
  let hasOthers = false;
  const unfollow = membership.onNews((news) => {
    service.follow(news);
    // The one that came may be the next to send results.
    if (membership.workers > 1 && !hasOthers) for (const { hangUp } of connectors) void hangUp?.();
    hasOthers = membership.workers > 1;
  });
  onClose(async () => unfollow());
  const connectorNames = config.connectors.map(({ name }) => name);
  const queues = await (options.openQueues ?? openOwnQueues(context))(connectorNames, (job) =>
    report(context, (observer) => observer.jobFinished(job)),
  );
  onClose(() => queues.close(config.worker.stopWithinMs));
  for (const { message, hint } of await queues.findRisks()) logger.warn({ hint }, message);

  const isServiceReachable = () => membership.isSure && service.breaker.state !== "open";
  /** For what one worker has the service asked for all. */
  const mayCallForAll = () => membership.isLeader && isServiceReachable();
  const inHand = new InHand();
  const batchSize = () => {
    const { mostPerMinute, sharedBy } = service.limit;
    const atRate = Math.ceil((mostPerMinute / sharedBy / 60) * SECONDS_A_BATCH);
    return Math.min(service.callsAtOnce * ORDERS_A_CALL, MOST_ORDERS_A_BATCH, atRate);
  };
  const untaken = new UntakenValues(clock);
  const targets = deliveryTargets(context, untaken, connectors);
  const nudge = () => membership.wake();
  const side = { ...context, pool: ledger.pool, service, worker: membership };
  const restored = watchRestored(config, {
    ...{ ...side, service: service.for("reconciling"), epoch },
    mayCall: mayCallForAll,
    onProgress: nudge,
  });
  const isSent: IsSent = (connector, state) => isSentTo(context.configuration, connector, state);
  const sideWork = createSideWork(config, {
    ...side,
    isSent,
    mayCall: mayCallForAll,
    onProgress: nudge,
  });
  onClose(() => restored.stop());
  onClose(() => sideWork.stop());
  const feeder = startFeeder({
    pool: ledger.pool,
    queues,
    clock,
    logger,
    worker: membership,
    inHand,
    isServiceReachable,
    mayTryLab: (connector) => targets.get(connector)?.breaker.mayTry === true,
    onDue: (due) => {
      restored.begin(due);
      sideWork.begin(due);
    },
    settings: {
      submitsAtOnce: BATCHES_AT_ONCE,
      tickMs: EVERY_MS.due,
      pollPauseMs: pollPauseMs(config.service.polling),
      longestPauseMs: Math.max(
        config.service.polling.maxMs,
        config.service.reconcile.giveUpAfterMs,
        config.service.reconcile.recheckMs,
        LONGEST_RETRY_MS,
      ),
      connectors: new Set(connectorNames),
      gatherMsByConnector: new Map(
        config.connectors.flatMap((connector) =>
          connector.type === "csv-drop" ? [[connector.name, connector.resultsEveryMs] as const] : [],
        ),
      ),
    },
  });
  membership.onWake(() => feeder.nudge());
  onClose(() => feeder.stop());
  // Those that could not be asked about are asked for again after half the first interval.
  const unread = new UnreadFacilities(clock, config.service.polling.firstMs * 2);
  const { requireNewestKnown } = restored;
  const parts = {
    queues,
    unread,
    service,
    nudge,
    inHand,
    batchSize,
    targets,
    isSent,
    epoch,
    requireNewestKnown,
  };
  await runJobs(context, parts);
  const audit = watchAudit(config, { pool: ledger.pool, clock, logger });
  onClose(() => audit.stop());
  const refills = await startRefills(config, { ...side, mayRead: mayCallForAll });
  onClose(() => refills.stop());
  onClose(watchService(config, { service, queues, clock, logger }));
  membership.mayLead(() => service.breaker.state === "closed");
  return {
    queues,
    service,
    labOutage: (connector) => targets.get(connector)?.breaker.away,
    conditions: () => {
      const conditions: Condition[] = [];
      const add = (about: string, text: string, more?: Parameters<typeof condition>[3]) =>
        conditions.push(condition("daemonTrouble", about, text, { part: "daemons", ...more }));
      const here = (part: string) => aboutOn(host, part);
      if (!membership.isSure)
        add(here("ledger"), "the ledger does not answer: nothing is sent until it does", { cause: "ledger" });
      if (queues.trouble) add(here("queue"), queues.trouble, { code: "QUEUE_UNAVAILABLE" });
      const { opening } = service.breaker;
      if (opening) conditions.push(serviceCondition(opening, clock.now()));
      else conditions.push(...unread.conditions((id) => facilityCodeOf(config, id)));
      for (const [name, { breaker }] of targets)
        conditions.push(...labConditions(name, breaker.away, clock.now()));
      if (clock.monotonic() - feeder.lastLookAt > FEEDER_SILENT_MS)
        add(here("feeder"), "the feeder has not read the ledger for two minutes", { cause: "ledger" });
      // What follows is true of the ledger or the service, whichever machine says so.
      conditions.push(...audit.conditions());
      conditions.push(...untaken.conditions((name) => connectorOf(context.configuration, name)().profile));
      conditions.push(...refills.conditions());
      conditions.push(...shapeConditions(service, clock));
      return conditions;
    },
  };
}

/** The queues where the configuration says. */
function openOwnQueues({
  configuration: { config },
  ledger,
  logger,
  onClose,
}: Context): NonNullable<DaemonOptions["openQueues"]> {
  return async (connectors, onFinished) => {
    const { backend, close } = openQueueBackend(config, ledger.connection, {
      instanceCode: await findInstanceCode(ledger.pool),
      logger,
      connections: 10,
      applicationName: "cryobridge-queue",
    });
    onClose(close);
    return openQueues(backend, connectors, logger, onFinished);
  };
}

/** The lab's name for a facility; of one that the configuration no longer names, the service's id. */
function facilityCodeOf({ facilityIdByCode }: Config, facilityId: number): string {
  return [...facilityIdByCode].find(([, id]) => id === facilityId)?.[0] ?? `facility ${facilityId}`;
}
