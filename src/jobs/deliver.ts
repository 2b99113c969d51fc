import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { listDueDeliveries } from "../ledger/deliveries.ts";
import { formatId } from "../ledger/ids.ts";
import { type Composition, listOpenOutcomes, type OpenOutcome } from "../ledger/outcomes.ts";
import { recordComposition } from "../ledger/record-composition.ts";
import type { Backoff } from "./backoff.ts";
import type { DeliveryEvidence } from "./delivery-evidence.ts";
import { DeliveryRound } from "./delivery-round.ts";

/** The lab's end of a connector. */
export interface DeliveryTarget {
  /** How many outcomes are composed at once. */
  readonly composeAtOnce: number;
  /** Puts outcomes into files or messages. */
  compose(open: readonly OpenOutcome[]): Promise<Composition>;
  /** Carries one to the lab; see `Connector.deliver`. */
  deliver(file: { readonly fileName: string; readonly bytes: Buffer }): Promise<void>;
  /** What tries of its results have shown since the start. */
  readonly evidence: DeliveryEvidence;
}

/** What the deliver job is given. */
export interface DeliverDeps {
  readonly pool: pg.Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  readonly backoff: Backoff;
  readonly targetByConnector: ReadonlyMap<string, DeliveryTarget>;
  /** False as soon as another process may deliver from the same ledger. */
  mayDeliver(): boolean;
}

const DELIVER_BATCH = 50;

/**
 * Tells the lab what it has not been told yet through one connector, in the order in which it happened. Composed
 * bytes are in the ledger before the first of them leaves; what the ledger hasn't marked as delivered leaves again,
 * the same to the byte, but never an order's earlier result once the lab has a later one. Behind a result that is parked,
 * that the lab answers with an error, or that alone fails, those of other orders go on and the later ones of its own wait.
 */
export async function deliverConnector(
  connector: string,
  deps: DeliverDeps,
  signal: AbortSignal,
): Promise<void> {
  const target = deps.targetByConnector.get(connector);
  if (!target || !deps.mayDeliver()) return;
  await composeOpen(connector, target, deps, signal);
  await deliverPending(connector, target, deps, signal);
}

async function composeOpen(
  connector: string,
  target: DeliveryTarget,
  deps: DeliverDeps,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const open = await listOpenOutcomes(deps.pool, connector, target.composeAtOnce);
    if (open.length === 0) return;
    const composition = await target.compose(open);
    for (const { outcomeId, code } of composition.uncomposed) {
      deps.logger.error(
        { connector, outcomeId: formatId("t", outcomeId), code },
        "no message can be made of an outcome; a person is needed",
      );
    }
    await recordComposition(deps.pool, connector, composition);
    if (open.length < target.composeAtOnce) return;
  }
}

async function deliverPending(
  connector: string,
  target: DeliveryTarget,
  deps: DeliverDeps,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const pending = await listDueDeliveries(deps.pool, connector, DELIVER_BATCH);
    const round = new DeliveryRound(connector, target, pending, deps, signal);
    const mayFollow = await round.run();
    signal.throwIfAborted();
    if (!mayFollow || !deps.mayDeliver() || pending.length < DELIVER_BATCH) return;
  }
}
