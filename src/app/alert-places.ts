import { hostname } from "node:os";
import { emailPlace } from "../alerts/places/email.ts";
import {
  type AlertPlace,
  commandPlace,
  logPlace,
  PLACE_TIMEOUT_MS,
  type Post,
  webhookPlace,
} from "../alerts/places/place.ts";
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
  const proxy = proxySettings(config);
  return config.alerts.to.map((place) => openPlace(place, config.console.url, parts, proxy));
}

/**
 * How webhooks are called, each over a connection of its own: an alert is rare.
 *
 * @param ca PEM certificates to trust instead of the public authorities
 */
export function postThrough(proxy: ProxySettings | undefined, ca?: string): Post {
  return async (request, signal) => {
    const wire = createWire({ timeoutMs: PLACE_TIMEOUT_MS, concurrency: 1, maxBodyBytes: 0, proxy, ca });
    try {
      const result = await wire.exchange({ method: "POST", isBodyLeft: true, ...request }, signal);
      if (result.kind === "answer") return result.status;
      const { why, lead } = reasonOf(result.why, result.error, { ca: "its `ca`", name: "its `url`" });
      throw new Error(lead === undefined ? why : `${why}: ${lead}`);
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
  proxy: ProxySettings | undefined,
): AlertPlace {
  const ca =
    "ca" in place && place.ca !== undefined
      ? readPem(`alerts.to ${place.name}`, place.ca).toString("utf8")
      : undefined;
  switch (place.type) {
    case "log":
      return logPlace(place.name, logger);
    case "webhook":
      return webhookPlace(place, clock, postThrough(proxy, ca));
    case "email":
      return emailPlace({ ...place, ca, consoleUrl });
    case "command":
      return commandPlace({ ...place, path });
  }
}
