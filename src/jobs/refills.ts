import type { Clock } from "../core/clock.ts";
import { findNewestRefill } from "../ledger/refill-reads.ts";
import {
  type RefillFacility,
  type RefillSubscription,
  recordRefillReading,
  requireFullReading,
} from "../ledger/refill-subscriptions.ts";
import type { ServiceClient } from "../service/client.ts";
import type { RefillHints } from "../service/refills.ts";
import type { RefillRules } from "./refill-change.ts";
import { type NewsDeps, recordNews } from "./refill-news.ts";
import { followOthers, type SinglesDeps } from "./refill-singles.ts";
import { knowTanks, type TankDeps, withTanks } from "./refill-tanks.ts";

/** What reading refills is given. */
export interface RefillDeps extends NewsDeps, SinglesDeps, TankDeps {
  readonly service: Pick<ServiceClient, "readRefills" | "getRefill" | "listTanks" | "clockSkewMs">;
  readonly clock: Clock;
  readonly statuses: ReadonlySet<string>;
  /** How long the ledger keeps what is over, ms. */
  readonly keptMs: number;
}

/**
 * How far a reading goes back before the newest refill that is known. A list may show an entry late, and pages may
 * shift; within this time an entry is read again and again.
 */
const OVERLAP_MS = 21_600_000;
/** How far the database's clock, by which refills are forgotten, and this process's may be apart. */
const OWN_CLOCKS_MS = 3_600_000;
/** A refill that was created so much later than now was dated by a clock that is wrong. */
const SERVICE_CLOCK_MS = 600_000;

/**
 * Reads a facility's refills once and records the news, each together with the file that tells the lab. May be
 * repeated at any time: what is recorded already is no news.
 *
 * @returns how many pages the lists took, and what was left unread, in words that go on from the facility's name
 * @throws Failure SERVICE_… and LEDGER_…; what was recorded by then stays, the rest is read again.
 */
export async function readFacilityRefills(
  subscription: RefillSubscription,
  deps: RefillDeps,
  signal: AbortSignal,
): Promise<{ readonly pages: number; readonly unread: string | undefined }> {
  const { facilityId, surface, facilityCode } = subscription;
  const facility: RefillFacility = { facilityId, surface, facilityCode };
  const isFull = subscription.isFullReadingDue;
  const startedAt = deps.clock.monotonic();
  const skewMs = deps.service.clockSkewMs ?? 0;
  const newest = await findNewestRefill(
    deps.pool,
    facility,
    new Date(deps.clock.now() + skewMs + SERVICE_CLOCK_MS),
  );
  const recentFrom = backFrom(newest?.createdTime ?? new Date(subscription.subscribedAt.getTime() + skewMs));
  const reading = await deps.service.readRefills(
    {
      facilityId,
      surface,
      createdFrom: isFull || !newest?.createdTime ? undefined : recentFrom,
      recentFrom,
      expectId: newest?.procedureId,
      hints: hintsOf(subscription.hints, isFull),
    },
    signal,
  );
  if (isFull && reading.hints.isTooLong) {
    deps.logger.warn(
      { facility: facilityCode },
      "the list of procedures is too long to be read to its end; only what was created lately is read",
    );
  }
  const rules = rulesOf(subscription, deps);
  const followed = await followOthers(facility, reading.refills, reading.untoldIds, deps, signal);
  const gone = reading.isExpectedGone && newest ? [newest.procedureId] : [];
  const told = [...reading.refills, ...followed.found];
  const tanks = await knowTanks(facility, told, isFull, deps, signal);
  await recordNews(facility, withTanks(told, tanks), gone, followed.missing, rules, deps);
  deps.putOff.wereRead(followed.readIds, deps.clock.monotonic());
  const { pages, isComplete, hints } = reading;
  if (isComplete && followed.unreadCount === 0) {
    const tookMs = deps.clock.monotonic() - startedAt;
    await recordRefillReading(deps.pool, { facilityId, hints, isFull, tookMs });
    return { pages, unread: undefined };
  }
  if (followed.unreadCount > 0) await requireFullReading(deps.pool, facilityId);
  const unread = isComplete
    ? `${followed.unreadCount} of which the list tells no status are still to be read one by one`
    : "the list is too long to be read to its end, also by time of creation";
  return { pages, unread };
}

function backFrom(time: Date): string {
  return new Date(time.getTime() - OVERLAP_MS).toISOString();
}

/** A full reading tries the narrow questions anew, since a service may have changed. */
function hintsOf(
  { typeWord, width, isTooLong }: Readonly<Record<string, unknown>>,
  isFull: boolean,
): RefillHints {
  return {
    typeWord: typeof typeWord === "string" ? typeWord : undefined,
    width: typeof width === "number" && !isFull ? width : undefined,
    isTooLong: isTooLong === true && !isFull,
  };
}

function rulesOf(subscription: RefillSubscription, deps: RefillDeps): RefillRules {
  const { subscribedAt, firstReadAt, lastReadAt } = subscription;
  const clockSkewMs = deps.service.clockSkewMs ?? 0;
  // Whatever was over before the last reading was seen by it; what came later can't have been forgotten yet.
  const seenUntilMs = (lastReadAt?.getTime() ?? 0) - OVERLAP_MS;
  return {
    subscribedAtMs: subscribedAt.getTime() + clockSkewMs,
    clockSkewMs,
    isFirstReading: firstReadAt === undefined,
    forgottenBeforeMs: Math.min(deps.clock.now() - deps.keptMs + OWN_CLOCKS_MS, seenUntilMs),
    statuses: deps.statuses,
  };
}
