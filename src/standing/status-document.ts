import type { AlertLevel, AlertSubject } from "../core/alert.ts";
import type { Condition } from "../core/condition.ts";
import type { OrderState, TerminalState } from "../core/order-state.ts";
import type { Who } from "../core/who.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import type { PausedQueue } from "../ledger/operator/queues.ts";
import type {
  FailingDeliveries,
  FailingPlace,
  RecentRefusals,
  StillOrders,
} from "../ledger/operator/still-orders.ts";
import type { Orphaned } from "../ledger/results/orphaned.ts";
import type { ConfigurationState } from "../ledger/workers/configuration.ts";
import type { WorkerView } from "../ledger/workers/roster.ts";
import type { ConnectorView } from "../operator/connector-columns.ts";
import type { ServiceView } from "../operator/service-columns.ts";
import type { UntakenRow } from "./facts.ts";

/** The document of `/api/status`. Keys are stable; times are ISO 8601. */
export interface Status {
  readonly version: string;
  readonly generatedAt: string;
  readonly isReady: boolean;
  readonly reasons: readonly string[];
  /** How the parts stand of which everything else depends: intake, the service, labs, queues, daemons; what is down first, what is not known left out. */
  readonly parts: readonly StatusPart[];
  /** All that somebody should know, in words: what is down first, then what needs a person; empty when all is well. */
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
  /** Orders that stand still, by why and by failure, longest first; null while that is not known. */
  readonly stillOrders: readonly StatusStillOrders[] | null;
  /** What messages wait for, oldest first; null while the ledger is out of reach. */
  readonly waitingMessages: readonly StatusWaiting[] | null;
  /**
   * Results that were tried and that the lab doesn't have, by connector and failure; null while that is not known. Nothing
   * is tried for connectors that aren't configured: theirs are among `orphaned`.
   */
  readonly failingDeliveries: readonly (Json<FailingDeliveries> & Hinted)[] | null;
  /** Queues that a person has paused; null while that is not known. */
  readonly pausedQueues: readonly Json<PausedQueue>[] | null;
  /** Places that do not take what they are sent of alerts; null while that is not known. */
  readonly failingAlertPlaces: readonly Json<FailingPlace>[] | null;
  /** What was refused within a day among the last messages and files, by connector; null while that is not known. */
  readonly refusals: readonly Json<RecentRefusals>[] | null;
  /** The restore of the ledger from an older copy that is seen to; null when there is none, or while that is unknown. */
  readonly restored: StatusRestored | null;
  /** What waits of connectors that aren't configured; null while that is not known. */
  readonly orphaned: readonly (Json<Orphaned> & { readonly text: string; readonly hint: string })[] | null;
  /** Files that lie in drop folders and are not taken; null where no daemon looks. */
  readonly untakenFiles: readonly Json<UntakenRow>[] | null;
  /** The connectors of the daemon that answers; null where none does. */
  readonly connectors: readonly StatusConnector[] | null;
  /** The service, as the daemon that answers sees it; null where none does, or where that one does not call it. */
  readonly service: ServiceView | null;
  /** Limits of the configuration that are exceeded; null where no daemon looks, or while that is not known. */
  readonly limits: readonly Condition[] | null;
  /** The daemons that work with the ledger, and those that were lost within a day; null while that is not known. */
  readonly workers: readonly StatusWorker[] | null;
  /** Tanks that were not refilled for too long, longest first; null when no refills are followed. */
  readonly overdueTanks: readonly StatusTank[] | null;
}

/** A record of the ledger as JSON has it: null for undefined, times as ISO 8601. */
export type Json<Row> = { readonly [Key in keyof Required<Row>]: JsonValue<Row[Key]> };
type JsonValue<Value> = Value extends Date ? string : Value extends undefined ? null : Value;

/** What to do about it, and who does. */
interface Hinted {
  readonly hint: string | null;
  readonly who: Who;
}

/** Messages that wait for the same code, in the status document. */
export type StatusWaiting = Json<WaitingCode>;
/** Orders that stand still for one reason. */
export type StatusStillOrders = Json<StillOrders> & Hinted;

/** A part of which everything else depends. */
export interface StatusPart {
  /** Such as `storage service`, or `lab of lims`. */
  readonly name: string;
  /** `waits`: somebody has paused it, or it may be down. `unknown`: it was not needed yet, or not for long. */
  readonly state: "up" | "waits" | "down" | "unknown";
  /** What follows its name. */
  readonly words: string;
  readonly since: string | null;
  /** When it is tried next; null where that is not known, or it is up. */
  readonly nextTryAt: string | null;
  /** The command that shows more, or where a person acts. */
  readonly command: string | null;
  /** Of the intake: the connectors that take no orders while others do. */
  readonly connectors?: readonly string[];
}

/** A connector in the status document. */
export type StatusConnector = Pick<
  ConnectorView,
  | ("connector" | "type" | "isTaking" | "trouble" | "warning" | "connections")
  | ("isLabAway" | "labOutage" | "hasTakenResults")
>;
/** What its daemon knows of it. */
export type DaemonConnector = Omit<StatusConnector, "hasTakenResults" | "isLabAway">;

/** A daemon in the status document. */
export interface StatusWorker {
  /** Such as `w12`. */
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly version: string;
  readonly roles: readonly string[];
  /** `gone` is not heard of; `lost` is one whose work others took over. */
  readonly state: "works" | "leads" | "stopping" | "gone" | "lost";
  readonly since: string;
  readonly seenAt: string;
  readonly ordersInHand: number;
  /** How the file of its configuration differs from what it works by, by keys; null where it has not said so. */
  readonly configuration: Pick<ConfigurationState, "changed" | "restart" | "problems"> | null;
  /**
   * What keeps it from its work, as it said last; none of the daemon that was asked, whose are among `reasons`. Of one that is silent or lost
   * what is wrong with its machine, until another daemon of that machine works.
   */
  readonly conditions: WorkerView["conditions"];
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
  /** How the comparisons ended: the service has the order's request, may have it, or has nothing of it. */
  readonly adoptedOrders: number;
  readonly parkedOrders: number;
  readonly freeOrders: number;
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

/** Conditions as a line: one, or all codes that are to be added. In words without patients' data. */
export interface Attention {
  readonly level: AlertLevel;
  /** What is wrong, and what it affects. */
  readonly what: string;
  /** Since when, ISO 8601; null where `what` says it or nobody knows. */
  readonly since: string | null;
  /** What to do about it. */
  readonly hint: string | null;
  /** The command that shows more. */
  readonly command: string | null;
  /** The part that says it above each page, by its name; null where it stands in the list alone. */
  readonly part: string | null;
  /** Who sees to it; null where nobody is needed, since it goes on by itself. */
  readonly who: Who | null;
  /** The alerts whose condition this is, each in its own words; empty where nobody is to be called for it. */
  readonly alerts: readonly (AlertSubject & { readonly text: string })[];
}
