import type pg from "pg";
import { systemClock } from "../../src/core/clock.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { type Account, account, isAtItsEnd } from "./account.ts";
import type { LabFolder } from "./lab-folder.ts";
import type { PlannedOrder } from "./lab-load.ts";

/** Where the witnesses of a run are. */
export interface Witnesses {
  readonly pool: pg.Pool;
  readonly simulator: Simulator;
  readonly lab: LabFolder;
}

const LOOK_EVERY_MS = 100;

/** Waits until every planned order is at its end and reported to the lab, or gives what is missing by then. */
export async function waitForEnd(
  { pool, simulator, lab }: Witnesses,
  planned: readonly PlannedOrder[],
  withinMs: number,
): Promise<Account> {
  const endsAt = performance.now() + withinMs;
  for (;;) {
    const isOver = performance.now() > endsAt;
    const ledger = await listOrders(pool, { limit: 100_000 });
    if (isOver || (ledger.length >= planned.length && ledger.every(isAtItsEnd))) {
      const [hl7Results, csvResults] = await Promise.all([lab.read("hl7", "out"), lab.read("csv", "out")]);
      const found = account({ planned, ledger, simulator, hl7Results, csvResults });
      if (isOver || found.unreported.length === 0) return found;
    }
    await systemClock.sleep(LOOK_EVERY_MS);
  }
}
