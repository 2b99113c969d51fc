import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { SURFACES } from "../core/surface.ts";
import { cancelDue } from "../jobs/cancel.ts";
import type { ServiceClient } from "../service/client.ts";

export interface CancellingDeps {
  readonly pool: pg.Pool;
  readonly service: ServiceClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether calls may be made right now: this process submits, and the service is not known to be away. */
  readonly mayCall: () => boolean;
  /** Something was decided, so there may be something to tell the lab. */
  readonly onProgress: () => void;
}

const LOOK_EVERY_MS = 1_000;
const BACKOFF = { firstMs: 2_000, maxMs: 300_000 };

/** Begins to see to requests to cancel orders that the service has. */
export function startCancelling(config: Config, deps: CancellingDeps): { stop(): Promise<void> } {
  const { clock, logger, pool, service } = deps;
  const stopping = new AbortController();
  const calls = config.service.cancel;
  const job = {
    pool,
    service,
    clock,
    logger,
    random: Math.random,
    backoff: BACKOFF,
    settle: config.service.settle,
    offered: new Set(SURFACES.filter((surface) => calls[surface] !== undefined)),
  };
  const loop = async () => {
    while (!stopping.signal.aborted) {
      try {
        if (deps.mayCall() && (await cancelDue(job, stopping.signal)) > 0) {
          deps.onProgress();
          // What a call did is looked for at once.
          continue;
        }
      } catch (error) {
        logger.warn({ err: error }, "requests to cancel orders could not be seen to; it goes on");
      }
      await clock.sleep(LOOK_EVERY_MS, stopping.signal).catch(() => undefined);
    }
  };
  const running = loop();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
