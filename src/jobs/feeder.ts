import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { EVERY_MS } from "../core/every.ts";
import type { Logger } from "../core/logger.ts";
import { within } from "../core/within.ts";
import { inTransaction } from "../ledger/database.ts";
import { type DueWork, findDue } from "../ledger/due.ts";
import { clampSchedule } from "../ledger/orders/due-times.ts";
import { countQueued, findHandedOver, putBack, takeWaiting } from "../ledger/orders/handing-over.ts";
import { releaseAbandoned } from "../ledger/orders/submission.ts";
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
  /** Is given what each look found, for what is done beside the queues; must not throw. */
  readonly onDue: (due: DueWork) => void;
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
  let feeding: Promise<void> | undefined;

  const feed = async (due: DueWork) => {
    const { worker } = deps;
    const isPaused = (queue: string) => due.paused.includes(queue);
    if (worker.isLeader && deps.isServiceReachable()) {
      if (!isPaused("submit")) await feedSubmit(due, deps);
      if (!isPaused("track")) await feedTrack(due, deps, polledAtByFacility);
    }
    if (due.isResultOpen && !isPaused("deliver")) await feedDeliver(deps);
    const now = deps.clock.monotonic();
    if (now - sweptAt >= EVERY_MS.lostJobs) {
      sweptAt = now;
      await giveBack(due, deps, claimGivenUpAt);
      if (worker.isLeader && due.isOrderInHand) await findLostJobs(deps);
    }
    if (now - clampedAt >= EVERY_MS.farOff && worker.isLeader) {
      clampedAt = now;
      await clampLongPauses(deps);
    }
    lastLookAt = deps.clock.monotonic();
  };

  const look = async () => {
    if (!deps.worker.isSure) return;
    const due = await findDue(deps.pool, [...deps.settings.connectors]);
    deps.onDue(due);
    // A queue that hangs holds up no more than what goes through it.
    feeding ??= feed(due)
      .catch(afterFailure)
      .finally(() => {
        feeding = undefined;
      });
    await within(feeding, deps.settings.tickMs, deps.clock);
  };

  const afterFailure = async (error: unknown) => {
    deps.logger.warn({ err: error }, "the feeder could not look at the ledger; it goes on");
    await deps.clock.sleep(deps.settings.tickMs, stopping.signal).catch(() => undefined);
  };

  const loop = async () => {
    while (!stopping.signal.aborted) {
      isNudged = false;
      await look().catch(afterFailure);
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
      await feeding;
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

async function feedSubmit(due: DueWork, deps: FeederDeps): Promise<void> {
  // While a restored ledger is compared with the service, nothing is submitted.
  if (due.isOrderWaiting && !due.isUncompared) await handOverWaiting(deps);
}

async function handOverWaiting(deps: FeederDeps): Promise<void> {
  const { window: windowOfOne, doesParkedBlock, batchSize } = deps.settings;
  const window = windowOfOne * deps.worker.workers;
  let room = window - (await countQueued(deps.pool));
  const take = (limit: number) => takeWaiting(deps.pool, { leader: deps.worker.id, limit, doesParkedBlock });
  const waiting: number[] = [];
  for (let isMore = room >= window / 2; isMore; ) {
    const limit = Math.min(batchSize(), room);
    const taken = limit > 0 ? await take(limit) : undefined;
    if (taken) waiting.push(taken.batch);
    room -= taken?.orderIds.length ?? 0;
    isMore = taken?.orderIds.length === limit;
  }
  await addOrPutBack(deps, waiting);
}

async function addOrPutBack(deps: FeederDeps, batches: readonly number[]): Promise<void> {
  try {
    await deps.queues.add("submit", batches.map(submitJob));
  } catch (error) {
    await putBack(deps.pool, batches);
    throw error;
  }
}

async function feedTrack(
  { facilities }: DueWork,
  deps: FeederDeps,
  polledAtByFacility: Map<number, number>,
): Promise<void> {
  const now = deps.clock.monotonic();
  const isRested = (facilityId: number) =>
    now - (polledAtByFacility.get(facilityId) ?? Number.NEGATIVE_INFINITY) >= deps.settings.pollPauseMs;
  const due = facilities.filter(isRested);
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
  { isOrderInHand }: DueWork,
  { pool, worker, abandoned, clock, logger }: FeederDeps,
  claimGivenUpAt: Map<number, number>,
): Promise<void> {
  const [fences, claims] = [[...abandoned.fences], [...abandoned.claims]];
  if (fences.length + claims.length === 0 && !(worker.isLeader && isOrderInHand)) return;
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
