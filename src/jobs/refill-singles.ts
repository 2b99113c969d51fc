import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { asFailure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import type { Refill } from "../core/refill.ts";
import { findRefills, listOpenRefills, touchRefills } from "../ledger/refill-reads.ts";
import type { LedgerRefill } from "../ledger/refill-row.ts";
import type { RefillFacility } from "../ledger/refill-subscriptions.ts";
import type { ServiceClient } from "../service/client.ts";
import { UNTOLD } from "../service/shapes.ts";
import type { PutOffReads } from "./put-off-reads.ts";

/** What reading refills one by one is given. */
export interface SinglesDeps {
  readonly pool: pg.Pool;
  readonly service: Pick<ServiceClient, "getRefill">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Short entries of the facility that are not read again for now; goes from one reading to the next. */
  readonly putOff: PutOffReads;
}

/** What single reads found. */
export interface Singles {
  readonly found: readonly Refill[];
  /** Known ones that the service doesn't know, or doesn't let us read. */
  readonly missing: readonly LedgerRefill[];
  /** How many short entries of refills that the ledger doesn't have are still to be read. */
  readonly unreadCount: number;
  /** Short entries that were read: those of which the ledger keeps nothing are no business of the next reading. */
  readonly readIds: readonly number[];
}

/** Refills that no list shows and that are asked for one by one in a reading. */
const FOLLOWED_AT_ONCE = 50;
/** New refills of which the list told no status and that are asked for one by one in a reading. */
const READ_AT_ONCE = 500;
/** Single reads that fail in a row before the rest is left for the next reading. */
const FAILURES_IN_A_ROW = 3;

/**
 * Asks one by one for those that are open and in no list, and for those that a list told too little of. Ones that can't
 * be read keep none of the others from being read, now or in a later reading.
 */
export async function followOthers(
  facility: RefillFacility,
  listed: readonly Refill[],
  untoldIds: readonly number[],
  deps: SinglesDeps,
  signal: AbortSignal,
): Promise<Singles> {
  const seen = listed.map(({ id }) => id);
  const open = await listOpenRefills(deps.pool, facility, seen, FOLLOWED_AT_ONCE);
  const knownById = new Map(open.map((each) => [each.refill.id, each]));
  const followed = await readEach([...knownById.keys()], facility, deps, signal);
  const short = await withoutEnded(facility, untoldIds, deps);
  const others = await readEach(
    short.toRead.filter((id) => !knownById.has(id)),
    facility,
    deps,
    signal,
  );
  await touchRefills(
    deps.pool,
    followed.tried.flatMap((id) => knownById.get(id)?.ledgerId ?? []),
  );
  const nowMs = deps.clock.monotonic();
  deps.putOff.failed(others.failed, nowMs);
  deps.putOff.gaveNothing([...others.absent, ...others.untold], nowMs);
  return {
    found: [...followed.found, ...others.found],
    missing: followed.absent.flatMap((id) => knownById.get(id) ?? []),
    unreadCount: short.newIds.filter((id) => !others.read.has(id) && deps.putOff.isOwed(id)).length,
    readIds: [...others.read].filter((id) => !deps.putOff.has(id, nowMs)),
  };
}

interface Reads {
  readonly found: Refill[];
  readonly tried: number[];
  /** Those that got an answer, whatever it was. */
  readonly read: Set<number>;
  /** Those that the service doesn't know, or doesn't let us read. */
  readonly absent: number[];
  /** Those of which it doesn't tell the status here either. */
  readonly untold: number[];
  readonly failed: number[];
}

async function readEach(
  ids: readonly number[],
  { surface, facilityId, facilityCode }: RefillFacility,
  { service, logger }: SinglesDeps,
  signal: AbortSignal,
): Promise<Reads> {
  const reads: Reads = { found: [], tried: [], read: new Set(), absent: [], untold: [], failed: [] };
  let failures = 0;
  for (const id of ids) {
    signal.throwIfAborted();
    reads.tried.push(id);
    try {
      const refill = await service.getRefill({ surface, facilityId, id }, signal);
      if (refill?.status === UNTOLD) reads.untold.push(id);
      else if (refill) reads.found.push(refill);
    } catch (error) {
      const failure = asFailure(error);
      if (signal.aborted) throw failure;
      if (failure.code !== "SERVICE_NOT_FOUND" && failure.code !== "SERVICE_REFUSED") {
        const fields = { facility: facilityCode, procedureId: id, err: failure };
        logger.warn(fields, "a refill could not be read by its id; it is asked for again");
        reads.failed.push(id);
        failures += 1;
        // What the lists told is worth recording all the same; the others' turn comes again, and before that of these.
        if (failures >= FAILURES_IN_A_ROW) break;
        continue;
      }
      reads.absent.push(id);
    }
    failures = 0;
    reads.read.add(id);
  }
  return reads;
}

/**
 * Ids of short entries that are not known to be over, the lowest first: what is recorded is where the next reading
 * begins, so nothing older may be left out. Those that gave nothing before come after the others, and not in every
 * reading. And all of them that the ledger doesn't have.
 */
async function withoutEnded(
  { surface }: RefillFacility,
  ids: readonly number[],
  { pool, clock, putOff }: SinglesDeps,
): Promise<{ readonly toRead: readonly number[]; readonly newIds: readonly number[] }> {
  if (ids.length === 0) return { toRead: [], newIds: [] };
  const known = await findRefills(pool, surface, ids);
  const nowMs = clock.monotonic();
  const open = ids
    .filter((id) => (known.get(id)?.reached ?? 0) < 3)
    .sort((a, b) => putOff.times(a) - putOff.times(b) || a - b);
  const due = open.filter((id) => known.has(id) || !putOff.has(id, nowMs));
  return { toRead: due.slice(0, READ_AT_ONCE), newIds: open.filter((id) => !known.has(id)) };
}
