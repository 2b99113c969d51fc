import type { Clock } from "../../core/clock.ts";
import { type Condition, condition } from "../../core/condition.ts";
import { asFailure } from "../../core/failures.ts";
import { isEndedRefill, type Refill, rankOf } from "../../core/refill.ts";
import { serviceTimeMs } from "../../core/service-time.ts";
import {
  findNewestRefill,
  findRefills,
  type LedgerRefill,
  listOpenRefills,
  type RefillChange,
  type RefillFacility,
  type RefillSubscription,
  recordChecks,
  recordRefills,
} from "../../ledger/refills.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { RefillHints } from "../../service/refills.ts";
import { NO_STATUS } from "../../service/shapes.ts";
import { knowTanks, type TankDeps, withTank } from "./tanks.ts";

/** What reading refills is given. */
export interface RefillDeps extends TankDeps {
  readonly service: Pick<ServiceCalls, "readRefills" | "getRefill" | "listTanks">;
  readonly clock: Clock;
  /** How long the ledger keeps what is over, ms. */
  readonly keptMs: number;
}

export interface RefillWatchDeps extends RefillDeps {
  readonly everyMs: number;
  /** Whether this process may read right now: it is the leader, and the service is in reach. */
  readonly mayRead: () => boolean;
}

/** The following of refills, until it is stopped. */
export interface RefillWatch {
  /** Which facilities can't be read, and why; one sentence each. */
  conditions(): Condition[];
  stop(): Promise<void>;
}

/** What one reading of a facility leaves for the next; a restart forgets it and reads the whole list. */
export interface ReadingMemory {
  /** When the last reading of the whole list began, ms since the epoch. */
  wholeAtMs?: number;
  hints: RefillHints;
  /** Whether it was reported that the facility is shown refills of another one. */
  hasReportedOthers?: boolean;
}

/** While reading is not possible, it is looked again after this. */
const WAIT_MS = 1_000;
/** A list of more pages than that is read less often: it costs a page in two seconds at most. */
const FREE_PAGES = 10;
const MS_PER_PAGE = 2_000;
/** A service may fail now and then; the third time in a row is reported. */
const FAILURES_BEFORE_WORDS = 3;
/** The whole list is read so often, so that whatever a filter left out is found. */
const WHOLE_EVERY_MS = 86_400_000;
/**
 * How far a reading goes back before the newest refill that is known. A list may show an entry late, and pages may
 * shift; within this time an entry is read again and again.
 */
const OVERLAP_MS = 21_600_000;
/** Refills that are open, of which the list shows no status, and that are asked for one by one in a reading. */
const FOLLOWED_AT_ONCE = 200;
/** Single reads that fail in a row before the rest is left for the next reading: five would hold up all calls. */
const FAILURES_IN_A_ROW = 3;
/** Changes in one statement. */
const RECORD_BATCH = 500;

/**
 * Begins to read the refills of the facilities that are followed, each in its own rhythm and at once for a start. A
 * reading that fails is made good by the next.
 */
