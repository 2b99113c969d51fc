import type pg from "pg";
import { systemClock } from "../../src/core/clock.ts";
import { type DeliverDeps, type DeliveryTarget, deliverConnector } from "../../src/jobs/deliver/deliver.ts";
import { LabBreaker } from "../../src/jobs/deliver/lab-breaker.ts";
import { silent } from "./with-ledger.ts";

/** What a test says of the lab's end; one result at a time, and no pause after a failure, unless it says otherwise. */
export type TestTarget = Pick<DeliveryTarget, "compose" | "deliver"> & Partial<DeliveryTarget>;

/** A breaker that lets the next try through at once. */
export function impatientBreaker(): LabBreaker {
  return new LabBreaker(systemClock, { firstMs: 0, maxMs: 0 }, () => 0);
}

/** Gives what sends the results of connector `lims` to this lab. */
export function deliverTo(
  pool: pg.Pool,
  target: TestTarget,
  more: Partial<DeliverDeps> = {},
): () => Promise<void> {
  const whole: DeliveryTarget = {
    composeAtOnce: 100,
    sendAtOnce: 1,
    areFiles: true,
    breaker: impatientBreaker(),
    ...target,
  };
  const deps: DeliverDeps = {
    pool,
    clock: systemClock,
    logger: silent,
    random: () => 0.5,
    backoff: { firstMs: 1, maxMs: 1 },
    targetByConnector: new Map([["lims", whole]]),
    parkAfter: 10,
    advanceEpoch: async () => {},
    mayDeliver: () => true,
    ...more,
  };
  return () => deliverConnector("lims", deps, new AbortController().signal);
}
