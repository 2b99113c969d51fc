import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { findPausedQueues } from "../ledger/operator/queues.ts";
import { clampSchedule } from "../ledger/orders/due-times.ts";
import {
  countQueued,
  findHandedOver,
  putBack,
  takeUnreconciled,
  takeWaiting,
} from "../ledger/orders/handing-over.ts";
import { releaseExpired } from "../ledger/orders/submission.ts";
import { findDueFacilities } from "../ledger/orders/tracking.ts";
import { findDueConnectors } from "../ledger/results/deliveries.ts";
import { findOpenConnectors } from "../ledger/results/outcomes.ts";
import type { JobQueues, NewJob, QueueName } from "./queues.ts";
import type { Abandoned } from "./submit/deps.ts";

export interface FeederSettings {
  /** How many orders are in the submit queue's hands at most. */
  readonly window: number;
  /** How many orders make a job of the submit queue at most. */
  readonly batchSize: number;
  /** The longest time between two looks at the ledger, ms. */
  readonly tickMs: number;
  /** How long a facility is left alone between two polls, ms. */
  readonly pollPauseMs: number;
  /** The longest pause before anything is tried or asked again, ms. */
  readonly longestPauseMs: number;
  /** The connectors that there are; results for others wait until they are configured again. */
  readonly connectors: ReadonlySet<string>;
  /** How long results are gathered before they are written, by connector, ms. Zero for connectors not named. */
  readonly gatherMsByConnector: ReadonlyMap<string, number>;
  readonly doesParkedBlock: boolean;
}

export interface FeederDeps {
  readonly pool: pg.Pool;
  readonly queues: JobQueues;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This process, as the owner of orders in hand. */
  readonly owner: string;
  /** What workers could not give back. */
  readonly abandoned: Abandoned;
  /** Whether this process holds the submitter's lock right now; only then may it take orders from others' hands. */
  readonly isSubmitter: () => boolean;
  /** False while the service is known to be out of reach: then nothing that would call it is handed over. */
  readonly isServiceReachable: () => boolean;
  /** False while a connector's lab is known to be away and the time for the next try has not come. */
  readonly mayTryLab: (connector: string) => boolean;
  /** False while a restored ledger is compared with the service: lost calls are looked for, and nothing is submitted. */
  readonly maySubmit: () => Promise<boolean>;
  readonly settings: FeederSettings;
}

/** Moves work from the ledger into the queues, a bounded window at a time. */
export interface Feeder {
  /** Something may have become due: look at once. */
  nudge(): void;
  stop(): Promise<void>;
  /** When a look at the ledger last succeeded, monotonic ms. */
  readonly lastLookAt: number;
}

/** How often lost jobs and forgotten leases are looked for. */
const SWEEP_EVERY_MS = 10_000;
/** How often it is looked whether a clock that was ahead has left anything due in a distant future. */
const CLAMP_EVERY_MS = 300_000;
/** A job that should be there is missed after this. */
const LOST_AFTER_MS = 10_000;
const SWEEP_BATCH = 200;
/** Nudges within this time are answered with one look. */
const GATHER_NUDGES_MS = 20;

