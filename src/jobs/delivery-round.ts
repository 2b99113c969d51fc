import { asFailure, type Failure, type FailureCode } from "../core/failures.ts";
import {
  isRefusedAlone,
  isStillPending,
  listDueBeside,
  type PendingDelivery,
  parkDelivery,
  postponeDelivery,
  recordDelivered,
} from "../ledger/deliveries.ts";
import { formatId } from "../ledger/ids.ts";
import { dropOvertaken } from "../ledger/overtaken.ts";
import { backoffMs } from "./backoff.ts";
import type { DeliverDeps, DeliveryTarget } from "./deliver.ts";

/** An answer that the lab system itself calls an error is not an outage: half an hour of them, or an hour, needs a person. */
const MOST_ERROR_ANSWERS = 20;

/** A failure that may be about this one result as well as about the lab as a whole; all others but errors are outages. */
const MAY_BE_ITS_OWN: ReadonlySet<FailureCode> = new Set<FailureCode>([
  "MLLP_NO_ANSWER",
  "FILE_NOT_PLACED",
  "UNCLASSIFIED",
]);
/** So often in a row before another result is tried, to see whether that gets through. */
const PATIENCE = 3;
/** So many are looked at for one that can go ahead where those of the round all wait behind the first. */
const MOST_BESIDE = 10;
/** Proven failures of a result alone, in an hour or so, before a person is asked. */
const MOST_FAILURES_ALONE = 10;

/** What became of a try: a failure, or not. */
type Tried = "delivered" | "gone" | Failure;

/** Why one is parked or put off, as an operator sees it. */
type Reason = Pick<Failure, "code" | "message" | "retryAfterMs">;

/**
 * One round through deliveries of a connector, in their order.
 *
 * Which failure is a result's own is decided by what others meet. An error that the lab answers is, unless it answers two in
 * a row so. No answer at all is an outage, in which the first one stays first however long it lasts, until it is proven
 * otherwise: after some tries another order's result is sent, the next one in each round, and only if the lab takes that
 * and then fails the first one again at once, the first is set aside. Where the lab is gone behind the first one every
 * time, the other is sent before it. From then on a failure counts against it only if something got through meanwhile.
 */
export class DeliveryRound {
  readonly #connector: string;
  readonly #target: DeliveryTarget;
  readonly #pending: readonly PendingDelivery[];
  readonly #deps: DeliverDeps;
  readonly #signal: AbortSignal;
  readonly #unrecorded: number[] = [];
  /** Orders of which something was told that isn't recorded yet. */
  readonly #toldOrders = new Set<number>();
  /** Orders of which nothing more goes out in this round. */
  readonly #heldOrders = new Set<number>();
  /** Sent before their turn. */
  readonly #ahead = new Set<number>();
  #wasRefused = false;

  constructor(
    connector: string,
    target: DeliveryTarget,
    pending: readonly PendingDelivery[],
    deps: DeliverDeps,
    signal: AbortSignal,
  ) {
    this.#connector = connector;
    this.#target = target;
    this.#pending = pending;
    this.#deps = deps;
    this.#signal = signal;
  }

  /** Delivers what it can; false when those that are left have to wait. */
  async run(): Promise<boolean> {
    let mayGoOn = true;
    for (const [index, delivery] of this.#pending.entries()) {
      if (this.#isOver) break;
      mayGoOn = await this.#handle(delivery, this.#pending.slice(index + 1));
      if (!mayGoOn) break;
    }
    await this.#record();
    return mayGoOn;
  }

  get #isOver(): boolean {
    return this.#signal.aborted || !this.#deps.mayDeliver();
  }

