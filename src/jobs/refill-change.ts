import { isEndedRefill, type Refill, rankOf } from "../core/refill.ts";
import { isZoneTold, serviceTimeMs } from "../core/service-time.ts";
import type { LedgerRefill } from "../ledger/refill-row.ts";
import type { RefillChange, RefillStep } from "../ledger/refills.ts";

/** What decides whether news are told. */
export interface RefillRules {
  /** Since when the facility is followed, by the service's clock, ms since the epoch. */
  readonly subscribedAtMs: number;
  /** How far the service's clock is ahead of ours, ms. */
  readonly clockSkewMs: number;
  /** Whether the facility's list was never read to its end yet. */
  readonly isFirstReading: boolean;
  /** What was over before that and is not known was forgotten on purpose; ms since the epoch. */
  readonly forgottenBeforeMs: number;
  /** The statuses whose reaching is told. */
  readonly statuses: ReadonlySet<string>;
}

/**
 * What a look at a refill means: undefined when there is nothing new. Its status goes forwards only, steps may be
 * skipped; one that goes back, or that follows an end, is flagged and not believed. A word that nobody knows is kept
 * as it stands while the refill is open. Each word of the service is told of once. Another refill that the service gave
 * the id of a known one is no step of that one: it is looked at anew.
 */
export function decideRefill(
  known: LedgerRefill | undefined,
  told: Refill,
  rules: RefillRules,
): RefillChange | undefined {
  if (!known) return decideNew(told, rules);
  if (isAnotherRefill(known, told, rules)) {
    const change = decideNew(told, rules);
    return change && { ...change, known, isAnother: true, steps: [silent("id_reused"), ...change.steps] };
  }
  const rank = rankOf(told.status);
  const steps: RefillStep[] = [];
  if (known.missingSince) steps.push(silent("found"));
  let { status } = known.refill;
  let { reached } = known;
  const isSameWord = told.status === known.remoteStatus;
  const isOver = isEndedRefill(status);
  if (!isSameWord && told.status !== status) {
    if (rank === undefined) {
      steps.push(silent("unknown_status", told.status));
      if (!isOver) status = told.status;
    } else if (isOver || rank < reached) {
      steps.push(silent("backward", told.status));
    } else {
      status = told.status;
      reached = rank;
      steps.push(step(told.status, { isHistory: false }, rules));
    }
  }
  const refill = merged(known.refill, told, status);
  const isSame = steps.length === 0 && isSameWord && isEqual(known.refill, refill);
  return isSame ? undefined : { known, refill, reached, remoteStatus: told.status, isMissing: false, steps };
}

/** A refill that the service doesn't know any more: its status stays, and it is followed for another week. */
export function missingRefill(known: LedgerRefill): RefillChange | undefined {
  if (known.missingSince) return undefined;
  const { refill, reached, remoteStatus } = known;
  return { known, refill, reached, remoteStatus, isMissing: true, steps: [silent("missing")] };
}

function decideNew(told: Refill, rules: RefillRules): RefillChange | undefined {
  const isOver = isEndedRefill(told.status);
  if (isOver && !rules.isFirstReading && isForgotten(told, rules)) return undefined;
  const isHistory = !isSinceSubscription(told, isOver, rules);
  const isKnownWord = rankOf(told.status) !== undefined;
  const first = isKnownWord ? step(told.status, { isHistory }, rules) : silent("unknown_status", told.status);
  return {
    known: undefined,
    refill: told,
    reached: rankOf(told.status) ?? 0,
    remoteStatus: told.status,
    isMissing: false,
    steps: [first],
  };
}

/** Room for clocks that differ more than the `Date` header shows. */
const CLOCK_MARGIN_MS = 600_000;

/** No clock on earth is further from UTC. */
const WIDEST_ZONE_MS = 14 * 3_600_000;

/**
 * A service that was put back to an older state counts on from there, and gives ids that it gave before. What was created
 * after the ledger had already seen that id can't be what the ledger has under it. A time of creation that moves says
 * nothing as long as it may be another spelling of the same one, or the refill ended when the known one did.
 */
export function isAnotherRefill(
  known: LedgerRefill,
  told: Refill,
  { clockSkewMs }: Pick<RefillRules, "clockSkewMs">,
): boolean {
  const before = serviceTimeMs(known.refill.createdAt);
  const createdMs = serviceTimeMs(told.createdAt);
  if (before === undefined || createdMs === undefined) return false;
  const completedMs = serviceTimeMs(told.completedAt);
  if (completedMs !== undefined && completedMs === serviceTimeMs(known.refill.completedAt)) return false;
  const areZonesTold = isZoneTold(known.refill.createdAt ?? "") && isZoneTold(told.createdAt ?? "");
  const marginMs = areZonesTold ? CLOCK_MARGIN_MS : 2 * WIDEST_ZONE_MS;
  const isLater = createdMs - before > marginMs;
  return isLater && createdMs > known.firstSeenAt.getTime() + clockSkewMs + marginMs;
}

/**
 * Whether what is seen for the first time happened while the facility was followed. Without a time that says so it
 * counts as history in the first reading and as news in any later one: rather told twice than never.
 */
function isSinceSubscription(told: Refill, isOver: boolean, rules: RefillRules): boolean {
  const completedMs = isOver ? certainMs(told.completedAt, rules) : undefined;
  if (completedMs !== undefined) return completedMs >= rules.subscribedAtMs;
  const createdMs = certainMs(told.createdAt, rules);
  if (createdMs !== undefined && createdMs >= rules.subscribedAtMs) return true;
  // Created before, over by now, and nobody tells when: between two readings it was open.
  return !rules.isFirstReading && (isOver || createdMs === undefined);
}

/**
 * A time as far as it surely lies on one side of the subscription, which a time without a zone may not. In the first
 * reading, which has nothing else to go by, it is taken for UTC, as everywhere.
 */
function certainMs(
  text: string | undefined,
  { subscribedAtMs, isFirstReading }: RefillRules,
): number | undefined {
  const ms = serviceTimeMs(text);
  if (ms === undefined || text === undefined || isZoneTold(text) || isFirstReading) return ms;
  return Math.abs(ms - subscribedAtMs) <= WIDEST_ZONE_MS ? undefined : ms;
}

function isForgotten(told: Refill, { forgottenBeforeMs }: RefillRules): boolean {
  const ms = serviceTimeMs(told.completedAt) ?? serviceTimeMs(told.createdAt);
  return ms !== undefined && ms < forgottenBeforeMs;
}

function step(status: string, { isHistory }: { isHistory: boolean }, { statuses }: RefillRules): RefillStep {
  return { kind: "status", status, isHistory, isTold: !isHistory && statuses.has(status) };
}

function silent(kind: RefillStep["kind"], status?: string): RefillStep {
  return { kind, status, isHistory: false, isTold: false };
}

/** What is told now goes before what was told earlier; what is not told any more stays. */
function merged(before: Refill, told: Refill, status: string): Refill {
  const given = Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined));
  return { ...before, ...given, status };
}

function isEqual(a: Refill, b: Refill): boolean {
  const keys = Object.keys({ ...a, ...b }) as (keyof Refill)[];
  return keys.every((key) => a[key] === b[key]);
}
