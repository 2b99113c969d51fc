import { readFileSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { createServiceClient, type ServiceClient, type ServiceDeps } from "../service/client.ts";
import type { ServiceSettings } from "../service/settings.ts";

/** The service client that a configuration describes. */
export function openService(config: Config, deps: ServiceDeps): ServiceClient {
  return createServiceClient(serviceSettings(config), deps);
}

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
