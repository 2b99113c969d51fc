import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { inTransaction } from "../ledger/database.ts";
import { findPausedQueues } from "../ledger/operator/queues.ts";
import { clampSchedule } from "../ledger/orders/due-times.ts";
import {
  countQueued,
  findHandedOver,
  putBack,
  takeUnreconciled,
  takeWaiting,
} from "../ledger/orders/handing-over.ts";
import { releaseAbandoned } from "../ledger/orders/submission.ts";
import { findDueFacilities } from "../ledger/orders/tracking.ts";
import { findDueConnectors } from "../ledger/results/deliveries.ts";
import { findOpenConnectors } from "../ledger/results/outcomes.ts";
import type { Membership } from "../ledger/workers/membership.ts";
import type { JobQueues, NewJob } from "./queues.ts";
import type { Abandoned } from "./submit/deps.ts";

export interface FeederSettings {
  /** How many orders are in the submit queue's hands at most, for each worker that there is. */
  readonly window: number;
  /** How many orders make a job of the submit queue at most; fewer for each of many workers. */
  readonly batchSize: () => number;
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
  /** This worker among the others. Only the leader hands over orders and readings; each delivers through its connectors. */
  readonly worker: Pick<Membership, "id" | "isLeader" | "isSure" | "workers">;
  /** What this worker's jobs could not give back. */
  readonly abandoned: Abandoned;
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

/** How often lost jobs, and what this worker's jobs gave up, are looked for. */
const SWEEP_EVERY_MS = 2_500;
/** How often it is looked whether a clock that was ahead has left anything due in a distant future. */
const CLAMP_EVERY_MS = 300_000;
/** A job that should be there is missed after this. */
const LOST_AFTER_MS = 5_000;
const SWEEP_BATCH = 200;
/**
 * A claim that was not answered may wait for a lock at the server, and take effect for as long as any statement may take; nobody
 * else takes its orders from a worker that lives.
 */
const CLAIM_MAY_COME_FOR_MS = 130_000;
/** Nudges within this time are answered with one look. */
const GATHER_NUDGES_MS = 20;

/** Begins to feed the queues. The ledger says what is due; a queue that was emptied is simply filled again. */
export function startFeeder(deps: FeederDeps): Feeder {
  const stopping = new AbortController();
  const polledAtByFacility = new Map<number, number>();
  const claimGivenUpAt = new Map<number, number>();
  let wake: (() => void) | undefined;
  let isNudged = false;
  let sweptAt = Number.NEGATIVE_INFINITY;
  let clampedAt = Number.NEGATIVE_INFINITY;
  let lastLookAt = deps.clock.monotonic();

  const look = async () => {
    const { worker } = deps;
    if (!worker.isSure) return;
    const paused = await findPausedQueues(deps.pool);
    if (worker.isLeader && deps.isServiceReachable()) {
      if (!paused.has("submit")) await feedSubmit(deps);
      if (!paused.has("track")) await feedTrack(deps, polledAtByFacility);
    }
    if (!paused.has("deliver")) await feedDeliver(deps);
    const now = deps.clock.monotonic();
    if (now - sweptAt >= SWEEP_EVERY_MS) {
      sweptAt = now;
      await giveBack(deps, claimGivenUpAt);
      if (worker.isLeader) await findLostJobs(deps);
    }
    if (now - clampedAt >= CLAMP_EVERY_MS && worker.isLeader) {
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
  const { doesParkedBlock } = deps.settings;
  const window = deps.settings.window * deps.worker.workers;
  const leader = deps.worker.id;
  const maySubmit = await deps.maySubmit();
  let room = window - (await countQueued(deps.pool));
  const take = (limit: number) => takeWaiting(deps.pool, { leader, limit, doesParkedBlock });
  const waiting: number[] = [];
  for (let isMore = maySubmit && room >= window / 2; isMore; ) {
    const limit = Math.min(deps.settings.batchSize(), room);
    const taken = limit > 0 ? await take(limit) : undefined;
    if (taken) waiting.push(taken.batch);
    room -= taken?.orderIds.length ?? 0;
    isMore = taken?.orderIds.length === limit;
  }
  await addOrPutBack(deps, waiting);
  // Lost calls hold up their lanes, so they go ahead of what waits for its first try.
  const unreconciled = await takeUnreconciled(deps.pool, { leader, limit: deps.settings.batchSize() });
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
    due.map((facilityId) => ({ jobId: `track-f${facilityId}-w${deps.worker.id}`, data: { facilityId } })),
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
    [...names].map((connector) => ({
      jobId: `deliver-${connector}-w${deps.worker.id}`,
      data: { connector },
    })),
  );
}

async function clampLongPauses({ pool, logger, settings }: FeederDeps): Promise<void> {
  // Twice as long, since the longest pauses may be a little longer than what they are made of.
  const count = await clampSchedule(pool, settings.longestPauseMs * 2);
  if (count > 0) logger.warn({ count }, "the clock was ahead; what it had put off for too long is due now");
}

/** Gives back the orders that this worker's jobs gave up while the ledger was away; the leader also those of workers that ended. */
async function giveBack(
  { pool, worker, abandoned, clock, logger }: FeederDeps,
  claimGivenUpAt: Map<number, number>,
): Promise<void> {
  const [fences, claims] = [[...abandoned.fences], [...abandoned.claims]];
  if (!worker.isLeader && fences.length + claims.length === 0) return;
  const released = await inTransaction(pool, (client) =>
    releaseAbandoned(client, worker.id, { fences, claims }),
  );
  for (const fence of fences) abandoned.fences.delete(fence);
  const now = clock.monotonic();
  for (const batch of claims) {
    const since = claimGivenUpAt.get(batch) ?? now;
    claimGivenUpAt.set(batch, since);
    if (now - since >= CLAIM_MAY_COME_FOR_MS) abandoned.claims.delete(batch);
  }
  for (const batch of claimGivenUpAt.keys()) if (!abandoned.claims.has(batch)) claimGivenUpAt.delete(batch);
  if (released > 0) logger.warn({ orders: released }, "orders were taken back that nobody works on");
}

/** Puts orders back whose jobs the queue has lost: it was emptied, or restarted without what it had. */
async function findLostJobs(deps: FeederDeps): Promise<void> {
  const handedOver = await findHandedOver(deps.pool, { olderThanMs: LOST_AFTER_MS, limit: SWEEP_BATCH });
  if (handedOver.length === 0) return;
  const jobIdOf = (batch: number) => submitJob(batch).jobId;
  const existing = await deps.queues.findExisting(handedOver.map(jobIdOf));
  const lost = handedOver.filter((batch) => !existing.has(jobIdOf(batch)));
  await putBack(deps.pool, lost);
  if (lost.length > 0)
    deps.logger.warn({ jobs: lost.length }, "the queue had lost jobs; their orders are handed over again");
}
