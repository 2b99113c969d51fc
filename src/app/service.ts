import { readFileSync } from "node:fs";
import type { AuthConfig, Config } from "../config/config.ts";
import { createServiceClient, type ServiceClient, type ServiceDeps } from "../service/client.ts";
import type { Secret, ServiceSettings } from "../service/settings.ts";

/**
 * The service client that a configuration describes.
 *
 * @param readAgain reads the configuration anew, for a secret that was rotated meanwhile
 */
export function openService(
  config: Config,
  deps: ServiceDeps,
  readAgain: () => Config = () => config,
): ServiceClient {
  const settings = serviceSettings(config);
  const auth = async () => {
    try {
      return readAgain().service.auth;
    } catch (error) {
      deps.logger.warn(
        { err: error },
        "the configuration can't be read again; the secret that is known is used",
      );
      return config.service.auth;
    }
  };
  return createServiceClient({ ...settings, auth: withRotation(settings.auth, auth) }, deps);
}

/** The same credentials, with the secret looked up whenever it is needed. */
function withRotation(
  known: ServiceSettings["auth"],
  auth: () => Promise<AuthConfig>,
): ServiceSettings["auth"] {
  if ("apiToken" in known) {
    return {
      apiToken: async () => {
        const now = await auth();
        return now.kind === "apiToken" ? now.apiToken.reveal() : revealed(known.apiToken);
      },
    };
  }
  return {
    ...known,
    clientSecret: async () => {
      const now = await auth();
      return now.kind === "oauth" ? now.clientSecret.reveal() : revealed(known.clientSecret);
    },
  };
}

const revealed = (secret: Secret) => (typeof secret === "string" ? secret : secret());

/**
 * A configuration's section `service` as the client takes it.
 *
 * @throws Error of the file system when the certificates' file can't be read.
 */
export function serviceSettings(config: Config): ServiceSettings {
  const { auth, ...service } = config.service;
  return {
    baseUrl: service.baseUrl,
    timeoutMs: service.timeoutMs,
    maxRequestsPerSecond: service.maxRequestsPerSecond,
    concurrency: service.concurrency,
    perPage: service.perPage,
    listEnvelope: service.listEnvelope,
    notExecuted: service.notExecuted,
    containerLabelFields: service.containerLabelFields,
    correlation: service.correlation,
    allowInsecure: service.allowInsecure,
    ca: service.caFile === undefined ? undefined : readFileSync(service.caFile, "utf8"),
    auth:
      auth.kind === "apiToken"
        ? { apiToken: auth.apiToken.reveal() }
        : {
            tokenUrl: auth.tokenUrl,
            clientId: auth.clientId,
            clientSecret: auth.clientSecret.reveal(),
            method: auth.method,
            scope: auth.scope,
            audience: auth.audience,
          },
  };
}
