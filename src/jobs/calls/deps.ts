import type pg from "pg";
import type { Backoff } from "../../core/backoff.ts";
import type { Logger } from "../../core/logger.ts";
import type { OrderTracer } from "../../core/order-step.ts";
import type { FacilityWay, Surface } from "../../core/surface.ts";
import type { Membership } from "../../ledger/workers/membership.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { IsSent } from "../submit/deps.ts";
import type { ReconcileTimes } from "./decide.ts";

/** What the search for a call's effect works with. */
export interface FindDeps {
  readonly pool: pg.Pool;
  readonly service: ServiceCalls;
  readonly settings: {
    readonly correlation: "token" | "labels";
    readonly wayOf: (facilityId: number) => FacilityWay;
  };
}

/** What the looks work with. */
export interface LookDeps extends FindDeps {
  /** Has its turn with the calls that change the service. */
  readonly submitting: Pick<ServiceCalls, "cancelAtService">;
  /** The surfaces for which the service's cancel call is configured. */
  readonly offered: ReadonlySet<Surface>;
  /** This worker, which makes the calls to cancel. */
  readonly worker: Pick<Membership, "id">;
  readonly isSent: IsSent;
  readonly logger: Logger;
  readonly tracer: OrderTracer;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly settings: FindDeps["settings"] & {
    readonly backoff: Backoff;
    readonly reconcile: ReconcileTimes;
  };
}
