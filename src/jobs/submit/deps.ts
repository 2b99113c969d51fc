import type pg from "pg";
import type { Backoff } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { OrderTracer } from "../../core/order-step.ts";
import type { FacilityWay } from "../../core/surface.ts";
import type { OrderWriter } from "../../ledger/order-writer.ts";
import type { Membership } from "../../ledger/workers/membership.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { ReconcileTimes } from "../calls/decide.ts";
import type { InHand } from "./in-hand.ts";

/** A field of a subject that registering it may take, besides its code. */
export type SubjectField = "firstName" | "lastName" | "dateOfBirth";

export interface SubmitSettings {
  readonly backoff: Backoff;
  readonly reconcile: ReconcileTimes;
  /** When a submitted order is first asked about, ms. */
  readonly firstPollMs: number;
  /** What the service demands of a subject that is registered, besides its code. */
  readonly subjectRequires: readonly SubjectField[];
  /** Whether a short token in the containers' descriptions ties a request to its order. */
  readonly correlation: "token" | "labels";
  /** What becomes of an order for a container that another one moves, or has moved, the same way. */
  readonly sameContainer: "park" | "allow";
  /** What becomes of an order with a label that a container of another subject of the facility has. */
  readonly labelOfTwoSubjects: "park" | "allow";
  /** Whether a parked order holds up the later ones of its lane. */
  readonly doesParkedBlock: boolean;
  /** How orders of a facility, by the service's id for it, go to the service. */
  readonly wayOf: (facilityId: number) => FacilityWay;
}

/** What the submit job is given. */
export interface SubmitDeps {
  readonly pool: pg.Pool;
  /** Records steps of orders, with commits shared by all that are worked on. */
  readonly writer: OrderWriter;
  readonly service: ServiceCalls;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracer: OrderTracer;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** This worker, as the owner of orders in hand. */
  readonly worker: Pick<Membership, "id" | "isSure">;
  readonly inHand: InHand;
  /**
   * Awaited before the first call to create an order's request: whether the ledger is an older copy of itself is known then.
   *
   * @throws Failure when it can't be known right now, or was just found to be so
   */
  readonly requireNewestKnown: () => Promise<void>;
  readonly settings: SubmitSettings;
}