  /** Whether the next one may be tried. */
  async #handle(delivery: PendingDelivery, later: readonly PendingDelivery[]): Promise<boolean> {
    if (this.#ahead.has(delivery.id)) return true;
    if (delivery.orderIds.some((id) => this.#heldOrders.has(id))) {
      // It is left for later, and what follows it of its other orders with it.
      this.#hold(delivery);
      return true;
    }
    if (this.#target.evidence.isBreaking(delivery.id)) {
      const witness = await this.#witnessOf(delivery, later);
      const failure = witness && (await this.#sendAhead(witness));
      // What the lab refuses, or answers with an error, says nothing of this one but that the lab is there.
      if (failure && failure.class !== "permanent" && failure.code !== "MLLP_RESULT_ERROR") {
        this.#target.evidence.noteGone(delivery.id, false);
        await this.#postpone(delivery, failure);
        return false;
      }
      if (this.#isOver) return false;
    }
    const tried = await this.#try(delivery);
    return typeof tried === "string" || this.#settle(delivery, tried, later);
  }

  /** Whether the next one may be tried behind one that failed. */
  async #settle(
    delivery: PendingDelivery,
    failure: Failure,
    later: readonly PendingDelivery[],
  ): Promise<boolean> {
    if (failure.class === "permanent") {
      await this.#park(delivery, failure);
      return true;
    }
    if (failure.code === "MLLP_RESULT_ERROR") return this.#settleError(delivery, failure);
    if (MAY_BE_ITS_OWN.has(failure.code)) return this.#settleSilence(delivery, failure, later);
    this.#target.evidence.noteGone(delivery.id, false);
    await this.#postpone(delivery, failure);
    return false;
  }

  async #settleError(delivery: PendingDelivery, failure: Failure): Promise<boolean> {
    const isItsOwn = !this.#wasRefused;
    this.#wasRefused = true;
    const isLast = isItsOwn && delivery.ownFailures + 1 >= MOST_ERROR_ANSWERS;
    if (isLast && (await isRefusedAlone(this.#deps.pool, delivery.id))) {
      await this.#park(delivery, failure);
      return true;
    }
    await this.#postpone(delivery, failure, { isItsOwn });
    if (isItsOwn) this.#hold(delivery);
    return isItsOwn;
  }

  async #settleSilence(
    delivery: PendingDelivery,
    failure: Failure,
    later: readonly PendingDelivery[],
  ): Promise<boolean> {
    const { evidence } = this.#target;
    const { inARow, isProven } = evidence.noteFailure(delivery.id);
    // What was proven before needs no patience, be it before the last start; an outage since then has taken that back.
    if ((!delivery.isAside && inARow < PATIENCE) || this.#isOver) {
      await this.#postpone(delivery, failure);
      return false;
    }
    if (isProven) {
      await this.#setAside(delivery, failure);
      return true;
    }
    const witness = await this.#witnessOf(delivery, later);
    if (!witness) {
      // Nothing speaks for it or against it: it stands as it stood, and what comes later may pass it as before.
      await this.#postpone(delivery, delivery.isAside ? failsAlone(failure, failure.message) : failure);
      return false;
    }
    const met = await this.#sendAhead(witness);
    evidence.noteGone(delivery.id, met?.code === "MLLP_UNREACHABLE");
    if (met || !this.#ahead.has(witness.id) || this.#isOver) {
      await this.#postpone(delivery, failure);
      return false;
    }
    // At once: what was in the way may have gone before the other one was sent.
    const tried = await this.#try(delivery);
    return typeof tried === "string" || this.#settle(delivery, tried, later);
  }

  /**
   * A result that can show whether the lab takes any: of no order that an earlier one waits of. Another one in each round,
   * for the lab may choke on several.
   */
  async #witnessOf(
    delivery: PendingDelivery,
    later: readonly PendingDelivery[],
  ): Promise<PendingDelivery | undefined> {
    const near = this.#freeOf(delivery, later);
    const free = near.length > 0 ? near : this.#freeOf(delivery, await this.#listBeside(delivery));
    const turn = Math.max(0, this.#target.evidence.failuresInARow(delivery.id) - PATIENCE);
    return free[turn % Math.max(1, free.length)];
  }

  async #listBeside({ id }: PendingDelivery): Promise<PendingDelivery[]> {
    // It knows what was told by what is recorded.
    await this.#record();
    const beside = await listDueBeside(this.#deps.pool, this.#connector, MOST_BESIDE, id);
    return beside.filter((other) => other.id > id);
  }

  #freeOf(delivery: PendingDelivery, later: readonly PendingDelivery[]): PendingDelivery[] {
    const passed = new Set([...(delivery.isAnswer ? [] : delivery.orderIds), ...this.#heldOrders]);
    return later.filter(({ id, orderIds }) => {
      const isFree = !this.#ahead.has(id) && !orderIds.some((orderId) => passed.has(orderId));
      for (const orderId of orderIds) passed.add(orderId);
      return isFree;
    });
  }

  /** Sends one before its turn; its failure, if it has one. */
  async #sendAhead(delivery: PendingDelivery): Promise<Failure | undefined> {
    const tried = await this.#try(delivery);
    if (typeof tried !== "string") {
      if (tried.class === "permanent") await this.#park(delivery, tried);
      else if (tried.code === "MLLP_RESULT_ERROR") await this.#settleError(delivery, tried);
      // Its turn comes when it comes.
      else await this.#postpone(delivery, tried, { nextInMs: 0 });
      return tried;
    }
    if (tried === "delivered") {
      this.#ahead.add(delivery.id);
      // Which message an answer before it is about, and whether this one has overtaken that, the ledger alone knows.
      await this.#record();
    }
    return undefined;
  }

  async #try(delivery: PendingDelivery): Promise<Tried> {
    // What a crash leaves unrecorded is told again, so what comes before it in its order must be recorded.
    if (delivery.orderIds.some((id) => this.#toldOrders.has(id))) await this.#record();
    // Minutes may have passed since it was listed, and a person may have given it up or moved it.
    const isWanted = await isStillPending(this.#deps.pool, delivery.id, this.#connector);
    if (!isWanted || (delivery.isAnswer && (await dropOvertaken(this.#deps.pool, delivery.id)))) {
      this.#target.evidence.forget(delivery.id);
      return "gone";
    }
    try {
      await this.#target.deliver(delivery);
    } catch (error) {
      const failure = asFailure(error);
      this.#deps.logger.warn(
        { deliveryId: formatId("d", delivery.id), connector: this.#connector, err: failure },
        "a result can't be delivered",
      );
      return failure;
    }
    this.#unrecorded.push(delivery.id);
    for (const id of delivery.orderIds) this.#toldOrders.add(id);
    this.#wasRefused = false;
    this.#target.evidence.noteDelivered(delivery.id);
    return "delivered";
  }

  async #record(): Promise<void> {
    await recordDelivered(this.#deps.pool, this.#unrecorded.splice(0));
    this.#toldOrders.clear();
  }

  #hold(delivery: PendingDelivery): void {
    if (delivery.isAnswer) return;
    for (const id of delivery.orderIds) this.#heldOrders.add(id);
  }

  async #park(delivery: PendingDelivery, { code, message }: Reason): Promise<void> {
    await parkDelivery(this.#deps.pool, { id: delivery.id, code, text: message });
    this.#target.evidence.forget(delivery.id);
    this.#hold(delivery);
  }

  /** Others got through, and this one does not. */
  async #setAside(delivery: PendingDelivery, failure: Failure): Promise<void> {
    const reason = failsAlone(failure, `${failure.message}; others get through`);
    const isLast = delivery.ownFailures + 1 >= MOST_FAILURES_ALONE;
    this.#deps.logger.warn(
      { deliveryId: formatId("d", delivery.id), connector: this.#connector, isParked: isLast },
      "one result alone fails: others go on without it",
    );
    if (isLast) {
      await this.#park(delivery, reason);
      return;
    }
    await this.#postpone(delivery, reason, { isItsOwn: true });
    this.#hold(delivery);
  }

  async #postpone(
    delivery: PendingDelivery,
    { code, message, retryAfterMs }: Reason,
    how: { readonly nextInMs?: number; readonly isItsOwn?: boolean } = {},
  ): Promise<void> {
    const { backoff, random, pool } = this.#deps;
    const pauseMs = backoffMs(delivery.attempts + 1, backoff, random(), retryAfterMs);
    const { nextInMs = pauseMs, isItsOwn = false } = how;
    await postponeDelivery(pool, { id: delivery.id, nextInMs, isItsOwn, code, text: message });
  }
}

function failsAlone({ retryAfterMs }: Failure, message: string): Reason {
  return { code: "DELIVERY_FAILS_ALONE", message, retryAfterMs };
}
