import type pg from "pg";
import type { Config } from "../config/config.ts";
import { aboutOn } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { type Condition, condition } from "../core/condition.ts";
import { formatMinute } from "../core/duration.ts";
import type { Logger } from "../core/logger.ts";
import { VERSION } from "../core/version.ts";
import { findInstanceCode } from "../ledger/migrate.ts";
import { openTracing, type Tracing } from "../tracing/tracing.ts";

interface TracingParts {
  /** What this daemon is called among those that share the ledger. */
  readonly workerName: string;
  readonly pool: pg.Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Has it hear what the daemon does. */
  readonly observe: (traces: Tracing) => void;
  /** Later parts are closed first. */
  readonly onClose: (close: () => Promise<unknown>) => void;
}

/** What is left may take this long to be sent at the end, ms; never longer than the daemon may take to stop. */
const SEND_REST_WITHIN_MS = 3_000;

/** Makes traces of what a daemon does, where the configuration wants them. */
export async function startTracing(
  { tracing, worker }: Config,
  { workerName, pool, clock, logger, observe, onClose }: TracingParts,
): Promise<Tracing | undefined> {
  if (!tracing) return undefined;
  const headers = Object.entries(tracing.headers).map(([name, value]) => [name, value.reveal()]);
  const traces = await openTracing(
    { ...tracing, headers: Object.fromEntries(headers) },
    {
      ...{ clock, logger, version: VERSION, workerName },
      instanceCode: await findInstanceCode(pool),
    },
  );
  observe(traces);
  onClose(() => traces.close(Math.min(SEND_REST_WITHIN_MS, worker.stopWithinMs)));
  return traces;
}

/** That spans are dropped, as long as the collector takes none. Nobody's orders lack anything. */
export function tracingConditions(traces: Tracing | undefined, host: string): Condition[] {
  const dropped = traces?.losses.dropped;
  if (dropped === undefined) return [];
  const text = `the collector takes no traces: ${dropped.spans} spans were dropped since ${formatMinute(dropped.since)}`;
  return [condition("daemonTrouble", aboutOn(host, "traces"), text, { level: "look" })];
}
