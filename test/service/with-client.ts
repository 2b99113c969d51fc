import { pino } from "pino";
import { systemClock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import { createServiceClient, type ServiceClient, type ServiceDeps } from "../../src/service/client.ts";
import type { ServiceSettings } from "../../src/service/settings.ts";
import { serviceSettings } from "../support/service-settings.ts";
import { StubService } from "./stub-service.ts";

/** A signal that nobody aborts. */
export const never = new AbortController().signal;

/** Collects what is logged, so that tests can search it. */
export function logSink(): { logger: ServiceDeps["logger"]; text: () => string } {
  const lines: string[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  return { logger, text: () => lines.join("") };
}

export const settings = (baseUrl: string): ServiceSettings =>
  serviceSettings({
    baseUrl,
    auth: { apiToken: "secret-api-token" },
    timeoutMs: 20_000,
    maxRequestsPerSecond: 10_000,
  });

/** Runs a test with a client of `baseUrl`, closed afterwards. */
export async function withClient<T>(
  given: Partial<ServiceSettings> & { baseUrl: string },
  test: (client: ServiceClient) => Promise<T>,
  deps: Partial<ServiceDeps> = {},
): Promise<T> {
  const client = createServiceClient(
    { ...settings(given.baseUrl), ...given },
    { clock: systemClock, logger: logSink().logger, ...deps },
  );
  try {
    return await test(client);
  } finally {
    await client.close();
  }
}

/** Runs a test with a stub service and a client of it. */
export async function withStub<T>(
  test: (stub: StubService, client: ServiceClient) => Promise<T>,
  given: Partial<ServiceSettings> = {},
  deps: Partial<ServiceDeps> = {},
): Promise<T> {
  const stub = await new StubService().start();
  try {
    return await withClient({ baseUrl: stub.baseUrl, ...given }, (client) => test(stub, client), deps);
  } finally {
    await stub.stop();
  }
}

/** The failure that a promise ends with. */
export async function failureOf(promise: Promise<unknown>): Promise<Failure> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Failure) return error;
  throw new Error("expected a Failure", { cause: error });
}
