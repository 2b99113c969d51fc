import type { Clock } from "../core/clock.ts";
import type { Condition } from "../core/condition.ts";
import type { Logger } from "../core/logger.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import type { LedgerAttention } from "../ledger/operator/still-orders.ts";
import type { Restored } from "../ledger/restored/restore.ts";
import type { Orphaned } from "../ledger/results/orphaned.ts";
import type { WorkerView } from "../ledger/workers/roster.ts";
import type { ServiceView } from "../operator/service-columns.ts";
import type { LedgerCounts, ListenerRow, RefillOverview, UntakenRow } from "./facts.ts";
import type { DaemonConnector } from "./status-document.ts";

/** All that can be asked how things stand, with or without a daemon. */
export interface AskedDeps {
  /** A text without the credentials of the configuration. */
  readonly mask?: ((text: string) => string) | undefined;
  /** What this daemon says of itself, whether the ledger answers or not: what keeps it from its work, or from taking orders. */
  own(): readonly Condition[];
  /** What the ledger says to that: nobody works its orders off, or they are compared after a restore. Absent where no daemon asks. */
  readonly byLedger?: (() => Promise<readonly Condition[]>) | undefined;
  counts(): Promise<LedgerCounts>;
  /** Dropped files that aren't taken; absent where no daemon looks. */
  readonly untaken?: (() => readonly UntakenRow[]) | undefined;
  /** Absent when no refills are followed. */
  readonly refills?: (() => Promise<RefillOverview>) | undefined;
  /** What messages wait for, oldest first. */
  readonly waiting?: (() => Promise<readonly WaitingCode[]>) | undefined;
  /** Failing results, paused queues and refused messages. */
  readonly attention?: (() => Promise<LedgerAttention>) | undefined;
  /** The connectors whose lab has ever taken a result. */
  readonly takers?: (() => Promise<ReadonlySet<string>>) | undefined;
  /** The restore of the ledger that is seen to; null when there is none. */
  readonly restored?: (() => Promise<Restored | null>) | undefined;
  /** The daemons that work with the ledger, and those that ended within a day. */
  readonly workers?: (() => Promise<readonly WorkerView[]>) | undefined;
  /** Disks that fill up and what ends, of the machine of this daemon; absent where no daemon looks. */
  readonly machine?: (() => Promise<readonly Condition[]>) | undefined;
  /** Limits of age, failures, traffic and backups that are exceeded by the ledger; absent where no daemon looks. */
  readonly limits?: (() => Promise<readonly Condition[]>) | undefined;
  /** What waits of connectors that aren't configured. */
  readonly orphaned?: (() => Promise<readonly Orphaned[]>) | undefined;
  /** Connectors that listen for messages. */
  readonly listeners?: (() => readonly ListenerRow[]) | undefined;
  /** The connectors of this daemon, as it sees them itself. */
  readonly connectors?: (() => readonly DaemonConnector[]) | undefined;
  /** The service; gives undefined where this daemon doesn't call it. */
  readonly service?: ((counts: LedgerCounts | undefined) => ServiceView | undefined) | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
}
