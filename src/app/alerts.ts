import { alertRounds } from "../alerts/watch.ts";
import type { Daemon } from "../app.ts";
import type { AlertsConfig } from "../config/alerts-schema.ts";
import { askAll, askOnceAtATime } from "../console/ask.ts";
import type { AskedDeps } from "../console/deps.ts";
import { conditionsOf } from "../console/status.ts";
import { isWithin } from "../core/weekly.ts";
import { type AlertParts, alertPlaces, senderOf } from "./alert-places.ts";
import { daemonView } from "./console.ts";
import { startLoop } from "./side-loops.ts";

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
    isMaintenance: (now) => isMaintenance(config.alerts, now),
    keptMs: config.retention.ordersMs,
  });
  const everyMs = () => config.alerts.checkEveryMs;
  return startLoop(parts, everyMs, "alerts could not be looked after", async (signal) => {
    if (config.alerts.to.length > 0 && daemon.isLeader()) await rounds.round(signal);
    else rounds.forgetGone();
    return false;
  });
}

/** Whether maintenance was declared for a moment. */
export function isMaintenance({ maintenance }: Pick<AlertsConfig, "maintenance">, now: Date): boolean {
  return maintenance.some((one) => ("start" in one ? now >= one.start && now < one.end : isWithin(one, now)));
}