/** Begins to feed the queues. The ledger says what is due; a queue that was emptied is simply filled again. */
export function startFeeder(deps: FeederDeps): Feeder {
  const stopping = new AbortController();
  const polledAtByFacility = new Map<number, number>();
  let wake: (() => void) | undefined;
  let isNudged = false;
  let sweptAt = Number.NEGATIVE_INFINITY;
  let clampedAt = Number.NEGATIVE_INFINITY;
  let lastLookAt = deps.clock.monotonic();

  const look = async () => {
    const paused = await findPausedQueues(deps.pool);
    if (!paused.has("submit") && deps.isServiceReachable()) await feedSubmit(deps);
    if (!paused.has("track") && deps.isServiceReachable()) await feedTrack(deps, polledAtByFacility);
    if (!paused.has("deliver")) await feedDeliver(deps);
    const now = deps.clock.monotonic();
    if (now - sweptAt >= SWEEP_EVERY_MS && deps.isSubmitter()) {
      sweptAt = now;
      await sweep(deps);
    }
    if (now - clampedAt >= CLAMP_EVERY_MS && deps.isSubmitter()) {
      clampedAt = now;
      await clampLongPauses(deps);
    }
    lastLookAt = deps.clock.monotonic();
  };

  const loop = async () => {
    while (!stopping.signal.aborted) {
      isNudged = false;
      try {
        await look();
      } catch (error) {
        deps.logger.warn({ err: error }, "the feeder could not look at the ledger; it goes on");
        await deps.clock.sleep(deps.settings.tickMs, stopping.signal).catch(() => undefined);
      }
      if (!isNudged) await idle();
      await deps.clock.sleep(GATHER_NUDGES_MS, stopping.signal).catch(() => undefined);
    }
  };

  const idle = async () => {
    const waking = new AbortController();
    wake = () => waking.abort();
    await deps.clock
      .sleep(deps.settings.tickMs, AbortSignal.any([waking.signal, stopping.signal]))
      .catch(() => undefined);
    wake = undefined;
  };

  const running = loop();
  return {
    nudge: () => {
      isNudged = true;
      wake?.();
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
    get lastLookAt() {
      return lastLookAt;
    },
  };
}

/** The deterministic job of a batch: the same hand-over never makes two. */
function submitJob(batch: number): NewJob<"submit"> {
  return { jobId: `submit-b${batch}`, data: { batch } };
}

async function feedSubmit(deps: FeederDeps): Promise<void> {
  const { window, doesParkedBlock } = deps.settings;
  const maySubmit = await deps.maySubmit();
  let room = window - (await countQueued(deps.pool));
  const take = (limit: number) => takeWaiting(deps.pool, { limit, doesParkedBlock });
  const waiting: number[] = [];
  for (let isMore = maySubmit && room >= window / 2; isMore; ) {
    const limit = Math.min(deps.settings.batchSize, room);
    const taken = limit > 0 ? await take(limit) : undefined;
    if (taken) waiting.push(taken.batch);
    room -= taken?.orderIds.length ?? 0;
    isMore = taken?.orderIds.length === limit;
  }
  await addOrPutBack(deps, waiting);
  // Lost calls hold up their lanes, so they go ahead of what waits for its first try.
  const unreconciled = await takeUnreconciled(deps.pool, deps.settings.batchSize);
  if (unreconciled) await deps.queues.add("submit", [{ ...submitJob(unreconciled.batch), isUrgent: true }]);
}

async function addOrPutBack(deps: FeederDeps, batches: readonly number[]): Promise<void> {
  try {
    await deps.queues.add("submit", batches.map(submitJob));
  } catch (error) {
    await putBack(deps.pool, batches);
    throw error;
  }
}

async function feedTrack(deps: FeederDeps, polledAtByFacility: Map<number, number>): Promise<void> {
  const now = deps.clock.monotonic();
  const isRested = (facilityId: number) =>
    now - (polledAtByFacility.get(facilityId) ?? Number.NEGATIVE_INFINITY) >= deps.settings.pollPauseMs;
  const due = (await findDueFacilities(deps.pool)).filter(isRested);
  await deps.queues.add(
    "track",
    due.map((facilityId) => ({ jobId: `track-f${facilityId}`, data: { facilityId } })),
  );
  for (const facilityId of due) polledAtByFacility.set(facilityId, now);
}

async function feedDeliver(deps: FeederDeps): Promise<void> {
  const { connectors, gatherMsByConnector } = deps.settings;
  const ripe = (await findOpenConnectors(deps.pool)).filter(
    ({ connector, oldestMs }) =>
      connectors.has(connector) && oldestMs >= (gatherMsByConnector.get(connector) ?? 0),
  );
  const reachable = [...connectors].filter(deps.mayTryLab);
  const due = await findDueConnectors(deps.pool, reachable);
  const names = new Set([...ripe.map(({ connector }) => connector), ...due]);
  await deps.queues.add(
    "deliver",
    [...names].map((connector) => ({ jobId: `deliver-${connector}`, data: { connector } })),
  );
}

async function clampLongPauses({ pool, logger, settings }: FeederDeps): Promise<void> {
  // Twice as long, since the longest pauses may be a little longer than what they are made of.
  const count = await clampSchedule(pool, settings.longestPauseMs * 2);
  if (count > 0) logger.warn({ count }, "the clock was ahead; what it had put off for too long is due now");
}

/** Finds what was lost: jobs that a queue forgot, orders whose worker died. */
async function sweep(deps: FeederDeps): Promise<void> {
  const [fences, claims] = [[...deps.abandoned.fences], [...deps.abandoned.claims]];
  const released = await releaseExpired(deps.pool, deps.owner, { fences, claims });
  for (const fence of fences) deps.abandoned.fences.delete(fence);
  for (const id of claims) deps.abandoned.claims.delete(id);
  if (released > 0) deps.logger.warn({ orders: released }, "orders whose worker died were taken back");
  const handedOver = await findHandedOver(deps.pool, { olderThanMs: LOST_AFTER_MS, limit: SWEEP_BATCH });
  if (handedOver.length === 0) return;
  const jobIdOf = (batch: number) => submitJob(batch).jobId;
  const existing = await deps.queues.findExisting("submit" satisfies QueueName, handedOver.map(jobIdOf));
  const lost = handedOver.filter((batch) => !existing.has(jobIdOf(batch)));
  await putBack(deps.pool, lost);
  if (lost.length > 0)
    deps.logger.warn({ jobs: lost.length }, "the queue had lost jobs; their orders are handed over again");
}
