import type pg from "pg";
import type { Config } from "../../config/config.ts";
import type { Backoff } from "../../core/backoff.ts";
import type { Logger } from "../../core/logger.ts";
import type { OrderState } from "../../core/order-state.ts";
import type { OrderTracer } from "../../core/order-step.ts";
import type { FacilityWay } from "../../core/surface.ts";
import type { OrderWriter } from "../../ledger/order-writer.ts";
import type { Membership } from "../../ledger/workers/membership.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { InHand } from "./in-hand.ts";

type Section = Config["service"];

/** A field of a subject that registering it may take, besides its code. */
export type SubjectField = Section["subjectRequires"][number];

export interface SubmitSettings
  extends Pick<Section, "reconcile" | "subjectRequires" | "correlation">,
    Pick<Config["guards"], "sameContainer" | "labelOfTwoSubjects"> {
  readonly backoff: Backoff;
  /** When a submitted order is first asked about, ms. */
  readonly firstPollMs: number;
  /** Whether a parked order holds up the later ones of its lane. */
  readonly doesParkedBlock: boolean;
  /** How orders of a facility, by the service's id for it, go to the service. */
  readonly wayOf: (facilityId: number) => FacilityWay;
}

/** Whether the lab is sent an order of a connector that comes to a state on its way; what nobody gets is no outcome. */
export type IsSent = (connector: string, state: OrderState) => boolean;

/** What the submit job is given. */
export interface SubmitDeps {
  readonly pool: pg.Pool;
  /** Records steps of orders, with commits shared by all that are worked on. */
  readonly writer: OrderWriter;
  readonly service: ServiceCalls;
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
  readonly isSent: IsSent;
  readonly settings: SubmitSettings;
}
