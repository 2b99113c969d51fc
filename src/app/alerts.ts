import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { commandPlace } from "../alerts/places/command.ts";
import { emailPlace } from "../alerts/places/email.ts";
import { logPlace } from "../alerts/places/log.ts";
import type { AlertPlace } from "../alerts/places/place.ts";
import { webhookPlace } from "../alerts/places/webhook.ts";
import { alertRounds } from "../alerts/watch.ts";
import type { Daemon } from "../app.ts";
import type { AlertPlaceConfig, AlertsConfig } from "../config/alerts-schema.ts";
import type { Config } from "../config/config.ts";
import type { AskedDeps } from "../console/deps.ts";
import { readStatus } from "../console/status.ts";
import type { Status } from "../console/status-document.ts";
import type { AlertCondition } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { Failure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import { beganAt } from "../core/weekly.ts";
import { daemonView } from "./console.ts";
import { startLoop } from "./side-loops.ts";

interface AlertParts {
  readonly version: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Where a command's program is looked for. */
  readonly path: string | undefined;
}

/**
 * Begins to watch, while this daemon leads, for what somebody has to hear of; gives what ends that. Without a place that is told
 * nothing is watched.
 * @throws Failure CONFIG_INVALID for certificates that can't be read
 */
export function openAlerts(daemon: Daemon, parts: AlertParts): () => Promise<void> {
  const { config, pool } = daemon;
  const { clock, logger } = parts;
  const { alerts } = config;
  if (alerts.to.length === 0) return async () => {};
  const view: AskedDeps = { ...daemonView(daemon, clock), clock, logger };
  const rounds = alertRounds({
    ...{ pool, clock, logger, rules: alerts, places: alertPlaces(config, parts) },
    sender: senderOf(parts),
    conditions: async () => conditionsOf(await readStatus(view, parts.version)),
    isMaintenance: (now) => isMaintenance(alerts, now),
    keptMs: config.retention.ordersMs,
  });
  return startLoop(parts, alerts.checkEveryMs, "alerts could not be looked after", async (signal) => {
    if (daemon.isLeader()) await rounds.round(signal);
    else rounds.forgetGone();
    return false;
  });
}

/** Who sends alerts, as they say it. */
export function senderOf({ version }: Pick<AlertParts, "version">) {
  return { host: hostname(), version };
}

/** The places that are told, in the order of the configuration. @throws Failure CONFIG_INVALID */
export function alertPlaces(
  { alerts, console: { url } }: Pick<Config, "alerts" | "console">,
  parts: Omit<AlertParts, "version">,
): AlertPlace[] {
  return alerts.to.map((place) => openPlace(place, url, parts));
}

function openPlace(
  place: AlertPlaceConfig,
  consoleUrl: string | undefined,
  { logger, clock, path }: Omit<AlertParts, "version">,
): AlertPlace {
  switch (place.type) {
    case "log":
      return logPlace(place.name, logger);
    case "webhook":
      return webhookPlace(place, clock);
    case "email":
      return emailPlace({ ...place, ca: place.ca && readCertificates(place.ca), consoleUrl });
    case "command":
      return commandPlace({ ...place, path });
  }
}

function readCertificates(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Failure("CONFIG_INVALID", { message: `alerts.to: ${file} can't be read`, cause: error });
  }
}

/** What holds; undefined while the ledger did not answer everything, since what is unknown is not over. */
function conditionsOf(status: Status): AlertCondition[] | undefined {
  const { states, stillOrders, waitingMessages, failingDeliveries, orphaned, workers, limits } = status;
  const asked = [states, stillOrders, waitingMessages, failingDeliveries, orphaned, workers, limits];
  if (asked.includes(null)) return undefined;
  return status.attention.flatMap(({ alerts, hint }) => alerts.map((alert) => ({ ...alert, hint })));
}

/** Whether maintenance was declared for a moment. */
export function isMaintenance({ maintenance }: Pick<AlertsConfig, "maintenance">, now: Date): boolean {
  return maintenance.some((one) =>
    "start" in one ? now >= one.start && now < one.end : beganAt(one, now) !== undefined,
  );
}
