import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { EVERY_MS } from "../core/every.ts";
import type { Logger } from "../core/logger.ts";
import { within } from "../core/within.ts";
import { inTransaction } from "../ledger/database.ts";
import { clampSchedule, type DueWork, findDue } from "../ledger/due.ts";
import { releaseAbandoned } from "../ledger/orders/submission.ts";
import { findDueConnectors } from "../ledger/results/deliveries.ts";
import { findOpenConnectors } from "../ledger/results/outcomes.ts";
import type { Membership } from "../ledger/workers/membership.ts";
import type { JobQueues } from "./queues.ts";
import type { InHand } from "./submit/in-hand.ts";

export interface FeederSettings {
  /** How many submit jobs run at once, for each worker that there is. */
  readonly submitsAtOnce: number;
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
}

export interface FeederDeps {
  readonly pool: pg.Pool;
  readonly queues: JobQueues;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This worker among the others. Only the leader has orders submitted and read; each delivers through its connectors. */
  readonly worker: Pick<Membership, "id" | "isLeader" | "isSure" | "workers" | "rosterChanges">;
  /** What this worker's jobs work on. */
  readonly inHand: InHand;
  /** False while the service is known to be out of reach: then nothing that would call it is handed over. */
  readonly isServiceReachable: () => boolean;
  /** False while a connector's lab is known to be away and the time for the next try has not come. */
  readonly mayTryLab: (connector: string) => boolean;
  /** Is given what each look found, for what is done beside the queues; must not throw. */
  readonly onDue: (due: DueWork) => void;
  readonly settings: FeederSettings;
}

/** Has what is due in the ledger worked off by the queues' jobs. */
export interface Feeder {
  /** Something may have become due: look at once. */
  nudge(): void;
  stop(): Promise<void>;
  /** When a look at the ledger last succeeded, monotonic ms. */
  readonly lastLookAt: number;
}

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
  let feeding: Promise<void> | undefined;

  const feed = async (due: DueWork) => {
    const { worker } = deps;
    const isPaused = (queue: string) => due.paused.includes(queue);
    if (worker.isLeader && deps.isServiceReachable()) {
      await feedSubmit(due, deps);
      if (!isPaused("track")) await feedTrack(due, deps, polledAtByFacility);
    }
    if (due.isResultOpen && !isPaused("deliver")) await feedDeliver(deps);
    const now = deps.clock.monotonic();
    if (now - sweptAt >= EVERY_MS.lostJobs) {
      sweptAt = now;
      if (due.isOrderInHand) await giveBack(deps);
    }
    if (now - clampedAt >= EVERY_MS.farOff) {
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
    // A reason spares an exception with a stack that nobody looks at.
    wake = () => waking.abort("woken");
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

/**
 * Wakes one more worker up, as long as there are some: one that finds more than it can take has the ledger looked at at once.
 * A wake-up has one of a few ids, so that no more of them are there than can run, while nobody comes or goes.
 */
async function feedSubmit(
  { isOrderWaiting }: DueWork,
  { queues, worker, settings }: FeederDeps,
): Promise<void> {
  if (!isOrderWaiting) return;
  const wakeUps = Array.from({ length: settings.submitsAtOnce * worker.workers }, (_, n) => ({
    jobId: jobIdOf(`submit-${n + 1}`, worker),
    data: { nth: n + 1 },
  }));
  const existing = await queues.findExisting(wakeUps.map(({ jobId }) => jobId));
  const free = wakeUps.find(({ jobId }) => !existing.has(jobId));
  if (free) await queues.add("submit", [free]);
}

/**
 * Ids name the feeder, and how often others have come and gone. A job in the hands of a worker that died blocks its id until the lock has run
 * out by that worker's clock, which may be an hour ahead: a new id does not wait for that.
 */
const jobIdOf = (what: string, { id, rosterChanges }: FeederDeps["worker"]) =>
  `${what}-w${id}-${rosterChanges}`;

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
    due.map((facilityId) => ({ jobId: jobIdOf(`track-f${facilityId}`, deps.worker), data: { facilityId } })),
  );
  for (const facilityId of due) polledAtByFacility.set(facilityId, now);
}

async function feedDeliver(deps: FeederDeps): Promise<void> {
  const { connectors, gatherMsByConnector } = deps.settings;
  // One that happened in what is the future now, since the ledger's clock has gone back, is as ripe as one that is as old.
  const ripe = (await findOpenConnectors(deps.pool)).filter(
    ({ connector, oldestMs }) =>
      connectors.has(connector) && Math.abs(oldestMs) >= (gatherMsByConnector.get(connector) ?? 0),
  );
  const reachable = [...connectors].filter(deps.mayTryLab);
  const due = await findDueConnectors(deps.pool, reachable);
  const names = new Set([...ripe.map(({ connector }) => connector), ...due]);
  await deps.queues.add(
    "deliver",
    [...names].map((connector) => ({
      jobId: jobIdOf(`deliver-${connector}`, deps.worker),
      data: { connector },
    })),
  );
}

async function clampLongPauses({ pool, logger, settings }: FeederDeps): Promise<void> {
  // Twice as long, since the longest pauses may be a little longer than what they are made of.
  const count = await clampSchedule(pool, settings.longestPauseMs * 2);
  if (count > 0) logger.warn({ count }, "the clock was ahead; what it had put off for too long is due now");
}

/** Gives back the orders that this worker doesn't work on though the ledger has them in its hands, and those of workers that ended. */
async function giveBack({ pool, worker, inHand, logger }: FeederDeps): Promise<void> {
  const released = await inHand.sweep((fences) =>
    inTransaction(pool, (client) => releaseAbandoned(client, worker.id, fences)),
  );
  if (released) logger.warn({ orders: released }, "orders were taken back that nobody works on");
}
