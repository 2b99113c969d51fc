import type { Backoff } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import { type Condition, condition, PASSES_WITHIN_MS } from "../../core/condition.ts";
import type { Failure, FailureCode } from "../../core/failures.ts";
import { type Away, Outage } from "../../core/outage.ts";

/** The lab's side takes nothing at all: no connection, or no file in the folder. */
const IS_AWAY: ReadonlySet<string> = new Set<FailureCode>(["MLLP_UNREACHABLE", "FILE_SYSTEM_ERROR"]);
/** Any other failure may be about the one result, until this many in a row have failed. */
const MOST_IN_A_ROW = 3;
/** A lab that is back is noticed within this: no result may be due later while it is away, or there is none to try it by. */
export const LONGEST_PAUSE_MS = 60_000;

/**
 * Whether the lab can be reached through one connector, by what became of the last results. While it is open, one result is
 * tried after each pause, and nothing else until one gets through. It is kept in memory: a start begins with it closed.
 */
export class LabBreaker {
  readonly #outage: Outage<FailureCode>;
  /** Results that failed since the last one got through, for a reason that may be their own. */
  readonly #suspects = new Set<number>();
  #inARow = 0;

  constructor(clock: Pick<Clock, "now" | "monotonic">, backoff: Backoff, random: () => number) {
    const maxMs = Math.min(backoff.maxMs, LONGEST_PAUSE_MS);
    this.#outage = new Outage(clock, { ...backoff, maxMs }, random);
  }

  get isOpen(): boolean {
    return this.away !== undefined;
  }

  /** Since when the lab can't be reached, and when it is tried next; undefined while it can. */
  get away(): Away<FailureCode> | undefined {
    return this.#outage.away;
  }

  /** Whether anything may be sent now; while the breaker is open, one result. */
  get mayTry(): boolean {
    return this.#outage.leftMs === 0;
  }

  /**
   * The lab has it.
   * @returns the results that failed since another one got through: they fail by themselves, as it seems
   */
  noteDelivered(deliveryId: number): number[] {
    this.#close();
    this.#suspects.delete(deliveryId);
    const suspects = [...this.#suspects];
    this.#suspects.clear();
    return suspects;
  }

  /** The lab refused it for good, so it is there. */
  noteRefused(deliveryId: number): void {
    this.#close();
    this.#suspects.delete(deliveryId);
  }

  /** Nothing came of it for now. */
  noteFailure(deliveryId: number, { code }: Pick<Failure, "code">): void {
    this.#inARow += 1;
    if (!IS_AWAY.has(code)) this.#suspects.add(deliveryId);
    if (!this.isOpen && !IS_AWAY.has(code) && this.#inARow < MOST_IN_A_ROW) return;
    this.#outage.failed(code);
  }

  #close(): void {
    this.#inARow = 0;
    this.#outage.over();
  }
}

/** Whether a result failed so because the lab takes nothing at all; any other failure may be its own. */
export function saysLabIsAway(code: string): boolean {
  return IS_AWAY.has(code);
}

/** Whoever sends a lab's results tries it at least so often; who has not tried for so long sends them no more, ms. */
const UNTRIED_MS = 5 * LONGEST_PAUSE_MS;

/** That a lab takes no results, as the daemon finds that sends them; none where it sends them no more. */
export function labConditions(
  connector: string,
  away: Away<FailureCode> | undefined,
  nowMs: number,
): Condition[] {
  if (away === undefined || nowMs - away.nextTryAt.getTime() > UNTRIED_MS) return [];
  const { since, cause: code, nextTryAt } = away;
  const text = `the lab of ${connector} takes no results (${code}), and is tried again`;
  return [
    condition("resultsNotTaken", connector, text, {
      ...{ code, part: "lab", command: "cryobridge queue", since: since.toISOString() },
      level: nowMs - since.getTime() > PASSES_WITHIN_MS ? "act" : "wait",
      brief: { words: code, since: since.toISOString(), nextTryAt: nextTryAt.toISOString() },
    }),
  ];
}
