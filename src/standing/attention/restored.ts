import { type Condition, condition } from "../../core/condition.ts";
import { formatMinute } from "../../core/duration.ts";
import type { Restored } from "../../ledger/restored/restore.ts";

/** How a restored ledger stands, in one sentence. */
export function describeRestored(restored: Restored): string {
  const { at, by, open, uncompared, adopted, parked, free, forgottenSince, watchedUntil } = restored;
  const noticed = `the ledger is an older copy (restored; noticed at ${formatMinute(at)}: ${by})`;
  const found = `${adopted} found there, ${parked} parked, ${free} not there and sent as usual`;
  if (uncompared > 0) {
    const compared = Math.max(0, open - uncompared);
    return `${noticed}; ${compared} of ${open} open orders were compared with the service (${found}), and nothing is submitted until all are`;
  }
  return `${noticed}; open orders were compared with the service (${found}); what came since ${formatMinute(forgottenSince)} may be missing in it, and until ${formatMinute(watchedUntil)} each order is compared with the service before it is sent`;
}

/** What a person does about it. */
const HINT_RESTORED =
  "Have the lab send again what it sent since then: what is here already is recognised. Once nothing is missing, or to stop comparing, `cryobridge orders release-after-restore --reason TEXT`.";

/** That the ledger was restored from an older copy; nothing is submitted while open orders are still to be compared. */
export function restoredCondition(restored: Restored): Condition {
  const isHeld = restored.uncompared > 0;
  return condition("ledgerRestored", "", describeRestored(restored), {
    level: isHeld ? "act" : "look",
    since: restored.at.toISOString(),
    hint: HINT_RESTORED,
    command: isHeld ? "cryobridge orders list --state received,submitting,parked" : null,
  });
}
