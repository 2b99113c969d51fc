import type { AlertSubject } from "../core/alert.ts";
import type { FailureCode } from "../core/failures.ts";
import type { Operation } from "../core/order.ts";
import type { OrderState, TerminalState } from "../core/order-state.ts";
import type { UntakenReason } from "../core/untaken-files.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import type { RecentRefusals, StillOrders } from "../ledger/operator/attention.ts";
import type { ExceededLimit } from "./facts.ts";

/** The document of `/api/status`. Keys are stable; times are ISO 8601. */
export interface Status {
  readonly version: string;
  readonly generatedAt: string;
  readonly isReady: boolean;
  readonly reasons: readonly string[];
  /** All that somebody should know, in words, what needs a person first; empty when all is well. */
  readonly attention: readonly Attention[];
  /** Orders that haven't ended, by state, in the order in which they pass them; null while the ledger is out of reach. */
  readonly states:
    | readonly { readonly state: OrderState; readonly count: number; readonly oldestSeconds: number | null }[]
    | null;
  /** Orders that ended in the last 24 hours, by state; null while the ledger is out of reach. */
  readonly endedLastDay: readonly { readonly state: TerminalState; readonly count: number }[] | null;
  /** Results that the lab doesn't have; null while the ledger is out of reach. */
  readonly deliveries: { readonly pending: number; readonly parked: number } | null;
  /** Things for a person to do; null while the ledger is out of reach. */
  readonly tasks: { readonly open: number; readonly oldestSeconds: number | null } | null;
  /** Orders that need a person, longest waiting first; null while the ledger is out of reach. */
  readonly stuckOrders: readonly StatusOrder[] | null;
  /** Orders that stand still, by why and by failure, longest first; null while that is not known. */
  readonly stillOrders: readonly StatusStillOrders[] | null;
  /** The orders that changed last; null while the ledger is out of reach. */
  readonly recentOrders: readonly StatusOrder[] | null;
  /** What messages wait for, oldest first; null while the ledger is out of reach. */
  readonly waitingMessages: readonly StatusWaiting[] | null;
  /**
   * Results that were tried and that the lab doesn't have, by connector and failure; null while that is not known. Nothing
   * is tried for connectors that aren't configured: theirs are among `orphaned`.
   */
  readonly failingDeliveries: readonly StatusDeliveries[] | null;
  /** Queues that an operator has paused; null while that is not known. */
  readonly pausedQueues:
    | readonly { readonly queue: string; readonly since: string; readonly actor: string }[]
    | null;
  /** What was refused within a day among the last messages and files, by connector; null while that is not known. */
  readonly refusals:
    | readonly {
        readonly kind: RecentRefusals["kind"];
        readonly connector: string;
        readonly count: number;
        readonly latestAt: string;
      }[]
    | null;
  /** The restore of the ledger from an older copy that is seen to; null when there is none, or while that is unknown. */
  readonly restored: StatusRestored | null;
  /** What waits of connectors that aren't configured; null while that is not known. */
  readonly orphaned: readonly StatusOrphaned[] | null;
  /** Files that lie in drop folders and are not taken; null where no daemon looks. */
  readonly untakenFiles:
    | readonly {
        readonly connector: string;
        readonly reason: UntakenReason;
        readonly count: number;
        readonly since: string;
        readonly marker: string | null;
      }[]
    | null;
  /** Limits of the configuration that are exceeded; null where no daemon looks, or while that is not known. */
  readonly limits: readonly ExceededLimit[] | null;
  /** The daemons that work with the ledger, and those that were lost within a day; null while that is not known. */
  readonly workers: readonly StatusWorker[] | null;
  /** Tanks that were not refilled for too long, longest first; null when no refills are followed. */
  readonly overdueTanks: readonly StatusTank[] | null;
}

/** A daemon in the status document. */
export interface StatusWorker {
  /** Such as `w12`. */
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly version: string;
  readonly roles: readonly string[];
  readonly state: "works" | "leads" | "stopping" | "gone" | "lost";
  readonly since: string;
  readonly seenAt: string;
  readonly ordersInHand: number;
}

/** Messages that wait for the same code, in the status document. */
export interface StatusWaiting {
  readonly kind: WaitingCode["kind"];
  readonly code: string | null;
  readonly connector: string;
  readonly messages: number;
  readonly since: string;
  readonly hint: string | null;
}

/** Orders that stand still for one reason, in the status document. */
export interface StatusStillOrders {
  /** `parked` waits for a person, `on_hold` for the lab; `reconciling` and `retrying` go on by themselves. */
  readonly kind: StillOrders["kind"];
  readonly count: number;
  readonly since: string;
  readonly code: string | null;
  /** What one of them says. */
  readonly text: string | null;
  readonly hint: string | null;
}

/** Results with one failure, in the status document. */
export interface StatusDeliveries {
  readonly connector: string;
  /** `pending` is tried again by itself, `parked` waits for a person. */
  readonly state: "pending" | "parked";
  readonly count: number;
  readonly since: string;
  readonly code: string;
  readonly text: string;
  readonly hint: string | null;
}

/** What waits of a connector that isn't configured, in the status document. */
export interface StatusOrphaned {
  readonly connector: string;
  readonly results: number;
  readonly orders: number;
  readonly messages: number;
  readonly since: string;
  readonly text: string;
  readonly hint: string;
}

/** A ledger that was restored from an older copy, in the status document. */
export interface StatusRestored {
  readonly text: string;
  readonly noticedAt: string;
  /** What came since may be missing. */
  readonly forgottenSince: string;
  /** Until then each order is compared with the service before it is sent. */
  readonly watchedUntil: string;
  readonly openOrders: number;
  /** Those of them that are still to be compared; nothing is submitted until there are none. */
  readonly uncomparedOrders: number;
}

/** A tank in the status document. */
export interface StatusTank {
  readonly facilityCode: string;
  readonly storageId: number | null;
  /** Its name, or words that stand for it. */
  readonly storage: string;
  readonly lastRefillAt: string | null;
  /** What its age is counted from: the last refill, or when it was first seen. */
  readonly since: string;
}

/** An order in the status document. */
export interface StatusOrder {
  readonly orderId: string;
  readonly placerOrderNumber: string | null;
  /** Who assigned that number, where a message says so. */
  readonly placerAuthority: string | null;
  readonly connector: string;
  readonly operation: Operation;
  readonly facilityCode: string;
  readonly requestId: number | null;
  readonly procedureId: number | null;
  readonly state: OrderState;
  readonly changedAt: string;
  readonly reason: {
    readonly code: FailureCode | null;
    readonly text: string;
    readonly hint: string | null;
  } | null;
}

/**
 * One thing that somebody should know, in words without patients' data. `act`: a person is needed. `wait`: it goes on by
 * itself once its cause is gone. `look`: worth a look.
 */
export interface Attention {
  readonly level: "act" | "wait" | "look";
  /** What is wrong, and what it affects. */
  readonly what: string;
  /** Since when, ISO 8601; null where `what` says it or nobody knows. */
  readonly since: string | null;
  /** What to do about it. */
  readonly hint: string | null;
  /** The command that shows more. */
  readonly command: string | null;
  /** The alerts whose condition this is, each in its own words; empty where nobody is to be called for it. */
  readonly alerts: readonly (AlertSubject & { readonly text: string })[];
}
