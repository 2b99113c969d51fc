import type { Config } from "../config/config.ts";
import type { JobQueues } from "../jobs/queues.ts";
import type { ActPlace } from "../operator/thing.ts";
import type { AskedDeps } from "../standing/asked.ts";
import type { Metrics } from "./metrics.ts";

/** What the console needs of the program. */
export interface ConsoleDeps extends AskedDeps {
  /** Absent where there are no pages to show them. */
  readonly records?: Records | undefined;
  readonly metrics: Metrics;
}

/** A person, or a program, that may use the console. */
export interface ConsoleUser {
  readonly name: string;
  readonly token: string;
  /** A viewer looks and sees nothing of patients; an operator acts, too. */
  readonly role: "viewer" | "operator";
}

/** The ledger's records, for the pages, and what a person does to them. */
export interface Records extends ActPlace {
  /** What BullMQ has; undefined where this daemon works nothing off. */
  readonly queues: Pick<JobQueues, "counts" | "list"> | undefined;
}

/** Where the console listens and who may look. */
export interface ConsoleSettings extends Pick<Config["console"], "host" | "port"> {
  /** Who may sign in; there has to be one when other machines can reach `host`. */
  readonly users: readonly ConsoleUser[];
  /** Addresses and networks of proxies whose word of who asks, and over TLS or not, is taken; none by default. */
  readonly trustedProxies?: readonly string[] | undefined;
  /** Shown on the page and in the metrics. */
  readonly version: string;
}
