import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { recheckDue } from "../jobs/reconcile/recheck.ts";
import type { ServiceClient } from "../service/client.ts";

export interface RecheckingDeps {
  readonly pool: pg.Pool;
  readonly service: ServiceClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether calls may be made right now: this process submits, and the service is not known to be away. */
  readonly mayCall: () => boolean;
}

const LOOK_EVERY_MS = 1_000;

/** Begins to look once more for orders that were sent again after nothing had been found, when that is due. */
export function startRechecking(config: Config, deps: RecheckingDeps): { stop(): Promise<void> } {
  const { clock, logger, pool, service } = deps;
  const stopping = new AbortController();
  const job = { pool, service, logger, settings: { correlation: config.service.correlation } };
  const loop = async () => {
    while (!stopping.signal.aborted) {
      try {
        if (deps.mayCall()) await recheckDue(job, stopping.signal);
      } catch (error) {
        logger.warn({ err: error }, "orders that were sent again could not be looked for; it goes on");
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
