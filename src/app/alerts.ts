import { alertRounds } from "../alerts/watch.ts";
import type { Daemon } from "../app.ts";
import { askAll, askOnceAtATime } from "../console/ask.ts";
import type { AskedDeps } from "../console/deps.ts";
import { conditionsOf } from "../console/status.ts";
import { type AlertParts, alertPlaces, senderOf } from "./alert-places.ts";
import { daemonView } from "./console.ts";
import { maintenanceUntil } from "./maintenance.ts";
import { startLoop } from "./side-work.ts";

/**
 * Begins to watch, while this daemon leads, for what somebody has to hear of; gives what ends that. Without a place to send
 * to nothing is watched.
 * @throws Failure CONFIG_INVALID for certificates that can't be read
 */
export function openAlerts(daemon: Daemon, parts: AlertParts): () => Promise<void> {
  const { configuration, config, pool } = daemon;
  const { clock, logger } = parts;
  const places = configuration.derive((settings) => alertPlaces(settings.config, parts));
  const view: AskedDeps = askOnceAtATime({ ...daemonView(daemon, clock), clock, logger });
  const rounds = alertRounds({
    ...{ pool, clock, logger, places },
    rules: () => config.alerts,
    sender: senderOf(parts),
    conditions: async () => conditionsOf(view, await askAll(view)),
    isMaintenance: (now) => maintenanceUntil(config.alerts, now) !== undefined,
    keptMs: config.retention.ordersMs,
  });
  const everyMs = () => config.alerts.checkEveryMs;
  return startLoop(parts, everyMs, "alerts could not be looked after", async (signal) => {
    if (config.alerts.to.length > 0 && daemon.isLeader()) await rounds.round(signal);
    else rounds.forgetGone();
    return false;
  });
}
