import type { FailureCode } from "./failures.ts";
import type { FoundQuotas, Quota } from "./service-quota.ts";

/** That calls to the service are held back, as the workers of a ledger share it. Times are spans, since clocks differ. */
export interface ServiceOutage {
  readonly cause: FailureCode;
  /** The message of the latest failure, for an operator. */
  readonly text: string;
  /** When calls were first held back. */
  readonly since: Date;
  /** How long ago the first of these failures was, ms. */
  readonly failingMs: number;
  /** For how long nobody calls from now on, ms; 0 when it is time for each to try. */
  readonly leftMs: number;
}

/** What a worker hears of the service with each heartbeat. */
export interface ServiceNews {
  /** How many share the limits of the service: daemons, and commands that call it a lot; this one included. */
  readonly callers: number;
  readonly outage: ServiceOutage | undefined;
  /** How long the service still wants to be left alone, ms; 0 when it may be called. */
  readonly pauseMs: number;
  /** How many calls it takes, as far as any worker found that out. */
  readonly quotas: readonly FoundQuotas[];
}

/** How a worker reports to the others what it finds of the service. None of it waits or throws. */
export interface OtherWorkers {
  reportOutage(outage: ServiceOutage): void;
  reportRecovery(): void;
  /** The service asked to be left alone for that long. */
  reportPause(ms: number): void;
  /** How many calls the service takes, by its headers or by what it refused. */
  reportQuotas(source: FoundQuotas["source"], quotas: readonly Quota[]): void;
}
