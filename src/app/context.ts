import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import type { Failure } from "../core/failures.ts";
import type { MessageVerdict } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import type { TerminalState } from "../core/order-state.ts";
import type { Membership } from "../ledger/workers/membership.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../mapping/profile/schema.ts";
import type { ObservedCall } from "../service/http/transport.ts";
import type { OpenLedger } from "./open-ledger.ts";
import type { Role } from "./roles.ts";

/** How a daemon is started. */
export interface DaemonOptions {
  readonly roles: ReadonlySet<Role>;
  readonly logger: Logger;
  readonly clock?: Clock | undefined;
  /** Reads the configuration again, for secrets that were rotated while the daemon runs. */
  readonly readAgain?: (() => Config<ProfileDefinition>) | undefined;
  /** Called when the daemon can't go on, such as when the ledger was put back under it. */
  readonly onFatal: (failure: Failure) => void;
  /** Called when a person asked this worker to stop. */
  readonly onDrain?: (() => void) | undefined;
}

/** Is called with what a daemon does. Must not throw. */
export interface DaemonObserver {
  serviceCalled(call: ObservedCall): void;
  messagesCommitted(connector: string, verdicts: readonly MessageVerdict[]): void;
  /** The states in which orders ended, as far as this daemon recorded it. */
  ordersEnded(states: readonly TerminalState[]): void;
}

/** What the parts of a daemon are made with. */
export interface Context {
  readonly config: Config<ProfileDefinition>;
  readonly options: DaemonOptions;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ledger: OpenLedger;
  readonly membership: Membership;
  readonly observers: ReadonlySet<DaemonObserver>;
  /** Later parts are closed first. */
  readonly onClose: (close: () => Promise<unknown>) => void;
}
