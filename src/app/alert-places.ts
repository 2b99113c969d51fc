import { hostname } from "node:os";
import { commandPlace } from "../alerts/places/command.ts";
import { emailPlace } from "../alerts/places/email.ts";
import { logPlace } from "../alerts/places/log.ts";
import { type AlertPlace, PLACE_TIMEOUT_MS } from "../alerts/places/place.ts";
import { type Post, webhookPlace } from "../alerts/places/webhook.ts";
import { sendTest } from "../alerts/send.ts";
import type { AlertPlaceConfig } from "../config/alerts-schema.ts";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import { Failure } from "../core/failures.ts";
import { readPem } from "../core/given-file.ts";
import type { Logger } from "../core/logger.ts";
import type { PlaceTest } from "../operator/acts.ts";
import type { ProxySettings } from "../service/http/proxy.ts";
import { createWire, reasonOf } from "../service/http/wire.ts";
import { proxySettings } from "./service.ts";

/** What places need beside their configuration. */
export interface AlertParts {
  readonly version: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Where a command's program is looked for. */
  readonly path: string | undefined;
}

type PlaceConfig = Pick<Config, "alerts" | "console" | "proxy">;

/** Who sends alerts, as they say it. */
export function senderOf({ version }: Pick<AlertParts, "version">) {
  return { host: hostname(), version };
}

/** The places that alerts are sent to, in the order of the configuration. @throws Failure CONFIG_INVALID */
export function alertPlaces(config: PlaceConfig, parts: AlertParts): AlertPlace[] {
  const post = postThrough(proxySettings(config));
  return config.alerts.to.map((place) => openPlace(place, config.console.url, parts, post));
}

/** How webhooks are called, each over a connection of its own: an alert is rare. */
export function postThrough(proxy: ProxySettings | undefined): Post {
  return async (request, signal) => {
    const wire = createWire({ timeoutMs: PLACE_TIMEOUT_MS, concurrency: 1, maxBodyBytes: 0, proxy });
    try {
      const result = await wire.exchange({ method: "POST", isBodyLeft: true, ...request }, signal);
      if (result.kind === "answer") return result.status;
      throw new Error(reasonOf(result.why, result.error));
    } finally {
      await wire.close();
    }
  };
}

/**
 * Sends each place a test message, or the one of this name alone.
 * @throws Failure CLI_USAGE when there is none, CONFIG_INVALID
 */
export function testPlaces(
  config: PlaceConfig,
  parts: AlertParts,
  name: string | undefined,
): Promise<PlaceTest[]> {
  const places = alertPlaces(config, parts);
  const wanted = places.filter((place) => name === undefined || place.name === name);
  if (wanted.length === 0) {
    const names = places.map((place) => place.name).join(", ");
    const has =
      names === "" ? "the configuration has no place under alerts.to" : `the configuration has ${names}`;
    throw new Failure(
      "CLI_USAGE",
      name === undefined ? `${has}: alerts are sent to nobody` : `--to ${name}: ${has}`,
    );
  }
  return sendTest(wanted, senderOf(parts), parts.clock);
}

function openPlace(
  place: AlertPlaceConfig,
  consoleUrl: string | undefined,
  { logger, clock, path }: AlertParts,
  post: Post,
): AlertPlace {
  switch (place.type) {
    case "log":
      return logPlace(place.name, logger);
    case "webhook":
      return webhookPlace(place, clock, post);
    case "email":
      return emailPlace({
        ...place,
        ca: place.ca && readPem(`alerts.to ${place.name}`, place.ca).toString("utf8"),
        consoleUrl,
      });
    case "command":
      return commandPlace({ ...place, path });
  }
}
