import { type Config, wayOfFacility } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import { EVERY_MS } from "../core/every.ts";
import type { Logger } from "../core/logger.ts";
import type { JobQueues } from "../jobs/queues.ts";
import type { ServiceClient } from "../service/client.ts";
import { startLoop } from "./side-work.ts";

/**
 * Keeps this worker from taking jobs that it could only fail while its calls to the service are held back: other workers may reach
 * it. When it is time for a try, one is made though no job comes: a reading, which costs no order anything.
 *
 * @returns what ends that
 */
export function watchService(
  config: Config,
  deps: {
    readonly service: ServiceClient;
    readonly queues: Pick<JobQueues, "take">;
    readonly clock: Clock;
    readonly logger: Logger;
  },
): () => Promise<void> {
  const { service, queues } = deps;
  const follow = () => {
    const { state } = service.breaker;
    queues.take("submit", state === "closed");
    queues.take("track", state !== "open");
  };
  const unfollow = service.breaker.onChange(follow);
  follow();
  const stop = startLoop(deps, EVERY_MS.serviceTry, "the service could not be tried", async (signal) => {
    // What it shows, the circuit breaker has seen.
    if (service.breaker.state === "half-open") await tryOnce(config, service, signal).catch(() => undefined);
    return false;
  });
  return async () => {
    unfollow();
    await stop();
  };
}

/** Reads one entry of the list in which lost calls are looked for. */
async function tryOnce(config: Config, service: ServiceClient, signal: AbortSignal): Promise<void> {
  const [facilityId] = config.facilityIdByCode.values();
  if (facilityId === undefined) return;
  const { surface } = wayOfFacility(config, facilityId);
  const list = surface === "external" ? "procedures" : "requests";
  await service.for("following").readPage({ list, surface, filters: { facilityId }, perPage: 1 }, 1, signal);
}
