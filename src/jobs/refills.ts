import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { asFailure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import type { Refill } from "../core/refill.ts";
import { findNewestRefill, findRefills, listOpenRefills, touchRefills } from "../ledger/refill-reads.ts";
import type { LedgerRefill } from "../ledger/refill-row.ts";
import {
  type RefillFacility,
  type RefillSubscription,
  recordRefillReading,
} from "../ledger/refill-subscriptions.ts";
import { type RefillChange, type RefillTelling, recordRefills } from "../ledger/refills.ts";
import type { ServiceClient } from "../service/client.ts";
import type { RefillHints } from "../service/refills.ts";
import { UNTOLD } from "../service/shapes.ts";
import { decideRefill, missingRefill, type RefillRules } from "./refill-change.ts";
import { knowTanks, type TankDeps, withTanks } from "./refill-tanks.ts";

/** What reading refills is given. */
export interface RefillDeps extends TankDeps {
  readonly pool: pg.Pool;
  readonly service: Pick<ServiceClient, "readRefills" | "getRefill" | "listTanks" | "clockSkewMs">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Undefined when the lab isn't told. */
  readonly telling: RefillTelling | undefined;
  readonly statuses: ReadonlySet<string>;
  /** How long the ledger keeps what is over, ms. */
  readonly keptMs: number;
}

/**
 * How far a reading goes back before the newest refill that is known. A list may show an entry late, and pages may
 * shift; within this time an entry is read again and again.
 */
const OVERLAP_MS = 21_600_000;
/** Refills that no list shows and that are asked for one by one in a reading. */
const FOLLOWED_AT_ONCE = 50;
/** Changes in one transaction, and so rows in one CSV file. */
const RECORD_BATCH = 500;

/**
 * Reads a facility's refills once and records the news, each together with the file that tells the lab. May be
 * repeated at any time: what is recorded already is no news.
 *
 * @returns how many pages the lists took
 * @throws Failure SERVICE_… and LEDGER_…; what was recorded by then stays, the rest is read again.
 */
export async function readFacilityRefills(
  subscription: RefillSubscription,
  deps: RefillDeps,
  signal: AbortSignal,
): Promise<{ readonly pages: number; readonly isComplete: boolean }> {
  const { facilityId, surface, facilityCode } = subscription;
  const facility: RefillFacility = { facilityId, surface, facilityCode };
  const isFull = subscription.isFullReadingDue;
  const newest = await findNewestRefill(deps.pool, facility);
  const reading = await deps.service.readRefills(
    {
      facilityId,
      surface,
      createdFrom:
        isFull || !newest?.createdTime
          ? undefined
          : new Date(newest.createdTime.getTime() - OVERLAP_MS).toISOString(),
      expectId: newest?.procedureId,
      hints: hintsOf(subscription.hints, isFull),
    },
    signal,
  );
  const rules = rulesOf(subscription, deps);
  const followed = await followOthers(facility, reading.refills, reading.untoldIds, deps, signal);
  const gone = reading.isExpectedGone && newest ? [newest.procedureId] : [];
  const told = [...reading.refills, ...followed.found];
  const tanks = await knowTanks(facility, told, isFull, deps, signal);
  await recordNews(facility, withTanks(told, tanks), gone, followed.missing, rules, deps);
  if (reading.isComplete) await recordRefillReading(deps.pool, { facilityId, hints: reading.hints, isFull });
  return { pages: reading.pages, isComplete: reading.isComplete };
}

/** A full reading tries the narrow questions anew, since a service may have changed. */
function hintsOf({ typeWord, width }: Readonly<Record<string, unknown>>, isFull: boolean): RefillHints {
  return {
    typeWord: typeof typeWord === "string" ? typeWord : undefined,
    width: typeof width === "number" && !isFull ? width : undefined,
  };
}

function rulesOf(subscription: RefillSubscription, deps: RefillDeps): RefillRules {
  const { subscribedAt, firstReadAt, lastReadAt } = subscription;
  // Whatever was over before the last reading was seen by it; what came later can't have been forgotten yet.
  const seenUntilMs = (lastReadAt?.getTime() ?? 0) - OVERLAP_MS;
  return {
    subscribedAtMs: subscribedAt.getTime() + (deps.service.clockSkewMs ?? 0),
    isFirstReading: firstReadAt === undefined,
    forgottenBeforeMs: Math.min(deps.clock.now() - deps.keptMs, seenUntilMs),
    statuses: deps.statuses,
  };
}

/** Asks one by one for those that are open and in no list, and for those that a list told too little of. */
async function followOthers(
  facility: RefillFacility,
  listed: readonly Refill[],
  untoldIds: readonly number[],
  deps: RefillDeps,
  signal: AbortSignal,
): Promise<{ readonly found: Refill[]; readonly missing: LedgerRefill[] }> {
  const seen = listed.map(({ id }) => id);
  const open = await listOpenRefills(deps.pool, facility, seen, FOLLOWED_AT_ONCE);
  const knownById = new Map(open.map((each) => [each.refill.id, each]));
  const unknownIds = await withoutEnded(facility, untoldIds, deps);
  const ids = [...new Set([...knownById.keys(), ...unknownIds])];
  const found: Refill[] = [];
  const missing: LedgerRefill[] = [];
  const { surface, facilityId } = facility;
  for (const id of ids) {
    signal.throwIfAborted();
    try {
      const refill = await deps.service.getRefill({ surface, facilityId, id }, signal);
      if (refill && refill.status !== UNTOLD) found.push(refill);
    } catch (error) {
      const failure = asFailure(error);
      if (signal.aborted) throw failure;
      const known = knownById.get(id);
      if (failure.code !== "SERVICE_NOT_FOUND" && failure.code !== "SERVICE_REFUSED") {
        // What the lists told is worth recording all the same; the others' turn comes again.
        deps.logger.warn(
          { facility: facility.facilityCode, err: failure },
          "open refills could not all be read",
        );
        break;
      }
      if (known) missing.push(known);
    }
  }
  await touchRefills(
    deps.pool,
    open.map(({ ledgerId }) => ledgerId),
  );
  return { found, missing };
}

/** Ids of short entries that are not known to be over, the highest first, so that new ones are among those asked for. */
async function withoutEnded(
  { surface }: RefillFacility,
  ids: readonly number[],
  { pool }: RefillDeps,
): Promise<number[]> {
  if (ids.length === 0) return [];
  const known = await findRefills(pool, surface, ids);
  return ids
    .filter((id) => (known.get(id)?.reached ?? 0) < 3)
    .sort((a, b) => b - a)
    .slice(0, RECORD_BATCH);
}

async function recordNews(
  facility: RefillFacility,
  refills: readonly Refill[],
  goneIds: readonly number[],
  missing: readonly LedgerRefill[],
  rules: RefillRules,
  { pool, telling, logger }: RefillDeps,
): Promise<void> {
  const gone = [...(await findRefills(pool, facility.surface, goneIds)).values()];
  const absent = new Map([...missing, ...gone].map((each) => [each.ledgerId, each]));
  const changes: RefillChange[] = [...absent.values()].flatMap((each) => missingRefill(each) ?? []);
  const unique = [...new Map(refills.map((refill) => [refill.id, refill])).values()];
  for (let start = 0; start < unique.length; start += RECORD_BATCH) {
    const batch = unique.slice(start, start + RECORD_BATCH);
    const ids = batch.map(({ id }) => id);
    const knownById = await findRefills(pool, facility.surface, ids);
    for (const refill of inOrder(batch)) {
      const known = knownById.get(refill.id);
      // Where neither filter nor entry tells the facility, the first one that saw it has it.
      if (known && known.facilityId !== facility.facilityId) continue;
      const change = decideRefill(known, refill, rules);
      if (change) changes.push(change);
    }
    await recordRefills(pool, facility, changes, telling);
    warnOfFlagged(facility, changes, logger);
    changes.length = 0;
  }
  await recordRefills(pool, facility, changes, telling);
}

/** In the order in which they were created, so that the lab is told in that order. */
function inOrder(refills: readonly Refill[]): Refill[] {
  return [...refills].sort((a, b) => (a.createdAt ?? "").localeCompare(b.createdAt ?? "") || a.id - b.id);
}

function warnOfFlagged(
  { facilityCode }: RefillFacility,
  changes: readonly RefillChange[],
  logger: Logger,
): void {
  for (const { refill, remoteStatus, steps } of changes) {
    const flag = steps.find(({ kind }) => kind === "backward" || kind === "unknown_status");
    if (!flag) continue;
    const fields = {
      facility: facilityCode,
      procedureId: refill.id,
      status: refill.status,
      told: remoteStatus,
    };
    if (flag.kind === "backward") logger.warn(fields, "the service set a refill back; that is not believed");
    else logger.warn(fields, "the service told an unknown status of a refill; it is still followed");
  }
}
