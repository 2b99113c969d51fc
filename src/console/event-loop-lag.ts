import { type EventLoopMonitorOptions, monitorEventLoopDelay } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";

/** Never comes: prom-client's own watch of the event loop would wake an idle process a hundred times a second. */
export const NO_TIMER_MS = 86_400_000;

const NAME = "nodejs_eventloop_lag";
const GAUGES = {
  [`${NAME}_mean_seconds`]: ["The mean time of a turn of the event loop.", (lag) => lag.mean],
  [`${NAME}_max_seconds`]: ["The longest turn of the event loop.", (lag) => lag.max],
  [`${NAME}_p50_seconds`]: ["The median time of a turn of the event loop.", (lag) => lag.percentile(50)],
  [`${NAME}_p90_seconds`]: ["Of ten turns of the event loop nine take less.", (lag) => lag.percentile(90)],
  [`${NAME}_p99_seconds`]: [
    "Of a hundred turns of the event loop all but one take less.",
    (lag) => lag.percentile(99),
  ],
} satisfies Readonly<Record<string, readonly [help: string, read: (lag: Lag) => number]>>;
type Lag = ReturnType<typeof monitorEventLoopDelay>;

/** prom-client's metrics of the event loop that are made of its watch. */
const REPLACED = ["min", "max", "mean", "stddev", "p50", "p90", "p99"].map(
  (part) => `${NAME}_${part}_seconds`,
);

/** Puts metrics of how long the turns of the event loop take in place of prom-client's, measured at each turn instead of by a timer. */
export function replaceEventLoopLag(registry: Registry): void {
  for (const name of REPLACED) registry.removeSingleMetric(name);
  const options: EventLoopMonitorOptions & { readonly samplePerIteration: boolean } = {
    samplePerIteration: true,
  };
  const lag = monitorEventLoopDelay(options);
  lag.enable();
  const gauges = Object.entries(GAUGES).map(([name, [help, read]]) => ({ name, help, read }));
  for (const [at, { name, help, read }] of gauges.entries())
    new Gauge({
      ...{ name, help, registers: [registry] },
      collect() {
        this.set(read(lag) / 1e9 || 0);
        // Each scrape begins anew.
        if (at === gauges.length - 1) lag.reset();
      },
    });
}
