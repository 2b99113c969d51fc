import { formatMinute } from "../core/utc-minute.ts";
import type { Restored } from "../ledger/restored/restore.ts";

/** How a restored ledger stands, in one sentence. */
export function tellRestored(restored: Restored): string {
  const { at, by, open, uncompared, forgottenSince, watchedUntil } = restored;
  const noticed = `the ledger is an older copy (restored; noticed at ${formatMinute(at)}: ${by})`;
  if (uncompared > 0) {
    const compared = Math.max(0, open - uncompared);
    return `${noticed}; ${compared} of ${open} open orders were compared with the service, and nothing is submitted until all are`;
  }
  return `${noticed}; what came since ${formatMinute(forgottenSince)} may be missing in it, and until ${formatMinute(watchedUntil)} each order is compared with the service before it is sent`;
}

/** What a person does about it. */
export const HINT_RESTORED =
  "Have the lab send again what it sent since then: what is here already is recognised. Once nothing is missing, or to stop comparing, `cryobridge orders release-after-restore --reason TEXT`.";
