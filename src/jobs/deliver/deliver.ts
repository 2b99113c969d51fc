import type pg from "pg";
import { type Backoff, backoffMs } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import { asFailure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { formatId } from "../../ledger/ids.ts";
import { recordComposedAnew, recordComposition } from "../../ledger/results/composition.ts";
import {
  countOwnFailures,
  type DueDelivery,
  findProbe,
  listDueDeliveries,
  parkDelivery,
  postponeDelivery,
  recordDelivered,
} from "../../ledger/results/deliveries.ts";
import { type Composition, listOpenOutcomes, type OpenOutcome } from "../../ledger/results/outcomes.ts";
import { type LabBreaker, LONGEST_PAUSE_MS } from "./lab-breaker.ts";

/** The lab's end of a connector. */
export interface DeliveryTarget {
  /** How many outcomes are composed at once. */
  readonly composeAtOnce: number;
  /** How many results are sent at the same time. */
  readonly sendAtOnce: number;
  /** Whether the lab gets files; else it gets messages over MLLP. */
  readonly areFiles: boolean;
  /** Puts outcomes into files or messages. */
  compose(open: readonly OpenOutcome[], noteUntaken?: (heading: string) => void): Promise<Composition>;
  /** Carries one to the lab; see `Connector.deliver`. */
  deliver(file: {
    readonly fileName: string;
    readonly bytes: Buffer;
    readonly mayLeave: () => boolean;
  }): Promise<void>;
  /** Closes what is kept open for the next result; see `Connector.hangUp`. */
  readonly hangUp?: (() => Promise<void>) | undefined;
  readonly breaker: LabBreaker;
}

/** What the deliver job is given. */
export interface DeliverDeps {
  readonly pool: pg.Pool;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Logger;
  readonly random: () => number;
  readonly backoff: Backoff;
  readonly targetByConnector: ReadonlyMap<string, DeliveryTarget>;
  /** With how many failures of its own a result is parked. */
  readonly parkAfter: number;
  /**
   * Has a copy of the ledger that lacks what was composed known for one, so that no control id is given to two results; see `Epoch.advance`.
   */
  readonly advanceEpoch: () => Promise<void>;
  /** False as soon as another worker may send what this connector has. */
  readonly mayDeliver: () => boolean;
}

const BATCH = 50;
/** What was listed longer ago is listed again: a person may have given a result up since, or moved it. */
const LISTED_FOR_MS = 1_000;

/**
 * Sends the lab what it doesn't have yet through one connector. Composed bytes are in the ledger before the first of them
 * leaves; what the ledger hasn't marked as delivered leaves again, the same to the byte. Each order is a lane: its next
 * result is sent once the lab has the one before it, so one that fails or is parked holds back the later ones of its own
 * orders and no others.
 */
export async function deliverConnector(
  connector: string,
  deps: DeliverDeps,
  signal: AbortSignal,
): Promise<void> {
  const target = deps.targetByConnector.get(connector);
  if (!target || !deps.mayDeliver()) return;
  await composeOpen(connector, target, deps, signal);
  let isCounted = false;
  while (target.breaker.mayTry && deps.mayDeliver()) {
    signal.throwIfAborted();
    const due = await listDue(connector, target, deps);
    if (due.length === 0) return;
    if (!isCounted) await countUnlessUnkept(deps);
    isCounted = true;
    await sendBatch(connector, due, target, deps, signal);
    if (target.breaker.isOpen) return;
  }
}

/** A file that can't be written holds up calls and no results; the calls say so. */
async function countUnlessUnkept({ advanceEpoch }: DeliverDeps): Promise<void> {
  try {
    await advanceEpoch();
  } catch (error) {
    if (asFailure(error).code !== "LEDGER_EPOCH_UNUSABLE") throw error;
  }
}

async function listDue(
  connector: string,
  { breaker }: DeliveryTarget,
  { pool }: DeliverDeps,
): Promise<DueDelivery[]> {
  if (!breaker.isOpen) return listDueDeliveries(pool, connector, BATCH);
  const probe = await findProbe(pool, connector);
  return probe === undefined ? [] : [probe];
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
    const fresh = open.filter(({ parkedAs }) => parkedAs === undefined);
    for (const each of open) {
      if (each.parkedAs === undefined) continue;
      const composition = await compose([each], connector, target, deps);
      await recordComposedAnew(
        deps.pool,
        connector,
        { outcomeId: each.id, parkedAs: each.parkedAs },
        composition,
      );
    }
    if (fresh.length > 0)
      await recordComposition(deps.pool, connector, await compose(fresh, connector, target, deps));
    if (open.length < target.composeAtOnce) return;
  }
}

