import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { asFailure, type Failure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import {
  isRefusedAlone,
  isStillPending,
  listDueDeliveries,
  parkDelivery,
  postponeDelivery,
  recordDelivered,
} from "../ledger/deliveries.ts";
import { formatId } from "../ledger/ids.ts";
import { type Composition, listOpenOutcomes, type OpenOutcome } from "../ledger/outcomes.ts";
import { recordComposition } from "../ledger/record-composition.ts";
import { type Backoff, backoffMs } from "./backoff.ts";

/** The lab's end of a connector. */
export interface DeliveryTarget {
  /** How many outcomes are composed at once. */
  readonly composeAtOnce: number;
  /** Puts outcomes into files or messages. */
  compose(open: readonly OpenOutcome[]): Promise<Composition>;
  /** Carries one to the lab; see `Connector.deliver`. */
  deliver(file: { readonly fileName: string; readonly bytes: Buffer }): Promise<void>;
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
 * or that the lab answers with an error, those of other orders go on and the later ones of its own wait. After two such
 * answers in a row no more is tried: the lab may be out of order.
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

/** An answer that the lab system itself calls an error is not an outage: half an hour of them, or an hour, needs a person. */
const MOST_ERROR_ANSWERS = 20;

function isErrorAnswer({ code }: Failure): boolean {
  return code === "MLLP_RESULT_ERROR";
}

async function deliverPending(
  connector: string,
  target: DeliveryTarget,
  deps: DeliverDeps,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const pending = await listDueDeliveries(deps.pool, connector, DELIVER_BATCH);
    const delivered: number[] = [];
    const toldOrders = new Set<number>();
    const record = async () => {
      await recordDelivered(deps.pool, delivered.splice(0));
      toldOrders.clear();
    };
    const heldOrders = new Set<number>();
    let hasStopped = false;
    let wasRefused = false;
    for (const delivery of pending) {
      if (signal.aborted || !deps.mayDeliver()) break;
      if (delivery.orderIds.some((id) => heldOrders.has(id))) {
        // It is left for later, and what follows it of its other orders with it.
        for (const id of delivery.orderIds) heldOrders.add(id);
        continue;
      }
      // What a crash leaves unrecorded is told again, so what comes before it in its order must be recorded.
      if (delivery.orderIds.some((id) => toldOrders.has(id))) await record();
      // Minutes may have passed since it was listed, and a person may have given it up.
      if (!(await isStillPending(deps.pool, delivery.id))) continue;
      try {
        await target.deliver(delivery);
        delivered.push(delivery.id);
        for (const id of delivery.orderIds) toldOrders.add(id);
        wasRefused = false;
      } catch (error) {
        const failure = asFailure(error);
        deps.logger.warn(
          { deliveryId: formatId("d", delivery.id), connector, err: failure },
          "a result can't be delivered",
        );
        const reason = { id: delivery.id, code: failure.code, text: failure.message };
        const isErrorAnswered = isErrorAnswer(failure);
        const isItsOwn = isErrorAnswered && !wasRefused;
        wasRefused ||= isErrorAnswered;
        const isLast = isItsOwn && delivery.errorAnswers + 1 >= MOST_ERROR_ANSWERS;
        if (failure.class === "permanent" || (isLast && (await isRefusedAlone(deps.pool, delivery.id)))) {
          await parkDelivery(deps.pool, reason);
          for (const id of delivery.orderIds) heldOrders.add(id);
          continue;
        }
        const nextInMs = backoffMs(delivery.attempts + 1, deps.backoff, deps.random(), failure.retryAfterMs);
        await postponeDelivery(deps.pool, { nextInMs, isItsOwn, ...reason });
        if (isItsOwn) {
          for (const id of delivery.orderIds) heldOrders.add(id);
          continue;
        }
        hasStopped = true;
        break;
      }
    }
    await record();
    signal.throwIfAborted();
    if (hasStopped || !deps.mayDeliver() || pending.length < DELIVER_BATCH) return;
  }
}
