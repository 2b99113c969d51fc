import { type ConnectorConfig, wayOfFacility } from "../config/config.ts";
import type { Connector } from "../connectors/connector.ts";
import { BACKOFF } from "../core/backoff.ts";
import { composeMessages, composeTables } from "../jobs/deliver/compose.ts";
import { type DeliverDeps, type DeliveryTarget, deliverConnector } from "../jobs/deliver/deliver.ts";
import { LabBreaker } from "../jobs/deliver/lab-breaker.ts";
import type { JobQueues } from "../jobs/queues.ts";
import type { IsSent, SubmitDeps } from "../jobs/submit/deps.ts";
import type { InHand } from "../jobs/submit/in-hand.ts";
import { submitAllDue } from "../jobs/submit/submit.ts";
import { type TrackDeps, trackFacility } from "../jobs/track/track.ts";
import type { UnreadFacilities } from "../jobs/track/unread.ts";
import { openOrderWriter } from "../ledger/order-writer.ts";
import type { Epoch } from "../ledger/restored/epoch.ts";
import { takeResultNumber } from "../ledger/results/outcomes.ts";
import type { ServiceClient } from "../service/client.ts";
import { connectorOf } from "./connectors.ts";
import type { Context } from "./context.ts";
import type { UntakenValues } from "./own-conditions.ts";

/** Batches of orders that a worker works on at the same time: while one ends, the next is under way. */
export const BATCHES_AT_ONCE = 4;
/** Files that are put into a folder at the same time; over MLLP each result waits for its acknowledgement. */
const FILES_AT_ONCE = 8;
/**
 * For so long the connection stays whole after the last result: a lab system may refuse what it acknowledged, and say nothing more
 * once we have hung up. One that still speaks then is heard.
 */
const LATE_ANSWER_MS = 300;

interface JobParts {
  readonly queues: JobQueues;
  readonly service: ServiceClient;
  /** Something may have become due. */
  readonly nudge: () => void;
  readonly inHand: InHand;
  /** How many orders a submit job takes at once, at most. */
  readonly batchSize: () => number;
  readonly targets: ReadonlyMap<string, DeliveryTarget>;
  readonly isSent: IsSent;
  readonly epoch: Epoch;
  readonly requireNewestKnown: () => Promise<void>;
  readonly unread: UnreadFacilities;
}

/** Takes the queues' jobs: submitting, following and delivering. */
export async function runJobs(context: Context, parts: JobParts): Promise<void> {
  const { clock, logger, membership } = context;
  const { config } = context.configuration;
  const { pool } = context.ledger;
  const { queues, service, nudge, inHand, batchSize, isSent } = parts;
  const backoff = BACKOFF;
  const wayOf = (facilityId: number) => wayOfFacility(config, facilityId);
  const common = { pool, logger, random: Math.random };
  const submit: SubmitDeps = {
    ...common,
    service: service.for("submitting"),
    tracer: context.tracer,
    writer: openOrderWriter(pool, parts.epoch),
    worker: membership,
    inHand,
    isSent,
    requireNewestKnown: parts.requireNewestKnown,
    settings: {
      backoff,
      reconcile: config.service.reconcile,
      firstPollMs: config.service.polling.firstMs,
      subjectRequires: config.service.subjectRequires,
      correlation: config.service.correlation,
      sameContainer: config.guards.sameContainer,
      labelOfTwoSubjects: config.guards.labelOfTwoSubjects,
      doesParkedBlock: config.lanes.parkedBlocks,
      wayOf,
    },
  };
  const { polling, concurrency } = config.service;
  const track: TrackDeps = {
    ...common,
    clock,
    service: service.for("following"),
    locating: service.for("locating"),
    worker: membership,
    polling,
    unread: parts.unread,
    concurrency,
    wayOf,
    isSent,
  };
  const deliver: Omit<DeliverDeps, "mayDeliver"> = {
    ...common,
    clock,
    backoff,
    targetByConnector: parts.targets,
    parkAfter: config.delivery.parkAfter,
    advanceEpoch: parts.epoch.advance,
  };
  const ending = new AbortController();
  context.onClose(async () => ending.abort());
  await queues.work("submit", BATCHES_AT_ONCE, async (_wakeUp, stopping) => {
    const signal = AbortSignal.any([stopping, ending.signal]);
    // A job that ends without having done anything is missed only after a second.
    if (!(await membership.untilSure(signal))) return;
    const mayGoOn = () => !signal.aborted && membership.isSure && service.breaker.state === "closed";
    await submitAllDue(submit, { batchSize, mayGoOn, nudge }, stopping);
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

/** How the results of each connector are composed and sent. */
export function deliveryTargets(
  { configuration, clock, ledger: { pool } }: Context,
  untaken: UntakenValues,
  connectors: readonly Connector[],
): ReadonlyMap<string, DeliveryTarget> {
  const byName = new Map(connectors.map((connector) => [connector.name, connector]));
  return new Map(
    configuration.config.connectors.flatMap((settings) => {
      const connector = byName.get(settings.name);
      if (!connector) return [];
      const live = connectorOf(configuration, settings.name);
      const takeNumber = (inputName: string) => takeResultNumber(pool, settings.name, inputName);
      const target: DeliveryTarget = {
        // HL7 outcomes come with their original messages, which may be large.
        composeAtOnce: live().profile.format === "hl7" ? 100 : 2_000,
        compose: async (open, noteUntaken) => {
          const { profile } = live();
          return profile.format === "hl7"
            ? composeMessages(open, profile)
            : composeTables(open, profile, takeNumber, (heading) => {
                noteUntaken?.(heading);
                untaken.note(settings.name, heading, profile);
              });
        },
        sendAtOnce: isSentByMllp(settings) ? 1 : FILES_AT_ONCE,
        areFiles: !isSentByMllp(settings),
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
