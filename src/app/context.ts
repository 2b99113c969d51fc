import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import type { Failure } from "../core/failures.ts";
import type { MessageVerdict } from "../core/intake.ts";
import type { LogTarget } from "../core/log-target.ts";
import type { Logger } from "../core/logger.ts";
import type { OrderTracer } from "../core/order-step.ts";
import type { PeerCertificates } from "../core/peer-certificates.ts";
import type { Role } from "../core/role.ts";
import type { TakenMessages } from "../jobs/intake/intake.ts";
import type { FinishedJob, JobQueues } from "../jobs/queues.ts";
import type { LedgerObserver } from "../ledger/database.ts";
import type { Epoch } from "../ledger/restored/epoch.ts";
import type { Membership } from "../ledger/workers/membership.ts";
import type { ProfileDefinition } from "../mapping/profile/schema.ts";
import type { ObservedCall } from "../service/http/transport.ts";
import type { Wire } from "../service/http/wire.ts";
import type { Configuration } from "./configuration.ts";
import type { OpenLedger } from "./open-ledger.ts";

/** How a daemon is started. */
export interface DaemonOptions {
  readonly roles: ReadonlySet<Role>;
  readonly logger: Logger;
  /** Where its lines go, to say how many are missing; absent where somebody else reads them. */
  readonly log?: LogTarget | undefined;
  readonly clock?: Clock | undefined;
  /** The machine's name, by which alerts and workers name it; its own unless given. */
  readonly host?: string | undefined;
  /** Reads the configuration again: for secrets that were rotated while the daemon runs, and to reload it. */
  readonly readAgain?: (() => Config<ProfileDefinition>) | undefined;
  /** Called when the daemon can't go on, such as when the ledger was put back under it. */
  readonly onFatal: (failure: Failure) => void;
  /** Opens the queues of these connectors; those of the configuration unless given. */
  readonly openQueues?:
    | ((connectors: readonly string[], onFinished: (job: FinishedJob) => void) => Promise<JobQueues>)
    | undefined;
  /** How many connections to the ledger its work has at most; as many as it needs where much goes on at once, unless given. */
  readonly connections?: number | undefined;
  /** By what the service is reached; by HTTP unless given. */
  readonly wire?: Wire | undefined;
  /** Called when a person asked this worker to stop. */
  readonly onDrain?: (() => void) | undefined;
}

/** Is called with what a daemon does, by {@link report}. */
export interface DaemonObserver extends LedgerObserver {
  serviceCalled(call: ObservedCall): void;
  messagesCommitted(connector: string, verdicts: readonly MessageVerdict[]): void;
  messagesTaken(taken: TakenMessages): void;
  jobFinished(job: FinishedJob): void;
}

/** Reports something that is done already: an observer that fails is logged, and keeps nobody from anything. */
export function report(
  { observers, logger }: Pick<Context, "observers" | "logger">,
  to: (observer: DaemonObserver) => void,
): void {
  for (const observer of observers) {
    try {
      to(observer);
    } catch (error) {
      logger.error({ err: error }, "an observer failed; metrics or traces may lack something");
    }
  }
}

/** What the parts of a daemon are made with. */
export interface Context {
  readonly configuration: Configuration;
  readonly options: DaemonOptions;
  readonly host: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ledger: OpenLedger;
  readonly membership: Membership;
  readonly epoch: Epoch;
  readonly observers: ReadonlySet<DaemonObserver>;
  readonly certificates: PeerCertificates;
  readonly tracer: OrderTracer;
  /** Later parts are closed first. */
  readonly onClose: (close: () => Promise<unknown>) => void;
}
