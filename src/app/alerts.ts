import { type AlertDeps, alertRounds } from "../alerts/watch.ts";
import type { Daemon } from "../app.ts";
import { maintenanceUntil } from "../operator/maintenance.ts";
import { askAll, askOnceAtATime } from "../standing/ask.ts";
import type { AskedDeps } from "../standing/asked.ts";
import { conditionsOf } from "../standing/status.ts";
import { type AlertParts, alertPlaces, senderOf } from "./alert-places.ts";
import { daemonView } from "./console.ts";
import { startLoop } from "./start-loop.ts";

/**
 * Begins to watch for what somebody has to hear of, while no other daemon does; gives what ends that. Without a place to send
 * to, or without the role `worker`, which knows most, nothing is watched.
 * @throws Failure CONFIG_INVALID for certificates that can't be read
 */
export function openAlerts(daemon: Daemon, parts: AlertParts): () => Promise<void> {
  const { configuration, pool } = daemon;
  const { config } = configuration;
  const { clock, logger } = parts;
  const places = configuration.derive((settings) => alertPlaces(settings.config, parts));
  const view: AskedDeps = askOnceAtATime({ ...daemonView(daemon, clock), clock, logger });
  const deps: AlertDeps = {
    ...{ pool, clock, logger, places },
    rules: () => config.alerts,
    sender: senderOf(parts),
    conditions: async () => conditionsOf(view, await askAll(view)),
    isMaintenance: (now) => maintenanceUntil(config.alerts, now) !== undefined,
    keptMs: config.retention.ordersMs,
  };
  const everyMs = () => config.alerts.checkEveryMs;
  const isOn = () => daemon.queues !== undefined && config.alerts.to.length > 0;
  return startLoop(parts, everyMs, "alerts could not be looked after", async (signal) => {
    if (!isOn()) return false;
    await daemon.exclusively("alerts", async (isHeld) => {
      const round = alertRounds(deps);
      while (isOn() && isHeld() && !signal.aborted) {
        await round(signal);
        await clock.sleep(everyMs(), signal).catch(() => undefined);
      }
    });
    return false;
  });
}
