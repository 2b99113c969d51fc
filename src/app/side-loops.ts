import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { SURFACES } from "../core/surface.ts";
import { cancelDue } from "../jobs/cancel.ts";
import { recheckDue } from "../jobs/reconcile/recheck.ts";
import type { ServiceClient } from "../service/client.ts";

/** What is done rarely, and so in loops of their own beside the three jobs. */
export interface SideLoopDeps {
  readonly pool: pg.Pool;
  readonly service: ServiceClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether calls may be made right now: this process submits, and the service is not known to be away. */
  readonly mayCall: () => boolean;
  /** Something was decided, so there may be something to send to the lab. */
  readonly onProgress: () => void;
}

const EVERY_MS = 1_000;
const CANCEL_BACKOFF = { firstMs: 2_000, maxMs: 300_000 };

/** Begins to have orders cancelled at the service, and to look once more for orders that were sent again. */
export function startSideLoops(config: Config, deps: SideLoopDeps): { stop(): Promise<void> } {
  const { pool, service, clock, logger } = deps;
  const { cancel, reconcile, correlation } = config.service;
  const cancelling = {
    ...{ pool, service, clock, logger, reconcile },
    random: Math.random,
    backoff: CANCEL_BACKOFF,
    offered: new Set(SURFACES.filter((surface) => cancel[surface] !== undefined)),
  };
  const rechecking = { pool, service, logger, settings: { correlation } };
  const stopping = new AbortController();
  const running = [
    repeat("orders could not be cancelled at the service", async (signal) => {
      const isDone = (await cancelDue(cancelling, signal)) > 0;
      if (isDone) deps.onProgress();
      return isDone;
    }),
    repeat("orders that were sent again could not be looked for", async (signal) => {
      await recheckDue(rechecking, signal);
      return false;
    }),
  ];

  /** @param work whether there may be more to do at once */
  async function repeat(trouble: string, work: (signal: AbortSignal) => Promise<boolean>): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (deps.mayCall() && (await work(stopping.signal))) continue;
      } catch (error) {
        logger.warn({ err: error }, `${trouble}; it is tried again`);
      }
      await clock.sleep(EVERY_MS, stopping.signal).catch(() => undefined);
    }
  }

  return {
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
