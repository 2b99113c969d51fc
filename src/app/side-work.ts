import type pg from "pg";
import { type Config, wayOfFacility } from "../config/config.ts";
import { BACKOFF } from "../core/backoff.ts";
import type { Clock } from "../core/clock.ts";
import { EVERY_MS } from "../core/every.ts";
import { asFailure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import type { OrderTracer } from "../core/order-step.ts";
import { SURFACES } from "../core/surface.ts";
import { lookDue } from "../jobs/calls/look.ts";
import type { IsSent } from "../jobs/submit/deps.ts";
import type { DueWork } from "../ledger/due.ts";
import { forgetOld } from "../ledger/prune.ts";
import { forgetRefills } from "../ledger/refills.ts";
import type { Membership } from "../ledger/workers/membership.ts";
import type { ServiceClient } from "../service/client.ts";

/** What is done beside the three jobs. */
interface SideWorkDeps {
  readonly pool: pg.Pool;
  readonly service: ServiceClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracer: OrderTracer;
  /** Whether calls may be made right now: this worker is the leader, and the service is not known to be away. */
  readonly mayCall: () => boolean;
  /** This one among the workers of the ledger. */
  readonly worker: Pick<Membership, "id" | "exclusively">;
  readonly isSent: IsSent;
  /** Something was decided, so there may be something to send to the lab. */
  readonly onProgress: () => void;
}

/** Records that are pruned at once. */
const PRUNE_BATCH = 1_000;

/** What is done whenever the ledger was asked what is due. */
export interface SideWork {
  /** Begins what is due and not under way. */
  begin(due: DueWork): void;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

/** Has orders cancelled at the service, looks there for what calls did, and prunes what is kept no longer. */
export function createSideWork(config: Config, deps: SideWorkDeps): SideWork {
  const { pool, service, clock, logger, tracer, mayCall, worker, isSent } = deps;
  const { cancel, reconcile, correlation } = config.service;
  const looking = {
    ...{ pool, service: service.for("reconciling"), logger, tracer, random: Math.random, worker, isSent },
    submitting: service.for("submitting"),
    offered: new Set(SURFACES.filter((surface) => cancel[surface] !== undefined)),
    settings: {
      ...{ correlation, reconcile, backoff: BACKOFF },
      wayOf: (facilityId: number) => wayOfFacility(config, facilityId),
    },
  };
  let pruneAtMs = clock.monotonic();
  const looks = (["others", "cancels"] as const).map((kind) =>
    oneAtATime(logger, "calls could not be looked for at the service", async (signal) => {
      while (!signal.aborted && mayCall() && (await lookDue(looking, kind, signal)) > 0) deps.onProgress();
    }),
  );
  const prune = oneAtATime(logger, "old records could not be pruned", async (signal) => {
    pruneAtMs = clock.monotonic() + EVERY_MS.prune;
    await worker.exclusively("prune", () => pruneLedger(pool, config.retention, logger, signal));
  });
  return {
    begin: (due) => {
      if (due.isLookDue) for (const each of looks) each.begin();
      if (clock.monotonic() >= pruneAtMs) prune.begin();
    },
    stop: async () => {
      await Promise.all([...looks, prune].map((each) => each.stop()));
    },
  };
}

/** Something that is begun again and again, and never runs twice at once. */
interface OneAtATime {
  begin(): void;
  /** Ends it, and waits for what is under way. */
  stop(): Promise<void>;
}

/** Makes it so; a failure is logged as the trouble that it is. */
export function oneAtATime(
  logger: Logger,
  trouble: string,
  work: (signal: AbortSignal) => Promise<void>,
): OneAtATime {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;
  return {
    begin: () => {
      if (signal.aborted) return;
      running ??= work(signal)
        .catch((error: unknown) => {
          if (!signal.aborted) logger.warn({ err: asFailure(error) }, `${trouble}; it is tried again`);
        })
        .finally(() => {
          running = undefined;
        });
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

/** Forgets all that retention allows, a batch at a time. */
async function pruneLedger(
  pool: pg.Pool,
  retention: Config["retention"],
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const pruned = await forgetOld(pool, retention, PRUNE_BATCH);
    const most = Math.max(...Object.values(pruned));
    if (most > 0) logger.info(pruned, "old personal data was pruned");
    const refills = await forgetRefills(pool, retention.ordersMs, PRUNE_BATCH);
    if (refills > 0) logger.info({ refills }, "old refills were pruned");
    if (Math.max(most, refills) < PRUNE_BATCH) return;
  }
}
