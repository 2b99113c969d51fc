import type pg from "pg";
import type { Logger } from "../core/logger.ts";
import { isEndedRefill, type Refill } from "../core/refill.ts";
import { serviceTimeMs } from "../core/service-time.ts";
import { findRefills } from "../ledger/refill-reads.ts";
import type { LedgerRefill } from "../ledger/refill-row.ts";
import type { RefillFacility } from "../ledger/refill-subscriptions.ts";
import { type RefillChange, type RefillTelling, recordRefills } from "../ledger/refills.ts";
import { decideRefill, isAnotherRefill, missingRefill, type RefillRules } from "./refill-change.ts";

/** What recording news is given. */
export interface NewsDeps {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  /** Undefined when the lab isn't told. */
  readonly telling: RefillTelling | undefined;
}

/** Changes in one transaction, and so rows in one CSV file. */
const RECORD_BATCH = 500;

/**
 * Records what a reading means, a batch in one transaction with the files that tell it.
 *
 * @param goneIds procedures that no list shows any more
 * @param missing refills that the service doesn't know by their ids
 * @throws Failure LEDGER_…; the batches before stay recorded
 */
export async function recordNews(
  facility: RefillFacility,
  refills: readonly Refill[],
  goneIds: readonly number[],
  missing: readonly LedgerRefill[],
  rules: RefillRules,
  { pool, telling, logger }: NewsDeps,
): Promise<void> {
  const gone = [...(await findRefills(pool, facility.surface, goneIds)).values()];
  const absent = new Map([...missing, ...gone].map((each) => [each.ledgerId, each]));
  const changes: RefillChange[] = [...absent.values()].flatMap((each) => missingRefill(each) ?? []);
  // The next reading begins at the newest that is recorded: whatever ends this one between two batches, what is left is
  // newer, and is told later than what was before it.
  const unique = byCreation([...new Map(refills.map((refill) => [refill.id, refill])).values()]);
  for (let start = 0; start < unique.length; start += RECORD_BATCH) {
    const batch = unique.slice(start, start + RECORD_BATCH);
    const ids = batch.map(({ id }) => id);
    const knownById = await findRefills(pool, facility.surface, ids);
    for (const refill of asTheyHappened(batch)) {
      const known = knownById.get(refill.id);
      // Where neither filter nor entry tells the facility, the first one that saw it has it.
      const isOthers = known && known.facilityId !== facility.facilityId;
      if (isOthers && !isAnotherRefill(known, refill, rules)) continue;
      const change = decideRefill(known, refill, rules);
      if (change) changes.push(change);
    }
    await recordRefills(pool, facility, changes, telling);
    warnOfFlagged(facility, changes, logger);
    changes.length = 0;
  }
  await recordRefills(pool, facility, changes, telling);
}

function byCreation(refills: readonly Refill[]): Refill[] {
  return sortedBy(refills, ({ createdAt }) => serviceTimeMs(createdAt) ?? 0);
}

/** In the order of their last steps as far as the service tells when those were, so that the lab is told in that order. */
function asTheyHappened(refills: readonly Refill[]): Refill[] {
  return sortedBy(refills, ({ status, createdAt, startedAt, completedAt }) => {
    const last = isEndedRefill(status) ? completedAt : status === "IN_PROGRESS" ? startedAt : undefined;
    return serviceTimeMs(last) ?? serviceTimeMs(createdAt) ?? 0;
  });
}

function sortedBy(refills: readonly Refill[], timeOf: (refill: Refill) => number): Refill[] {
  return refills
    .map((refill) => ({ refill, ms: timeOf(refill) }))
    .sort((a, b) => a.ms - b.ms || a.refill.id - b.refill.id)
    .map(({ refill }) => refill);
}

const FLAGS: ReadonlySet<string> = new Set(["backward", "unknown_status", "id_reused"]);

function warnOfFlagged(
  { facilityCode }: RefillFacility,
  changes: readonly RefillChange[],
  logger: Logger,
): void {
  for (const { refill, remoteStatus, steps } of changes) {
    const flag = steps.find(({ kind }) => FLAGS.has(kind));
    if (!flag) continue;
    const fields = {
      facility: facilityCode,
      procedureId: refill.id,
      status: refill.status,
      told: remoteStatus,
    };
    if (flag.kind === "backward") logger.warn(fields, "the service set a refill back; that is not believed");
    else if (flag.kind === "id_reused")
      logger.warn(fields, "the service gave the id of an earlier refill to another one; both were told");
    else logger.warn(fields, "the service told an unknown status of a refill; it is still followed");
  }
}