async function compose(
  open: readonly OpenOutcome[],
  connector: string,
  target: DeliveryTarget,
  { logger }: DeliverDeps,
): Promise<Composition> {
  const untaken = new Map<string, number>();
  const composition = await target.compose(open, (heading) =>
    untaken.set(heading, (untaken.get(heading) ?? 0) + 1),
  );
  for (const [column, values] of untaken) {
    logger.warn(
      { connector, column, values },
      "the transforms of a column of results don't take values, which the lab reads as they came; correct the profile",
    );
  }
  for (const { outcomeId, code } of composition.uncomposed) {
    logger.error(
      { connector, outcome: formatId("t", outcomeId), code },
      "no result can be made of an outcome; a person is needed",
    );
  }
  return composition;
}

/** Sends results of different orders, until the lab turns out to be away or the list is old. */
async function sendBatch(
  connector: string,
  due: readonly DueDelivery[],
  target: DeliveryTarget,
  deps: DeliverDeps,
  signal: AbortSignal,
): Promise<void> {
  const { breaker, sendAtOnce } = target;
  const { pool, clock, logger } = deps;
  const listedAt = clock.monotonic();
  const delivered: DueDelivery[] = [];
  const failedAlone: number[] = [];
  try {
    for (let index = 0; index < due.length; index += sendAtOnce) {
      if (signal.aborted || !deps.mayDeliver() || clock.monotonic() - listedAt > LISTED_FOR_MS) break;
      const sent = due.slice(index, index + sendAtOnce);
      const results = await Promise.allSettled(
        sent.map((delivery) => target.deliver({ ...delivery, mayLeave: deps.mayDeliver })),
      );
      for (const [nth, result] of results.entries()) {
        const delivery = sent[nth] as DueDelivery;
        if (result.status === "rejected") {
          // What became of it is the other worker's business.
          if (!deps.mayDeliver()) continue;
          await recordFailure(connector, delivery, result.reason, target, deps);
          continue;
        }
        delivered.push(delivery);
        failedAlone.push(...breaker.noteDelivered(delivery.id));
      }
      if (breaker.isOpen) break;
    }
  } finally {
    await recordDelivered(pool, delivered, target);
  }
  for (const id of await countOwnFailures(pool, failedAlone, deps.parkAfter)) {
    logger.warn(
      { connector, delivery: formatId("d", id), failures: deps.parkAfter },
      "result parked: it failed again and again while others got through; a person is needed",
    );
  }
}

async function recordFailure(
  connector: string,
  { id, attempts }: DueDelivery,
  error: unknown,
  { breaker }: DeliveryTarget,
  { pool, logger, backoff, random }: DeliverDeps,
): Promise<void> {
  const failure = asFailure(error);
  const { code, message: text, retryAfterMs } = failure;
  const isRefused = failure.class === "permanent";
  logger.warn(
    { connector, delivery: formatId("d", id), err: failure },
    isRefused ? "result parked: the lab refused it; a person is needed" : "result not sent to the lab",
  );
  if (isRefused) {
    breaker.noteRefused(id);
    await parkDelivery(pool, { id, code, text });
    return;
  }
  const wasOpen = breaker.isOpen;
  breaker.noteFailure(id, failure);
  if (breaker.isOpen && !wasOpen) logger.warn({ connector, code }, "the lab can't be reached; results wait");
  const maxMs = breaker.isOpen ? Math.min(backoff.maxMs, LONGEST_PAUSE_MS) : backoff.maxMs;
  const nextInMs = backoffMs(attempts + 1, { ...backoff, maxMs }, random(), retryAfterMs);
  await postponeDelivery(pool, { id, nextInMs, code, text });
}
