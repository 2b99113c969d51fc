import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { Capabilities } from "./capabilities.ts";
import type { ResolvedSettings } from "./settings.ts";
import type { Transport } from "./transport.ts";

/** What each function of this folder that calls the service is given. */
export interface ServiceContext {
  readonly settings: ResolvedSettings;
  readonly transport: Transport;
  readonly capabilities: Capabilities;
  readonly clock: Clock;
  readonly logger: Logger;
}