export function watchRefills(facilities: readonly RefillSubscription[], deps: RefillWatchDeps): RefillWatch {
  const stopping = new AbortController();
  const conditionByFacility = new Map<number, Condition>();
  const running = Promise.all(
    facilities.map((facility) => watchFacility(facility, deps, stopping.signal, conditionByFacility)),
  );
  return {
    conditions: () => [...conditionByFacility.values()],
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function watchFacility(
  facility: RefillSubscription,
  deps: RefillWatchDeps,
  signal: AbortSignal,
  conditionByFacility: Map<number, Condition>,
): Promise<void> {
  const { facilityId, facilityCode } = facility;
  const memory: ReadingMemory = { hints: {} };
  let failures = 0;
  while (!signal.aborted) {
    let waitMs = deps.everyMs;
    if (!deps.mayRead()) {
      waitMs = WAIT_MS;
    } else {
      try {
        waitMs = nextMs(await readFacilityRefills(facility, memory, deps, signal), deps.everyMs);
        failures = 0;
        conditionByFacility.delete(facilityId);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        const failure = asFailure(error);
        deps.logger.warn(
          { facility: facilityCode, failures, err: failure },
          "refills could not be read; the next reading makes up for it",
        );
        const words = `the refills of ${facilityCode} can't be read: ${failure.message} (${failure.code})`;
        if (failures >= FAILURES_BEFORE_WORDS)
          conditionByFacility.set(
            facilityId,
            condition("daemonTrouble", "refills", words, { code: failure.code }),
          );
      }
    }
    await deps.clock.sleep(waitMs, signal).catch(() => undefined);
  }
}

/** When a facility is read again: 500 pages every 10 minutes would be too much, so they are read every 17. */
export function nextMs(pages: number, everyMs: number): number {
  return pages <= FREE_PAGES ? everyMs : Math.max(everyMs, pages * MS_PER_PAGE);
}

/**
 * Reads a facility's refills once and records what is new. May be repeated at any time: what is recorded already is
 * not new.
 *
 * @returns how many pages the lists took
 * @throws Failure SERVICE_… and LEDGER_…; what was recorded by then stays, the rest is read again.
 */
export async function readFacilityRefills(
  facility: RefillSubscription,
  memory: ReadingMemory,
  deps: RefillDeps,
  signal: AbortSignal,
): Promise<number> {
  const { facilityId, surface, facilityCode } = facility;
  const startedMs = deps.clock.now();
  const { wholeAtMs = Number.NEGATIVE_INFINITY, hints } = memory;
  const isWhole = Math.abs(startedMs - wholeAtMs) >= WHOLE_EVERY_MS;
  const newestAt = await findNewestRefill(deps.pool, facility);
  const sinceMs = newestAt?.getTime() ?? memory.wholeAtMs ?? facility.subscribedAt.getTime();
  const reading = await deps.service.readRefills(
    {
      facilityId,
      surface,
      isWhole,
      since: new Date(sinceMs - OVERLAP_MS).toISOString(),
      hints,
    },
    signal,
  );
  if (isWhole && reading.hints.isTooLong) {
    deps.logger.warn(
      { facility: facilityCode },
      "the list of procedures is too long to be read to its end; only what was created lately is read",
    );
  }
  await recordShown(facility, reading.refills, isWhole, memory, deps, signal);
  memory.hints = reading.hints;
  if (isWhole) memory.wholeAtMs = startedMs;
  await followOthers(facility, reading.refills, memory, deps, signal);
  return reading.pages;
}

/** Records what refills as they were shown mean, the oldest first: the next reading begins at the newest one that is known. */
async function recordShown(
  facility: RefillSubscription,
  refills: readonly Refill[],
  isWhole: boolean,
  memory: ReadingMemory,
  deps: RefillDeps,
  signal: AbortSignal,
): Promise<void> {
  const { pool, clock } = deps;
  const tanks = await knowTanks(facility, refills, isWhole, deps, signal);
  const rules = {
    subscribedAtMs: facility.subscribedAt.getTime(),
    keptFromMs: clock.now() - deps.keptMs,
  };
  const createdMs = ({ createdAt }: Refill) => serviceTimeMs(createdAt) ?? 0;
  const sorted = refills.toSorted((a, b) => createdMs(a) - createdMs(b));
  for (let start = 0; start < sorted.length; start += RECORD_BATCH) {
    const batch = sorted.slice(start, start + RECORD_BATCH);
    const ids = batch.map(({ id }) => id);
    const knownById = await findRefills(pool, facility.surface, ids);
    const changes = batch.flatMap((shown) => {
      const known = knownById.get(shown.id);
      // Where neither filter nor entry shows the facility, the first one that saw it has it.
      if (known && known.facilityId !== facility.facilityId) {
        warnOfOthers(facility, known, memory, deps);
        return [];
      }
      return decideRefill(known, withTank(shown, tanks), rules) ?? [];
    });
    await recordRefills(pool, facility, changes);
    for (const change of changes) warnOfFlagged(facility, change, deps);
  }
}

/**
 * Asks one by one for those that are open and that the list shows no more, or without a status, the longest unseen
 * first. One that can't be read keeps none of the others from being read; its turn comes again.
 */
async function followOthers(
  facility: RefillSubscription,
  shown: readonly Refill[],
  memory: ReadingMemory,
  deps: RefillDeps,
  signal: AbortSignal,
): Promise<void> {
  const { pool, service, logger } = deps;
  const { surface, facilityId, facilityCode } = facility;
  const seen = shown.filter(({ status }) => status !== NO_STATUS).map(({ id }) => id);
  const open = await listOpenRefills(pool, facility, seen, FOLLOWED_AT_ONCE);
  const looked: LedgerRefill[] = [];
  const found: Refill[] = [];
  const missing: LedgerRefill[] = [];
  let failures = 0;
  for (const known of open) {
    if (failures >= FAILURES_IN_A_ROW) break;
    const { id } = known.refill;
    looked.push(known);
    try {
      const refill = await service.getRefill({ surface, facilityId, id }, signal);
      if (refill) found.push(refill);
      failures = 0;
    } catch (error) {
      const failure = asFailure(error);
      if (signal.aborted) throw failure;
      const isMissing = failure.code === "SERVICE_NOT_FOUND" || failure.code === "SERVICE_REFUSED";
      if (isMissing) missing.push(known);
      failures = isMissing ? 0 : failures + 1;
      const fields = { facility: facilityCode, procedureId: id, err: failure };
      if (!isMissing) logger.warn(fields, "a refill could not be read by its id; it is asked for again");
    }
  }
  await recordChecks(pool, looked, missing);
  await recordShown(facility, found, false, memory, deps, signal);
}

/** Once, since a list shows its entries again and again: the service may not heed the filter by facility. */
function warnOfOthers(
  { facilityCode }: RefillFacility,
  { facilityId, refill }: LedgerRefill,
  memory: ReadingMemory,
  { logger }: RefillDeps,
): void {
  if (memory.hasReportedOthers) return;
  memory.hasReportedOthers = true;
  logger.warn(
    { facility: facilityCode, procedureId: refill.id, otherFacilityId: facilityId },
    "the service shows refills that another facility has already; they stay with that one",
  );
}

function warnOfFlagged(
  { facilityCode }: RefillFacility,
  { known, refill, flagged }: RefillChange,
  { logger }: RefillDeps,
): void {
  const fields = { facility: facilityCode, procedureId: refill.id, status: refill.status };
  if (flagged.length > (known?.flagged.length ?? 0))
    logger.warn(
      { ...fields, shown: flagged.at(-1) },
      "the service shows a refill with a status that can't follow",
    );
}

/** What decides whether a refill is kept and counted. */
export interface RefillRules {
  /** Since when the facility is followed, ms since the epoch. */
  readonly subscribedAtMs: number;
  /** What was over before that is no longer kept, ms since the epoch. */
  readonly keptFromMs: number;
}

/**
 * What a reading of a refill means: undefined when there is nothing new. Its status goes forwards only, steps may be
 * skipped; one that goes back, or that follows an end, is flagged and not believed. A word that nobody knows is kept as it
 * stands while the refill is open, and an entry without a status says nothing of it.
 */
export function decideRefill(
  known: LedgerRefill | undefined,
  shown: Refill,
  rules: RefillRules,
): RefillChange | undefined {
  if (known === undefined) return decideNew(shown, rules);
  const before = known.refill.status;
  const isOver = isEndedRefill(before);
  const rank = rankOf(shown.status);
  const isNewWord = shown.status !== NO_STATUS && shown.status !== known.remoteStatus;
  const isStep = isNewWord && shown.status !== before;
  const isForwards = rank !== undefined && !isOver && rank >= known.reached;
  const isBelieved = isStep && (isForwards || (rank === undefined && !isOver));
  const status = isBelieved ? shown.status : before;
  // What is shown now goes before what was shown earlier; what is not shown any more stays.
  const refill = { ...known.refill, ...withoutUndefined(shown), status };
  const hasNews = isStep || known.missingSince !== null;
  if (!hasNews && !isNewWord && isEqual(known.refill, refill)) return undefined;
  const isCounted = isStep && isForwards && (before !== NO_STATUS || isSince(shown, rules.subscribedAtMs));
  return {
    known,
    refill,
    reached: isStep && isForwards ? rank : known.reached,
    remoteStatus: isNewWord ? shown.status : known.remoteStatus,
    flagged: isStep && !isForwards ? [...known.flagged, shown.status] : known.flagged,
    hasNews,
    counted: isCounted ? shown.status : undefined,
  };
}

function decideNew(shown: Refill, { subscribedAtMs, keptFromMs }: RefillRules): RefillChange | undefined {
  // Nothing was forgotten yet of a facility that is followed for less than that.
  const mayBeForgotten = subscribedAtMs < keptFromMs && isEndedRefill(shown.status);
  if (mayBeForgotten && !isSince(shown, keptFromMs)) return undefined;
  const rank = rankOf(shown.status);
  return {
    known: undefined,
    refill: shown,
    reached: rank ?? 0,
    remoteStatus: shown.status,
    flagged: rank === undefined && shown.status !== NO_STATUS ? [shown.status] : [],
    hasNews: true,
    counted: rank !== undefined && isSince(shown, subscribedAtMs) ? shown.status : undefined,
  };
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
