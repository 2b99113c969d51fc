import type { Clock } from "../../core/clock.ts";
import { Failure, type FailureCode } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import type { InventoryWorth } from "../inventory/worth.ts";
import type { Capabilities } from "../lists/capabilities.ts";
import { requireReadableIds } from "../lists/list-query.ts";
import type { CallSettings } from "../settings.ts";
import type { RawObject, ServiceWords } from "../values.ts";
import { unwrapObject } from "./answer.ts";
import type { Caller } from "./transport.ts";

/** What each function of this folder that calls the service is given. */
export interface ServiceContext {
  readonly settings: CallSettings;
  readonly transport: Caller;
  readonly capabilities: Capabilities;
  readonly inventories: InventoryWorth;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Failures that are of the service or of the way to it: whatever else it is asked now will fail as well. */
export const OF_THE_SERVICE: ReadonlySet<FailureCode> = new Set<FailureCode>([
  "SERVICE_BUSY",
  "SERVICE_PAUSED",
  "SERVICE_STOPPED",
  "SERVICE_UNREACHABLE",
  "SERVICE_TOKEN_UNAVAILABLE",
  "SERVICE_CREDENTIALS_REFUSED",
]);

/**
 * What a read gives, or undefined where the service refuses it for good: what can't be read proves nothing.
 * @throws what says nothing of what is read: a service that is away, and refused credentials
 */
export async function unlessRefused<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    const isCredentials = error instanceof Failure && error.code === "SERVICE_CREDENTIALS_REFUSED";
    if (error instanceof Failure && error.class === "permanent" && !isCredentials) return undefined;
    throw error;
  }
}

/**
 * Reads one object by its id.
 * @throws Failure SERVICE_NOT_FOUND, SERVICE_SHAPE_UNKNOWN, and those of `Transport.call`.
 */
export function getOne<T>(
  context: ServiceContext,
  target: { readonly route: string; readonly id: number },
  parse: (raw: RawObject, words: ServiceWords) => T | undefined,
  signal: AbortSignal,
): Promise<T> {
  return context.transport.call(
    {
      method: "GET",
      route: target.route,
      id: target.id,
      read: (answer) => {
        const raw = unwrapObject(answer.json);
        const value = raw && parse(raw, context.settings.words);
        if (value !== undefined) return value;
        if (raw) requireReadableIds(target.route, [raw]);
        throw new Failure("SERVICE_SHAPE_UNKNOWN", `GET ${target.route}: the answer holds no such object`);
      },
    },
    signal,
  );
}
