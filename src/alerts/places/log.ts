import type { Logger } from "../../core/logger.ts";
import type { AlertPlace } from "./place.ts";

/** The daemon's own log: a warning when an alert starts, a line of information when it is over. */
export function logPlace(name: string, logger: Logger): AlertPlace {
  return {
    name,
    send: async ({ id, event, alert }) => {
      const level = event === "started" ? "warn" : "info";
      logger[level]({ alert: { ...alert, message: id, event } }, `alert ${event}: ${alert.text}`);
    },
  };
}
