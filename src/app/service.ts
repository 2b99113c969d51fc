import { type Config, wayOfFacility } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import { type Condition, condition } from "../core/condition.ts";
import { formatMinute, formatSecond } from "../core/duration.ts";
import { EVERY_MS } from "../core/every.ts";
import { readPem } from "../core/given-file.ts";
import type { Logger } from "../core/logger.ts";
import { readExceptions } from "../core/proxy-exceptions.ts";
import type { JobQueues } from "../jobs/queues.ts";
import { createServiceClient, type ServiceClient, type ServiceDeps } from "../service/client.ts";
import type { Opening } from "../service/http/breaker.ts";
import type { ProxySettings } from "../service/http/proxy.ts";
import type { ServiceSettings } from "../service/settings.ts";
import { startLoop } from "./start-loop.ts";

/**
 * The service client that a configuration describes.
 *
 * @param readAgain reads the configuration again, for a secret that was rotated meanwhile
 */
export function openService(
  config: Config,
  deps: ServiceDeps,
  readAgain: () => Config = () => config,
): ServiceClient {
  const readService = () => {
    try {
      return readAgain().service;
    } catch (error) {
      deps.logger.warn(
        { err: error },
        "the configuration can't be read again; the secret that is known is used",
      );
      return config.service;
    }
  };
  const { auth, externalAuth } = config.service;
  return createServiceClient(
    {
      ...serviceSettings(config),
      auth: withRotation(auth, () => readService().auth),
      externalAuth: externalAuth && withRotation(externalAuth, () => readService().externalAuth),
    },
    deps,
  );
}

/**
 * The same credentials, with the secret looked up whenever it is needed. What the file has of another client waits for a restart, and
 * so does its secret.
 */
function withRotation(running: AuthConfig, readAgain: () => AuthConfig | undefined): ServiceSettings["auth"] {
  const secret = async () => {
    const read = readAgain();
    return secretOf(read && clientOf(read) === clientOf(running) ? read : running).reveal();
  };
  const settings = authSettings(running);
  return "apiToken" in settings ? { apiToken: secret } : { ...settings, clientSecret: secret };
}

type AuthConfig = Config["service"]["auth"];

const secretOf = (auth: AuthConfig) => ("apiToken" in auth ? auth.apiToken : auth.clientSecret);

const clientOf = (auth: AuthConfig) => ("apiToken" in auth ? "" : `${auth.tokenUrl} ${auth.clientId}`);

/**
 * A configuration's section `service` as the client takes it.
 *
 * @throws Failure CONFIG_INVALID when the certificates' file can't be read.
 */
export function serviceSettings(config: Config): ServiceSettings {
  const { auth, externalAuth, ca, ...service } = config.service;
  return {
    ...service,
    proxy: proxySettings(config),
    ca: ca === undefined ? undefined : readPem("service.ca", ca).toString("utf8"),
    auth: authSettings(auth),
    externalAuth: externalAuth && authSettings(externalAuth),
  };
}

/** The proxy that a configuration names, for the service, its token endpoint and webhooks. */
export function proxySettings({ proxy }: Pick<Config, "proxy">): ProxySettings | undefined {
  return proxy && { url: new URL(proxy.url.reveal()), except: readExceptions(proxy.except) };
}

function authSettings(auth: AuthConfig): ServiceSettings["auth"] {
  if ("apiToken" in auth) return { apiToken: auth.apiToken.reveal() };
  return { ...auth, clientSecret: auth.clientSecret.reveal() };
}

/** A service that is restarted is back sooner, ms; after that somebody over there has to know. */
const AWAY_MS = 15 * 60_000;

/** That nothing goes to the service right now. Nobody is needed for a while, unless it refuses the credentials. */
export function serviceCondition(opening: Opening, nowMs: number): Condition {
  const { cause, since, nextTryAt } = opening;
  const isPassing = cause.code !== "SERVICE_CREDENTIALS_REFUSED" && nowMs - since.getTime() < AWAY_MS;
  return condition("serviceUnreachable", "", serviceInWords(opening, nowMs), {
    level: isPassing ? "wait" : "act",
    code: cause.code,
    brief: {
      words: `orders wait: ${cause.text}`,
      since: since.toISOString(),
      nextTryAt: nextTryAt.toISOString(),
    },
  });
}

/**
 * Why nothing goes to the service right now, since when, when it is tried next, and what becomes of the orders, in words for an
 * operator.
 */
function serviceInWords({ cause: { code, text }, since, nextTryAt }: Opening, nowMs: number): string {
  const when = `since ${formatMinute(since)}`;
  const next =
    nextTryAt.getTime() > nowMs ? `next try at ${formatSecond(nextTryAt)}` : "the next try is due now";
  switch (code) {
    case "SERVICE_CREDENTIALS_REFUSED":
      return `the credentials are refused ${when} (service.auth or its secret): nothing is submitted until they are right, and then orders go on by themselves; ${next}. Last answer: ${text}`;
    case "SERVICE_TOKEN_UNAVAILABLE":
      return `the token endpoint issues no token ${when}: nothing is submitted until it does, and then orders go on by themselves; ${next}. Last try: ${text}`;
    default:
      return `the storage service is out of reach ${when}: orders wait, and go on by themselves; ${next}. Last try: ${text}`;
  }
}

/** How long a change in the shape of the service's answers is shown. */
const CHANGE_SHOWN_MS = 86_400_000;

/** The latest change in how the service answers, for a day after it was noticed. */
export function shapeConditions(
  { lastChange }: Pick<ServiceClient, "lastChange">,
  clock: Clock,
): Condition[] {
  if (!lastChange || clock.monotonic() - lastChange.atMs >= CHANGE_SHOWN_MS) return [];
  const text = `the storage service answers in another shape (see cryobridge check): ${lastChange.text}`;
  return [condition("daemonTrouble", "service shape", text)];
}

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
