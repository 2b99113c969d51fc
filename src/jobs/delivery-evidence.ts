/** What is known of a result that the lab gave no answer to. */
interface Trace {
  /** Tries in a row that came to nothing, though the way to the lab stood. */
  inARow: number;
  /** How many results had got through when it last failed. */
  through: number;
  /** Times in a row that the lab could not be reached right after it. */
  breakdowns: number;
}

/** A failure as it looks beside what became of other results. */
export interface Weighed {
  /** Tries of it in a row, this one included. */
  readonly inARow: number;
  /** Whether another result got through between its last failure and this one: then it is no outage. */
  readonly isProven: boolean;
}

/** So often the lab has to be gone right behind a result before that is taken for the result's doing. */
const BREAKDOWNS = 3;

/**
 * What tries of one connector's results have shown since the start, to tell a result that the lab chokes on from a lab
 * that is away. It is not kept: a start begins without proof, and proof is all that counts against a result.
 */
export class DeliveryEvidence {
  readonly #traceByDelivery = new Map<number, Trace>();
  #through = 0;

  /** The lab has this one. */
  noteDelivered(deliveryId: number): void {
    this.#through += 1;
    this.forget(deliveryId);
  }

  /** Nothing came of a try, though the way to the lab stood when it began. */
  noteFailure(deliveryId: number): Weighed {
    const trace = this.#traceByDelivery.get(deliveryId);
    const isProven = trace !== undefined && this.#through > trace.through;
    const inARow = (trace?.inARow ?? 0) + 1;
    this.#traceByDelivery.set(deliveryId, {
      inARow,
      through: this.#through,
      breakdowns: trace?.breakdowns ?? 0,
    });
    return { inARow, isProven };
  }

  /** Whether the lab was gone right after a try of it that came to nothing. One that is gone before a try is away. */
  noteGone(deliveryId: number, isBehindIt: boolean): void {
    const trace = this.#traceByDelivery.get(deliveryId);
    if (trace) trace.breakdowns = isBehindIt ? trace.breakdowns + 1 : 0;
  }

  /**
   * Whether the lab breaks down over it, as it seems: then another result has to go before it, for afterwards none
   * gets through.
   */
  isBreaking(deliveryId: number): boolean {
    return (this.#traceByDelivery.get(deliveryId)?.breakdowns ?? 0) >= BREAKDOWNS;
  }

  /** Tries of it in a row that came to nothing. */
  failuresInARow(deliveryId: number): number {
    return this.#traceByDelivery.get(deliveryId)?.inARow ?? 0;
  }

  /** It is not sent any more. */
  forget(deliveryId: number): void {
    this.#traceByDelivery.delete(deliveryId);
  }
}
