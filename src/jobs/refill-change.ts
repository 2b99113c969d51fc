import { isEndedRefill, type Refill, rankOf } from "../core/refill.ts";
import { serviceTimeMs } from "../core/service-time.ts";
import type { LedgerRefill, RefillChange } from "../ledger/refills.ts";
import { UNTOLD } from "../service/shapes.ts";

/** What decides whether a refill is kept and counted. */
export interface RefillRules {
  /** Since when the facility is followed, ms since the epoch. */
  readonly subscribedAtMs: number;
  /** What was over before that is no longer kept, ms since the epoch. */
  readonly keptFromMs: number;
}

/** A time of creation that differs by less may be the same one, written in another zone. */
const SAME_CREATION_MS = 86_400_000;

/**
 * What a reading of a refill means: undefined when there is nothing new. Its status goes forwards only, steps may be
 * skipped; one that goes back, or that follows an end, is flagged and not believed. A word that nobody knows is kept as it
 * stands while the refill is open, and an entry without a status says nothing of it. Another refill that the service gave
 * the id of a known one takes its place.
 */
export function decideRefill(
  known: LedgerRefill | undefined,
  shown: Refill,
  rules: RefillRules,
): RefillChange | undefined {
  const isAnother = known !== undefined && isAnotherRefill(known, shown);
  if (known === undefined || isAnother) return decideNew(known, shown, rules);
  const before = known.refill.status;
  const isOver = isEndedRefill(before);
  const rank = rankOf(shown.status);
  const isNewWord = shown.status !== UNTOLD && shown.status !== known.remoteStatus;
  const isStep = isNewWord && shown.status !== before;
  const isForwards = rank !== undefined && !isOver && rank >= known.reached;
  const isBelieved = isStep && (isForwards || (rank === undefined && !isOver));
  const status = isBelieved ? shown.status : before;
  // What is shown now goes before what was shown earlier; what is not shown any more stays.
  const refill = { ...known.refill, ...withoutUndefined(shown), status };
  const hasNews = isStep || known.missingSince !== null;
  if (!hasNews && !isNewWord && isEqual(known.refill, refill)) return undefined;
  const isCounted = isStep && isForwards && (before !== UNTOLD || isSince(shown, rules.subscribedAtMs));
  return {
    known,
    isAnother: false,
    refill,
    reached: isStep && isForwards ? rank : known.reached,
    remoteStatus: isNewWord ? shown.status : known.remoteStatus,
    flagged: isStep && !isForwards ? [...known.flagged, shown.status] : known.flagged,
    hasNews,
    counted: isCounted ? shown.status : undefined,
  };
}

function decideNew(
  known: LedgerRefill | undefined,
  shown: Refill,
  { subscribedAtMs, keptFromMs }: RefillRules,
): RefillChange | undefined {
  // Nothing was forgotten yet of a facility that is followed for less than that.
  const mayBeForgotten = subscribedAtMs < keptFromMs && isEndedRefill(shown.status);
  if (!known && mayBeForgotten && !isSince(shown, keptFromMs)) return undefined;
  const rank = rankOf(shown.status);
  return {
    known,
    isAnother: known !== undefined,
    refill: shown,
    reached: rank ?? 0,
    remoteStatus: shown.status,
    flagged: rank === undefined && shown.status !== UNTOLD ? [shown.status] : [],
    hasNews: true,
    counted: rank !== undefined && isSince(shown, subscribedAtMs) ? shown.status : undefined,
  };
}

/**
 * A service that was put back to an older state gives ids anew. A refill that was created after the ledger had already seen
 * its id can't be the one that the ledger has under it.
 */
export function isAnotherRefill(known: LedgerRefill, shown: Refill): boolean {
  const before = serviceTimeMs(known.refill.createdAt);
  const createdMs = serviceTimeMs(shown.createdAt);
  if (before === undefined || createdMs === undefined) return false;
  return createdMs - Math.max(before, known.firstSeenAt.getTime()) > SAME_CREATION_MS;
}

/** Whether a refill ended, or else was created, after a moment; one without a time of its own counts as recent. */
function isSince({ completedAt, createdAt }: Refill, sinceMs: number): boolean {
  const ms = serviceTimeMs(completedAt) ?? serviceTimeMs(createdAt);
  return ms === undefined || ms >= sinceMs;
}

function withoutUndefined(refill: Refill): Partial<Refill> {
  return Object.fromEntries(Object.entries(refill).filter(([, value]) => value !== undefined));
}

function isEqual(a: Refill, b: Refill): boolean {
  const keys = Object.keys({ ...a, ...b }) as (keyof Refill)[];
  return keys.every((key) => a[key] === b[key]);
}
