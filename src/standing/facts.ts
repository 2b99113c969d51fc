import type { OrderState } from "../core/order-state.ts";
import type { UntakenFiles } from "../core/untaken-files.ts";
import type { TankAge } from "../jobs/refills/tanks.ts";
import type { TaskCount } from "../ledger/operator/tasks.ts";

/** How much of what the ledger holds. */
export interface LedgerCounts {
  /** All that haven't ended; of those that have, the ones of the last 24 hours. */
  readonly byState: Readonly<Record<OrderState, number>>;
  /** For how long the order that moved longest ago has been in a state, seconds; absent for empty states and for ends. */
  readonly oldestSecondsByState: Readonly<Partial<Record<OrderState, number>>>;
  /** Results that the lab doesn't have yet. */
  readonly deliveriesPending: number;
  /** Results that could not be delivered and wait for a person. */
  readonly deliveriesParked: number;
  /** Things for a person to do that nobody has done, by kind; kinds without any are left out. */
  readonly tasks: readonly TaskCount[];
}

/** What is known of liquid-nitrogen refills. */
export interface RefillOverview {
  /** How often refills reached a status since they are followed. */
  readonly counts: readonly {
    readonly facilityCode: string;
    readonly status: string;
    readonly count: number;
  }[];
  /** The tanks of the facilities that are followed, those without a refill for longest first. */
  readonly tanks: readonly TankAge[];
}

/** How an MLLP listener stands. All but the connections are counted since the daemon's start. */
export interface ListenerRow {
  readonly connector: string;
  readonly connections: number;
  readonly frames: number;
  /** Those of them whose end block had no carriage return. */
  readonly looseEnds: number;
  readonly unended: number;
  readonly tooLarge: number;
  readonly junkBytes: number;
  readonly timedOut: number;
  readonly turnedAway: number;
  readonly failedHandshakes: number;
  readonly gaveWay: number;
  readonly refusedCertificates: number;
}

/** Dropped files that a connector does not take. */
export type UntakenRow = UntakenFiles & { readonly connector: string };
